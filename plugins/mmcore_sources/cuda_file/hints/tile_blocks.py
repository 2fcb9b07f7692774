"""Readings of a file in which a block has a thread for each element of the source's tile."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from mmcore.kernel.declaration import Kernel
from mmcore_cuda.cuda_source.program import read_program
from mmcore_sources.cuda_file.inference.body import Body
from mmcore_sources.cuda_file.inference.expressions import LaunchText
from mmcore_sources.cuda_file.inference.geometry import MOST_THREADS
from mmcore_sources.cuda_file.inference.host_code import Reader

_CONSTANT = re.compile(r"(?:#[ \t]*define[ \t]+|\bint[ \t]+)(\w+)[ \t]*=?[ \t]*\(?(\d+)\b")
_EDGE = re.compile(r"__shared__[^;\[]*\[(\w+)\]|\bblockIdx\.[xy][ \t]*\*[ \t]*(\w+)\b(?!\.)")
_MOST = 32
_WARP = 32


def blocks_of_tiles(kernel: Kernel) -> Iterator[tuple[str, Mapping[str, str]]]:
    """Yield blocks of square tiles that the source steps by or keeps in shared memory, also with a grid of them."""
    rule, text = kernel.launch, kernel.source_text()
    if not isinstance(rule, LaunchText) or len(rule.parts) < 2:
        return
    numbers = dict(_CONSTANT.findall(text))
    words = (shared or step for shared, step in _EDGE.findall(text))
    edges = {int(number) for word in words if (number := numbers.get(word, word)).isdecimal()}
    axes = ("m", "n") if re.search(r"\bm\b", rule.parts[0]) else ("n", "m")
    block = kernel.usual_configs[0].block
    for edge in sorted(edges):
        if edge <= _MOST and (block.x, block.y) != (edge, edge):
            grid = ", ".join(f"ceil({axis} / {edge})" for axis in axes)
            yield f"--block {edge}x{edge}", {"block": f"{edge}x{edge}"}
            yield f"a block and a grid of {edge}×{edge} tiles", {"block": f"{edge}x{edge}", "grid": grid}


def smaller_blocks(kernel: Kernel) -> Iterator[tuple[str, Mapping[str, str]]]:
    """Yield blocks of fewer threads, each of which computes more elements; block and grid depend on each other."""
    x, y, _ = kernel.usual_configs[0].block
    while x * y > _WARP:
        x, y = (x // 2, y) if x > y else (x, y // 2)
        yield f"--block {x}x{y}", {"block": f"{x}x{y}"}


def flat_blocks(kernel: Kernel) -> Iterator[tuple[str, Mapping[str, str]]]:
    """Yield the block of all threads along x if a kernel uses no others, and its block has some along y."""
    function = read_program(kernel.source_text()).function(kernel.entry.partition("<")[0])
    block = kernel.usual_configs[0].block
    if function is not None and block.size > block.x and Body(function).thread_axes == {"x"}:
        yield f"--block {block.size}", {"block": f"{block.size}x1"}


def bounded_blocks(kernel: Kernel) -> Iterator[tuple[str, Mapping[str, str]]]:
    """Yield the block of as many threads along x as ``__launch_bounds__`` allows, if the kernel's has fewer."""
    program, name = read_program(kernel.source_text()), kernel.entry.partition("<")[0]
    function = program.function(name)
    block = kernel.usual_configs[0].block
    most = Reader(program).whole(function.bounds) if function is not None and function.bounds else None
    if most is not None and block.x < most <= MOST_THREADS and block.size == block.x:
        yield f"--block {most}, the number in its __launch_bounds__,", {"block": f"{most}x1"}


def more_warps(kernel: Kernel) -> Iterator[tuple[str, Mapping[str, str]]]:
    """Yield blocks of 2, 4 and 8 warps in place of one, as of tensor cores whose warps share a tile."""
    x, y, _ = kernel.usual_configs[0].block
    for warps in (2, 4, 8) if (x, y) == (_WARP, 1) else ():
        yield f"--block {warps * x}", {"block": f"{warps * x}x1"}

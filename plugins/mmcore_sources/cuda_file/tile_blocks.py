"""Readings of a file in which a block has a thread for each element of the source's tile."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from mmcore.kernel.declaration import Kernel
from mmcore_sources.cuda_file.inference.expressions import LaunchText

_CONSTANT = re.compile(r"(?:#[ \t]*define[ \t]+|\bint[ \t]+)(\w+)[ \t]*=?[ \t]*\(?(\d+)\b")
_EDGE = re.compile(r"__shared__[^;\[]*\[(\w+)\]|\bblockIdx\.[xy][ \t]*\*[ \t]*(\w+)\b(?!\.)")
_MOST = 32


def blocks_of_tiles(kernel: Kernel) -> Iterator[tuple[str, Mapping[str, str]]]:
    """Yield block and grid of square tiles that the source steps by or keeps in shared memory, where they differ."""
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
            yield f"a block and a grid of {edge}×{edge} tiles", {"block": f"{edge}x{edge}", "grid": grid}

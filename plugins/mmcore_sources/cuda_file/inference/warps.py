"""The guessed block of a kernel whose threads exchange values or compute tiles in warps: whole warps along x."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from mmcore_cuda.cuda_source.tree import text_of, walk
from mmcore_sources.cuda_file.inference.body import Body, built_in
from mmcore_sources.cuda_file.inference.geometry import Geometry
from mmcore_sources.cuda_file.inference.host_code import Reader

_WARP, _WARPGROUP, _MOST_THREADS = 32, 128, 1024
_USUAL_WARPS = 4  # along each axis of a block, as in NVIDIA's example of WMMA
_SIZES = ("/ 32", "/ warpSize", "/ WARP_SIZE", "/ WARPSIZE", ">> 5")
_EXCHANGES = re.compile(
    r"\b(?:__(?:shfl|ballot|any|all|match|reduce)\w*|__syncwarp|__activemask|warpSize|wmma::\w+|\w*mma_sync"
    r"|tiled_partition<32>|(?:mma|wmma|shfl|vote|ldmatrix|redux)\.sync\b.*)"
)
_ADDS = re.compile(r"\b__shfl_(?:down|xor)|\b__reduce_add|\bcg::reduce|\bredux\.")
_OF_WARPGROUPS = re.compile(r"\bwgmma\b")
_THREADS = re.compile(r"(?i)threads|block_?(?:size|dim)")


def block_of_warps(reader: Reader, body: Body) -> Geometry | None:
    """Return whole warps along x if a kernel uses only x and exchanges values within warps; None for other kernels.

    The source names the number of threads, or steps over them; else it is the least one.
    """
    text = text_of(body.function.body)
    of_warpgroups = _OF_WARPGROUPS.search(text) is not None
    if not body.thread_axes <= {"x"} or not (of_warpgroups or _EXCHANGES.search(text)):
        return None
    least = _WARPGROUP if of_warpgroups else _WARP
    numbers = [*_named(reader)] or [*_strides(reader, body)]
    whole = [number for number in numbers if number % least == 0 and least <= number <= _MOST_THREADS]
    what = "warpgroups" if of_warpgroups else "warps"
    why = f"threads exchange values within {what} along x"
    return Geometry((ast.Constant(max(whole, default=least)),), why, guessed=True)


def threads_per_element(body: Body) -> int:
    """Return 32 if a kernel adds values within warps, and divides the index of a thread by 32; else 1."""
    text = text_of(body.function.body)
    return _WARP if _ADDS.search(text) and any("blockIdx" in kinds for kinds in _divided(body)) else 1


def block_of_warp_rows(body: Body) -> Geometry | None:
    """Return the usual block of a kernel with rows of warps along x; None for other kernels."""
    if body.thread_axes != {"x", "y"} or not any(kinds.get("threadIdx") == {"x"} for kinds in _divided(body)):
        return None
    extents = (ast.Constant(_USUAL_WARPS * _WARP), ast.Constant(_USUAL_WARPS))
    return Geometry(extents, "the source divides the index of a thread along x by 32", guessed=True)


def divides_grid(body: Body) -> bool:
    """Return whether a kernel with rows of warps divides the index of a thread in the grid, along x, by 32."""
    of_grid = (all(kinds.get(each) == {"x"} for each in ("blockIdx", "threadIdx")) for kinds in _divided(body))
    return any(of_grid) and block_of_warp_rows(body) is not None


def _divided(body: Body) -> Iterator[dict[str, set[str]]]:
    """Yield the built-in variables, with their axes, of each expression that is divided by the size of a warp."""
    for node in walk(body.function.body):
        if node.type == "binary_expression" and " ".join(map(text_of, node.children[1:])) in _SIZES:
            kinds = dict[str, set[str]]()
            for kind, axis in (each for term in body.terms(node.children[0]) for each in built_in(term)):
                kinds.setdefault(kind, set()).add(axis)
            if "threadIdx" in kinds:
                yield kinds


def _named(reader: Reader) -> Iterator[int]:
    """Yield the values of the source's macros and constants that are named as numbers of threads."""
    source = reader.source
    names = {name for name, macro in source.macros.items() if macro.parameters is None} | {*source.constants}
    for name in sorted(names | {*reader.names}):
        if _THREADS.search(name):
            number = reader.whole(name)
            if number is not None:
                yield number


def _strides(reader: Reader, body: Body) -> Iterator[int]:
    """Yield the steps of the loops in which each thread begins at its own index."""
    for node in walk(body.function.body):
        if node.type != "assignment_expression" or text_of(node.children[1]) != "+=":
            continue
        begin = body.variables.values.get(text_of(node.children[0]), [])[:1]
        if any("threadIdx.x" in factor for value in begin for term in body.terms(value) for factor in term):
            number = reader.whole(node.children[2])
            if number is not None:
                yield number

"""Bugs of grids that leave a part of C out at the sizes of the program itself, such as a grid of numbers."""

from __future__ import annotations

import ast
import bisect
import math
from collections.abc import Iterator, Mapping
from typing import Any

from mmcore.errors import InvalidKernel
from mmcore.kernel.constraints import equal_sizes
from mmcore_cuda.cuda_source.program import HostLaunch
from mmcore_cuda.cuda_source.tree import LOOPS, text_of, walk
from mmcore_sources.cuda_file.host_bugs.bug import Bug
from mmcore_sources.cuda_file.host_bugs.host import HostCode
from mmcore_sources.cuda_file.inference.expressions import EXTENTS, LaunchText, evaluate, names_in, parse_expressions
from mmcore_sources.cuda_file.inference.fixed_sizes import FixedSizes
from mmcore_sources.cuda_file.inference.infer import Inferred
from mmcore_sources.cuda_file.inference.one_block import OneBlock

_PARTS = {"m": "rows", "n": "columns", "mn": "elements"}
_ANY = 1 << 30  # rows or columns of a program whose sizes its user gives


def uncovered_product(host: HostCode, launch: HostLaunch, inferred: Inferred) -> Iterator[Bug]:
    """Find a launch with fewer blocks than cover C at the program's sizes, or at any size that its user may give.

    The grid that covers C is the inferred one, unless the user gave it or it was guessed. Several launches may cover C
    together, such as those of a loop that moves the pointers.
    """
    kernel, note = host.kernel(launch), next((each for each in inferred.notes if each.what == "grid"), None)
    if note is None or note.guessed or kernel is None or len(launch.geometry) < 2:
        return
    if "gridDim" in text_of(kernel.body) or _moves(host, launch):
        return
    launched, block = (host.extents(each, launch.scope) for each in launch.geometry[:2])
    sizes = _sizes(host, launch, inferred)
    if not launched or not block or 0 in launched or not sizes.keys() >= {"m", "n"}:
        return
    rule: LaunchText = inferred.attributes["launch"]
    known = {**inferred.attributes["configs"][0], **sizes, **dict(zip(EXTENTS, (*block, 1, 1), strict=False))}
    needed, lacking = list[int](), list[str]()
    for part, blocks in zip(parse_expressions(rule.grid, "the grid"), (*launched, 1, 1), strict=False):
        what = _PARTS.get("".join(sorted(names_in(part) & {"m", "n"})), "")
        try:
            needed.append(int(evaluate(part, known)))
            if what == "elements" and _covered(part, 1, known) == 1:
                return  # a block for an element: its index hides rows and columns
            if what and needed[-1] > blocks:
                lacking.append(f"{what} from {_covered(part, blocks, known)} on")
        except InvalidKernel:
            return
    if lacking:
        shape, parts = "×".join(map(str, launched)), ", and ".join(sorted(lacking, reverse=True))
        if _ANY in sizes.values():
            message = f"the grid is {shape} whatever the size"
        else:
            message = f"the grid is {shape}, and {'×'.join(map(str, needed))} covers C of {sizes['m']}×{sizes['n']}"
        yield Bug("uncovered-product", launch.line, f"{message}. No block computes {parts}", "C")


def uncovered_by_threads(host: HostCode, launch: HostLaunch, inferred: Inferred) -> Iterator[Bug]:
    """Find a block with fewer threads than the rows or columns of C for which the kernel uses no index of a block."""
    lone = next((each for each in inferred.attributes["constraints"] if isinstance(each, OneBlock)), None)
    block = host.extents(launch.geometry[1], launch.scope) if lone is not None and len(launch.geometry) > 1 else None
    sizes = _sizes(host, launch, inferred)
    if lone is None or not block or not sizes.keys() >= {"m", "n"} or _moves(host, launch):
        return
    if lacking := [*lone.sides.uncovered(sizes, block)]:
        shape = "×".join(map(str, block))
        whatever = "whatever the size" if _ANY in sizes.values() else f"and C is {sizes['m']}×{sizes['n']}"
        message = f"the block is {shape}{',' * (_ANY not in sizes.values())} {whatever}"
        why = "the index into C uses no blockIdx for them"
        yield Bug(
            "uncovered-product", launch.line, f"{message}. No thread computes {', and '.join(lacking)}: {why}", "C"
        )


def _moves(host: HostCode, launch: HostLaunch) -> bool:
    """Return whether a launch is in a loop whose variable changes its arguments."""
    parts = [part for each in launch.arguments for part in host.resolved(each, launch.scope)]
    names = {text_of(each) for part in parts for each in walk(part) if each.type == "identifier"}
    node = launch.arguments[0].parent if launch.arguments else None
    while node is not None and node.id != launch.scope.id:
        if node.type in LOOPS and names & host.changed(node):
            return True
        node = node.parent
    return False


def _sizes(host: HostCode, launch: HostLaunch, inferred: Inferred) -> dict[str, int]:
    """Return the sizes m, n and k that a launch passes, as far as they are known; those that a user gives are large."""
    sizes = dict[str, int]()
    for role, argument in zip(map(str, inferred.attributes["arguments"]), launch.arguments, strict=False):
        value = host.value(argument, launch.scope)
        if role in ("m", "n", "k") and value is not None:
            sizes[role] = value
        elif role in ("m", "n", "k") and host.is_read(argument, launch.scope):
            sizes[role] = _ANY
    for constraint in inferred.attributes["constraints"]:
        if isinstance(constraint, FixedSizes):
            sizes = {"m": constraint.m, "n": constraint.n, "k": constraint.k}
    equal = equal_sizes(inferred.attributes["constraints"])
    if passed := sizes.keys() & {*equal}:
        sizes |= dict.fromkeys(equal, max(sizes[name] for name in passed))
    return sizes


def _covered(part: ast.expr, blocks: int, known: Mapping[str, Any]) -> int:
    """Return the most rows, columns or elements of C that an axis of the grid covers with so many blocks."""
    names = sorted(names_in(part) & {"m", "n"})
    ones = {**known, **dict.fromkeys(names, 1)}
    sizes = range(math.prod(known[name] for name in names))
    return bisect.bisect_right(sizes, blocks, key=lambda size: evaluate(part, {**ones, names[-1]: size})) - 1

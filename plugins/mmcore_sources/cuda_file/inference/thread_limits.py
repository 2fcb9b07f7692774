"""The refusal of a block that has more threads than a device allows."""

from __future__ import annotations

import ast
import math
from collections.abc import Sequence

from mmcore.errors import InvalidKernel, LacksOption
from mmcore_cuda.cuda_source.functions import Function
from mmcore_cuda.cuda_source.program import HostLaunch, Program
from mmcore_cuda.cuda_source.tree import identifiers, text_of
from mmcore_sources.cuda_file.inference.c_expressions import Unreadable
from mmcore_sources.cuda_file.inference.geometry import LAUNCHED, MOST_THREADS, Geometry
from mmcore_sources.cuda_file.inference.host_code import Reader
from mmcore_sources.cuda_file.inference.quotients import constant


def check_threads(
    block: Geometry, extents: Sequence[int], source: Program, function: Function, launch: HostLaunch | None, option: str
) -> None:
    """Raise InvalidKernel if no device allows the threads of a block with these extents.

    A constant that is the side of the kernel's tiles, too, is named with a value that fits. ``option`` is offered for a
    kernel that goes by blockDim, or has no launch.
    """
    if 1 <= (threads := math.prod(extents)) <= MOST_THREADS:
        return
    shape = f"{'×'.join(map(str, extents))} = {threads} threads"
    if launch is None or not block.why.startswith(LAUNCHED):
        what = f"a thread for each element of a tile would make blocks of {threads} threads"
        raise LacksOption(f"{what}; give another with --block", option)
    what = f"{block.why.removeprefix(LAUNCHED)} launches {shape}"
    allowed = f"a GPU allows {MOST_THREADS}"
    if (name := _constant_of_tile(source, function, launch)) and (fits := _fitting(source, launch, name)):
        value, less = fits
        macro = source.macros.get(name)
        line = f"line {source.constants[name].start_point.row + 1}" if macro is None else macro.place
        sentence = f"{what}, with {name} = {value} of {line}; {allowed}: {name} must be {less} or less"
        if macro is not None and macro.group:
            raise LacksOption(sentence, f"--define {name}={less}")
        raise InvalidKernel(sentence)
    if "blockDim" in text_of(function.body):
        raise LacksOption(f"{what}; {allowed}; give another with --block", option)
    raise InvalidKernel(f"{what}; {allowed}")


def _constant_of_tile(source: Program, function: Function, launch: HostLaunch) -> str:
    """Return the only constant or macro of a launch's block that the kernel uses, too; "" without one."""
    parts = Reader.of(source, launch, {}).parts(launch.geometry[1])
    names = {name for _, node in parts for name in identifiers(node)} & {*identifiers(function.body)}
    known = [name for name in names if name in source.macros or name in source.constants]
    return known[0] if len(known) == 1 else ""


def _fitting(source: Program, launch: HostLaunch, name: str) -> tuple[int, int] | None:
    """Return the value of a constant, and the largest half, quarter and so on with which a device allows the block."""
    value = less = Reader(source).whole(name)
    while value and less and less > 1:
        less //= 2
        try:
            extents = Reader.of(source, launch, {name: ast.Constant(less)}).extents(launch.geometry[1])
        except Unreadable:
            return None
        if 1 <= math.prod(constant(each) or 0 for each in extents) <= MOST_THREADS:
            return value, less
    return None

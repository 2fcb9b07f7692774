"""Kernels in which one block computes C, because they do not use ``blockIdx``."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mmcore.kernel.configs import Config
from mmcore.kernel.geometry import dim3, parse_shape
from mmcore.kernel.problem import Problem
from mmcore_cuda.cuda_source.program import HostLaunch, Program
from mmcore_cuda.cuda_source.tree import identifiers
from mmcore_sources.cuda_file.inference.body import BUILT_IN, Body
from mmcore_sources.cuda_file.inference.c_expressions import Unreadable
from mmcore_sources.cuda_file.inference.host_code import Reader
from mmcore_sources.cuda_file.inference.notes import Note
from mmcore_sources.cuda_file.inference.quotients import constant
from mmcore_sources.cuda_file.inference.roles import Roles

_WHY = "one block computes C, as the source does not use blockIdx"
_EDGE, _MOST_THREADS = 16, 1024


@dataclass(frozen=True)
class OneBlock:
    """A constraint: the block has a thread for each element of C."""

    rows: str  # the axis of the block for the rows of C

    @property
    def description(self) -> str:
        return f"a thread for each element of C: {self._text}"

    @property
    def _text(self) -> str:
        return "m = block.x and n = block.y" if self.rows == "x" else "m = block.y and n = block.x"

    def violation(self, problem: Problem, config: Config) -> str | None:
        x, y, _ = config.block
        wanted = (x, y) if self.rows == "x" else (y, x)
        return None if (problem.m, problem.n) == wanted else f"{_WHY}: {self._text}, but the block is {x}×{y}"


def one_block(
    source: Program, body: Body, roles: Roles, launch: HostLaunch | None, given: Mapping[str, Any]
) -> tuple[OneBlock, tuple[int, ...], Note] | None:
    """Return the constraint, block and note of a kernel that uses threads along x and y, but no ``blockIdx``.

    A block of few threads, as for the small example of a program, is replaced by a larger one if the kernel gets its
    sizes. None for other kernels.
    """
    used = {*identifiers(body.function.body)}
    if not roles.sizes or "blockIdx" in used or body.thread_axes != {"x", "y"} or "grid" in given:
        return None
    strides = {name for name, role in roles.sizes.items() if role in ("n", "ldc")}
    terms = [term for index in body.indexes(roles.pointers["C"]) for term in index if strides & set(term)]
    axes = {axis for term in terms for factor in term for _, axis in BUILT_IN.findall(factor)}
    extents = _extents(source, launch, given)
    if len(axes) != 1 or math.prod(extents) > _MOST_THREADS:
        return None
    passed = any(each.name in roles.sizes for each in body.function.parameters)  # else the source fixes the sizes
    few = passed and math.prod(extents) < _EDGE
    few |= len(extents) != 2 or ({*"mn"} <= {*roles.equal} and extents[0] != extents[1])
    block = (_EDGE, _EDGE) if few else tuple(extents)
    return OneBlock(axes.pop()), block, Note("block", str(dim3(block)), _WHY, "--block")


def _extents(source: Program, launch: HostLaunch | None, given: Mapping[str, Any]) -> Sequence[int]:
    """Return the extents of the block that the user or the file gives; none if they are not known."""
    if "block" in given:
        return parse_shape(given["block"]) if isinstance(given["block"], str) else tuple(given["block"])
    with contextlib.suppress(Unreadable, IndexError):
        if launch is not None:
            numbers = map(constant, Reader.of(source, launch, {}).extents(launch.geometry[1]))
            extents = [int(each) for each in numbers if each is not None]
            return extents[:2] if extents[2:] == [1] else extents
    return ()

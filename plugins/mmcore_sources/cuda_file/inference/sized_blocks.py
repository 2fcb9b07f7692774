"""Blocks whose extents follow from the sizes of the product, such as ``<<<n, n>>>`` and ``dim3(n / 16, n / 16)``."""

from __future__ import annotations

import ast
import contextlib
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from mmcore.errors import InvalidKernel
from mmcore.kernel.arguments import SIZES
from mmcore.kernel.configs import Config
from mmcore.kernel.constraints import Multiple, multiples_of
from mmcore.kernel.problem import Problem
from mmcore.verdict import NOT_RUN
from mmcore_cuda.cuda_source.program import HostLaunch
from mmcore_cuda.cuda_source.tree import text_of
from mmcore_sources.cuda_file.inference.body import Body
from mmcore_sources.cuda_file.inference.c_expressions import Unreadable
from mmcore_sources.cuda_file.inference.expressions import EXTENTS, LaunchText, evaluate, names_in, parse_expressions
from mmcore_sources.cuda_file.inference.geometry import MOST_THREADS, Geometry, trimmed
from mmcore_sources.cuda_file.inference.host_code import Reader
from mmcore_sources.cuda_file.inference.logarithms import PowersOfTwo
from mmcore_sources.cuda_file.inference.quotients import constant

_HALVES = re.compile(r"\bblockDim\s*\.\s*([xyz])\s*(?:/\s*2|>>\s*1)\b")
SQUARES = tuple(1 << power for power in range(10, -1, -1))
"""The sides of products for which a block is tried."""


@dataclass(frozen=True)
class SizedBlock:
    """A constraint: the block that follows from the sizes has a thread, and no more threads than a GPU allows."""

    rule: LaunchText

    @property
    def description(self) -> str:
        return f"the block {self.rule.block} has 1 to {MOST_THREADS:,} threads"

    @property
    def condition(self) -> str:
        """The condition as an expression of a launch's values."""
        axes = zip(EXTENTS, parse_expressions(self.rule.block, "the block"), strict=False)
        return f"0 < {' * '.join(axis for axis, _ in axes)} <= {MOST_THREADS}"

    def violation(self, problem: Problem, config: Config) -> str | None:
        block = self.rule.block_of(problem, config)
        if min(block) > 0 and block.size <= MOST_THREADS:
            return None
        shape = f"{block} = {block.size:,} threads" if block.size else f"{block}, without a thread,"
        return f"the block {self.rule.block} is {shape} at {problem}; a GPU allows 1 to {MOST_THREADS:,}"


def sized_block(reader: Reader, launch: HostLaunch, sizes: Mapping[str, Mapping[str, str]]) -> Geometry | None:
    """Return the block of a launch as expressions of the sizes; None if it depends on none, or cannot be read.

    ``sizes`` contains the sizes that the host's variables are, for each axis of the block.
    """
    with contextlib.suppress(Unreadable, IndexError):
        found = list[ast.expr]()
        for axis, (within, part) in zip("xyz", reader.parts(launch.geometry[1]), strict=False):
            named = {name: ast.Name(size) for name, size in sizes[axis].items()}
            found.append(replace(within, names={**named, **within.names}).number(part))
        extents = trimmed(found)
        used = {name for each in extents for name in names_in(each)}
        return Geometry(extents, "") if used and used <= {*SIZES} else None
    return None


def example(block: Geometry, launched: Geometry | None) -> tuple[int, ...]:
    """Return the block of the program's own sizes, or else of the largest squares for which a GPU allows it; or ()."""
    own = tuple(constant(each) or 0 for each in launched.extents) if launched is not None else (0,)
    if 1 <= math.prod(own) <= MOST_THREADS:
        return own
    for side in SQUARES:
        with contextlib.suppress(InvalidKernel):
            extents = tuple(int(evaluate(each, dict.fromkeys(SIZES, side))) for each in block.extents)
            if min(extents) > 0 and math.prod(extents) <= MOST_THREADS:
                return extents
    return ()


def larger_blocks(rule: LaunchText) -> Iterator[str]:
    """Yield a warning if large squares have blocks that a GPU refuses, by the rule of a program of any size."""
    large = dict.fromkeys(SIZES, 2 * SQUARES[0])
    with contextlib.suppress(InvalidKernel):
        if math.prod(evaluate(each, large) for each in parse_expressions(rule.block, "the block")) > MOST_THREADS:
            yield f"{NOT_RUN}sizes for which the block {rule.block} has more than {MOST_THREADS:,} threads"


def halved_sizes(body: Body, block: str, sizes: Mapping[str, int]) -> Iterator[PowersOfTwo]:
    """Yield that sizes of a program are powers of two, if they are extents of a block that its kernel halves in turns.

    A sum over the threads of a block adds the upper half to the lower one, and so on.
    """
    halved = {*_HALVES.findall(text_of(body.function.body))}
    for axis, part in zip("xyz", parse_expressions(block, "the block"), strict=False):
        size = sizes.get(part.id, 0) if isinstance(part, ast.Name) else 0
        if axis in halved and size and size & (size - 1) == 0 and isinstance(part, ast.Name):
            yield PowersOfTwo((part.id,))


def whole_parts(block: str, sizes: Mapping[str, int]) -> Iterator[Multiple]:
    """Yield the multiples that the sizes of a program are, where its block has quotients of them that C rounds down."""
    steps = dict[str, int]()
    for part in parse_expressions(block, "the block"):
        for node in ast.walk(part):
            match node:
                case ast.BinOp(ast.Name(size), ast.FloorDiv(), divisor) if size in sizes:
                    step = constant(divisor) or 1
                    if step > 1 and sizes[size] % step == 0:
                        steps[size] = math.lcm(step, steps.get(size, 1))
    yield from multiples_of(steps)

"""The launch rule of float32 products on tensor cores, with matrices split into 16-bit parts."""

from __future__ import annotations

from collections.abc import Iterator

from mmcore import Config, DeviceProperties, Launch, Problem, Scalar, Workspace, ceil_div
from mmcore.kernel.arguments import Argument
from mmcore_ladder.shares import following
from mmcore_ladder.wgmma_any import BYTES, LaunchRule, Operand, by_columns, padded, products, wide

_LEAST_DEPTH = 16
_LINES = 16
"""Rows of A, or columns of B, that a block splits, as in split.cuh."""
_SLICE, _MOST_SLICES = 256, 8
"""Elements of a slice of k, and the largest number of slices, for blocks that need not read a whole line."""


def in_parts(dtype: str, parts: int) -> LaunchRule:
    """Return the launch rule for a number of parts of ``dtype``; two parts of float16 are scaled."""
    return lambda problem, config, device: list(_launches(problem, config, device, dtype, parts))


def _launches(problem: Problem, config: Config, device: DeviceProperties, dtype: str, parts: int) -> Iterator[Launch]:
    m, n, k = problem.m, problem.n, problem.k
    operands, rooms, scales = [], [], []
    for matrix, lines in (("A", m), ("B", n)):
        columns = by_columns(problem, matrix)
        leading = padded(lines if columns else k, dtype)
        rooms.append(Workspace(f"parts of {matrix}", parts * (k if columns else lines) * leading * BYTES[dtype]))
        scales.append(Workspace(f"scales of {matrix}", 4 * lines))
        across, along = problem.strides(matrix) if matrix == "A" else problem.strides(matrix)[::-1]
        further: tuple[Argument, ...] = (scales[-1], matrix, *wide(across, along))
        operands.append(Operand(rooms[-1].name, lines, k, leading, columns, parts, dtype, further))
    blocks = ceil_div(m, _LINES) + ceil_div(n, _LINES)
    slices = 1 if parts == 2 else min(_MOST_SLICES, ceil_div(k, _SLICE))
    doubts = Workspace("doubts", 4 * blocks * slices)
    sizes = [Scalar(size) for size in (m, n, k, *(int(operand.columns) for operand in operands))]
    leadings = wide(problem.lda, problem.ldb, *(operand.leading for operand in operands))
    yield Launch(
        (blocks, slices), (256,), entry="split", arguments=("A", "B", *rooms, *scales, doubts, *sizes, *leadings)
    )
    # A sum of few terms must be nearly exact and takes little time: the CUDA cores compute it.
    count = blocks * slices if k >= _LEAST_DEPTH else 0
    yield from following(products(problem, config, device, operands, (doubts, Scalar(count))), device)

"""The launch rule of float32 products on tensor cores: of matrices split in parts of 16 bits."""

from __future__ import annotations

from collections.abc import Iterator

from mmcore import Config, DeviceProperties, Launch, Problem, Scalar, Workspace, ceil_div
from mmcore.kernel.arguments import Argument
from mmcore_ladder.wgmma_any import BYTES, LaunchRule, Operand, by_columns, padded, products, wide

_LEAST_DEPTH = 16
_SLICES, _LINES = 16, 32
"""Blocks that look through k, and lines (rows of A, columns of B) of each: as in split.cuh."""


def in_parts(dtype: str, parts: int) -> LaunchRule:
    """The launch rule for so many parts of a type; two of float16 are scaled."""
    return lambda problem, config, device: list(_launches(problem, config, device, dtype, parts))


def _launches(problem: Problem, config: Config, device: DeviceProperties, dtype: str, parts: int) -> Iterator[Launch]:
    operands: list[Operand] = []
    scales: list[Argument] = []
    strides: list[Scalar] = []
    lines_of = {"A": problem.m, "B": problem.n}
    blocks = {matrix: ceil_div(lines, _LINES) * _SLICES for matrix, lines in lines_of.items()}
    # A sum of few terms must be nearly exact, and takes no time: it is left to the CUDA cores.
    few = problem.k < _LEAST_DEPTH
    doubts = Workspace("doubts", 4 * sum(blocks.values()))
    for matrix, lines in lines_of.items():
        columns = by_columns(problem, matrix)
        leading = padded(lines if columns else problem.k, dtype)
        room = Workspace(f"parts of {matrix}", parts * (problem.k if columns else lines) * leading * BYTES[dtype])
        exponents = Workspace(f"exponents of {matrix}", 4 * _SLICES * lines)
        scale = Workspace(f"scales of {matrix}", 4 * lines)
        grid = ceil_div(lines, _LINES), _SLICES
        sizes = [Scalar(lines), Scalar(problem.k), Scalar(int(columns)), *wide(problem.leading(matrix))]
        strides += wide(*problem.strides(matrix))
        if few:
            continue
        if parts == 2:
            yield Launch(grid, (32, 8), entry="find_largest", arguments=(matrix, exponents, *sizes))
        first = Scalar(0 if matrix == "A" else blocks["A"])
        arguments: tuple[Argument, ...] = (matrix, room, exponents, scale, doubts, first, *sizes, *wide(leading))
        yield Launch(grid, (256,), entry="split", arguments=arguments)
        operands.append(Operand(room.name, lines, problem.k, leading, columns, parts, dtype))
        scales.append(scale)
    doubted: list[Argument] = [doubts, Scalar(0 if few else sum(blocks.values()))]
    if not few:
        yield from products(problem, config, device, operands, scales, doubted)
    sizes = [Scalar(size) for size in (problem.m, problem.n, problem.k)]
    yield Launch(
        (2 * device.multiprocessors,),
        (256,),
        entry="without_parts",
        arguments=("A", "B", "C", *doubted, *sizes, *strides, *wide(*problem.strides("C"))),
    )

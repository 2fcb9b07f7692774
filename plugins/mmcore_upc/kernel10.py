"""upc.kernel10: tiles in shared memory, for sizes that are multiples of the block."""

from __future__ import annotations

from pathlib import Path

from mmcore import Dim3, Int32Index, Kernel, Launch, DeviceProperties, Multiple, Problem, SquareBlock, ceil_div, hookimpl


def launch(problem: Problem, block: Dim3, limits: DeviceProperties) -> Launch:
    """As many blocks as C has tiles, rounded up.

    Rounding shows only when forced: 641 by 32 becomes the lecture's 21×21, which reads past the end.
    """
    return Launch(grid=(ceil_div(problem.n, block.x), ceil_div(problem.m, block.y)), block=block)


@hookimpl
def mmcore_kernels() -> list[Kernel]:
    """The lecture's first tiled kernel."""
    return [
        Kernel(
            name="upc.kernel10",
            title="Tiles of A and B in shared memory: a b-th of the global loads",
            lecture="UPC Barcelona, Tarjetas Gráficas y Aceleradores, CUDA – Producto de Matrices, slides 14–19",
            source=Path(__file__).with_suffix(".cu"),
            entry="kernel10",
            arguments=("A", "B", "C", "m", "n", "k"),
            launch=launch,
            blocks=((32, 32), (16, 16), (8, 8)),
            constraints=(Multiple(("m", "n", "k"), of="block.x"), SquareBlock(), Int32Index()),
            defines={"TILE": "{block.x}"},
        )
    ]

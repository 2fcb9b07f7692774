"""upc.kernel01: one thread per element of C, with a bounds test; any size will do."""

from __future__ import annotations

from pathlib import Path

from mmcore import Dim3, FlatBlock, Int32Index, Kernel, Launch, DeviceProperties, Problem, ceil_div, hookimpl


def launch(problem: Problem, block: Dim3, limits: DeviceProperties) -> Launch:
    """As many blocks as cover C: columns along x, rows along y, both rounded up."""
    return Launch(grid=(ceil_div(problem.n, block.x), ceil_div(problem.m, block.y)), block=block)


@hookimpl
def mmcore_kernels() -> list[Kernel]:
    """The lecture's element-by-element kernel."""
    return [
        Kernel(
            name="upc.kernel01",
            title="One thread per element of C, with a bounds test: any size",
            lecture="UPC Barcelona, Tarjetas Gráficas y Aceleradores, CUDA – Producto de Matrices, slides 8–13",
            source=Path(__file__).with_suffix(".cu"),
            entry="kernel01",
            arguments=("A", "B", "C", "m", "n", "k"),
            launch=launch,
            blocks=((32, 32), (16, 16), (8, 8)),
            constraints=(FlatBlock(), Int32Index()),
        )
    ]

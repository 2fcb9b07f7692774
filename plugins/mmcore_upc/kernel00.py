"""upc.kernel00: one thread per element of C, on a grid that must fit exactly."""

from __future__ import annotations

from pathlib import Path

from mmcore import Dim3, FlatBlock, Int32Index, Kernel, Launch, DeviceProperties, Multiple, Problem, Square, hookimpl


def launch(problem: Problem, block: Dim3, limits: DeviceProperties) -> Launch:
    """As many whole blocks as fit into C. The quotient is rounded down, as in the lecture: 641 by 32 is still 20×20."""
    return Launch(grid=(problem.n // block.x, problem.n // block.y), block=block)


@hookimpl
def mmcore_kernels() -> list[Kernel]:
    """The lecture's first kernel."""
    return [
        Kernel(
            name="upc.kernel00",
            title="One thread per element of C, without a bounds test",
            lecture="UPC Barcelona, Tarjetas Gráficas y Aceleradores, CUDA – Producto de Matrices, slides 2–7 and 13",
            source=Path(__file__).with_suffix(".cu"),
            entry="kernel00",
            arguments=("A", "B", "C", "n"),
            launch=launch,
            blocks=((32, 32), (16, 16), (8, 8)),
            constraints=(
                Square(),
                Multiple("n", of="block.x"),
                Multiple("m", of="block.y"),
                FlatBlock(),
                Int32Index(),
            ),
        )
    ]

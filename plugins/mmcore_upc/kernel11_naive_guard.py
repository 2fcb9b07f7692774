"""upc.kernel11_naive_guard: the lecture's first try at any size, which is not sufficient."""

from __future__ import annotations

from pathlib import Path

from mmcore import Dim3, Int32Index, Kernel, Launch, DeviceProperties, Multiple, Problem, SquareBlock, ceil_div, hookimpl


def launch(problem: Problem, block: Dim3, limits: DeviceProperties) -> Launch:
    """As many blocks as cover C: columns along x, rows along y, both rounded up."""
    return Launch(grid=(ceil_div(problem.n, block.x), ceil_div(problem.m, block.y)), block=block)


@hookimpl
def mmcore_kernels() -> list[Kernel]:
    """The kernel that the lecture stamps as not sufficient."""
    return [
        Kernel(
            name="upc.kernel11_naive_guard",
            title="Not sufficient: kernel10 wrapped in kernel01's bounds test",
            lecture="UPC Barcelona, Tarjetas Gráficas y Aceleradores, CUDA – Producto de Matrices, slide 20",
            source=Path(__file__).with_suffix(".cu"),
            entry="kernel11_naive_guard",
            arguments=("A", "B", "C", "m", "n", "k"),
            launch=launch,
            blocks=((32, 32), (16, 16), (8, 8)),
            constraints=(Multiple(("m", "n", "k"), of="block.x"), SquareBlock(), Int32Index()),
            defines={"TILE": "{block.x}"},
            known_bugs=(
                "It drops the remainder of k when k is not a multiple of the block.",
                "Its barrier stands in a divergent branch when m or n is not a multiple of the block.",
            ),
        )
    ]

"""hpsee.simple: one thread per element of C, with a bounds test and one width."""

from __future__ import annotations

from pathlib import Path

from mmcore import Dim3, FlatBlock, Int32Index, Kernel, Launch, DeviceProperties, Problem, Square, ceil_div, hookimpl


def launch(problem: Problem, block: Dim3, limits: DeviceProperties) -> Launch:
    """As many blocks as cover C, rounded up along both axes."""
    return Launch(grid=(ceil_div(problem.n, block.x), ceil_div(problem.n, block.y)), block=block)


@hookimpl
def mmcore_kernels() -> list[Kernel]:
    """The lecture's simple kernel."""
    return [
        Kernel(
            name="hpsee.simple",
            title="One thread per element of C, with a bounds test: any width",
            lecture="HP-SEE, Matrix Multiplication in CUDA, slide 2",
            source=Path(__file__).with_suffix(".cu"),
            entry="simple",
            arguments=("A", "B", "C", "n"),
            launch=launch,
            blocks=((16, 16), (32, 32)),
            constraints=(Square(), FlatBlock(), Int32Index()),
        )
    ]

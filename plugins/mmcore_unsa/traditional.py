"""unsa.traditional: one thread per element of C, with the width compiled in."""

from __future__ import annotations

from pathlib import Path

from mmcore import Dim3, FlatBlock, Int32Index, Kernel, Launch, DeviceProperties, Problem, Square, ceil_div, hookimpl


def launch(problem: Problem, block: Dim3, limits: DeviceProperties) -> Launch:
    """As many blocks as cover C, rounded up along both axes."""
    return Launch(grid=(ceil_div(problem.n, block.x), ceil_div(problem.n, block.y)), block=block)


@hookimpl
def mmcore_kernels() -> list[Kernel]:
    """The laboratory's program 1."""
    return [
        Kernel(
            name="unsa.traditional",
            title="One thread per element of C, with a bounds test and the width compiled in",
            lecture="UNSA, Laboratorio Multiplicación de Matrices con CUDA, section 1.1, listing 1",
            source=Path(__file__).with_suffix(".cu"),
            entry="traditional",
            arguments=("A", "B", "C"),
            launch=launch,
            blocks=((20, 20), (5, 5), (10, 10), (25, 25)),
            constraints=(Square(), FlatBlock(), Int32Index()),
            defines={"WIDTH": "{n}"},
        )
    ]

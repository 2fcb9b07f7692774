"""lezione9.kernel2: C = C + A·B from 32×32 tiles in shared memory, x along the rows."""

from __future__ import annotations

from pathlib import Path

from mmcore import BlockAmong, Dim3, Int32Index, Kernel, Launch, DeviceProperties, Multiple, Problem, hookimpl


def launch(problem: Problem, block: Dim3, limits: DeviceProperties) -> Launch:
    """As many whole blocks as fit into C: rows along x, columns along y."""
    return Launch(grid=(problem.m // block.x, problem.n // block.y), block=block)


@hookimpl
def mmcore_kernels() -> list[Kernel]:
    """The lecture's kernel with shared memory."""
    return [
        Kernel(
            name="lezione9.kernel2",
            title="kernel1 with 32×32 tiles in shared memory, x still along the rows",
            lecture="Lezione 9, Unità 1, il prodotto di matrici, slides 10–12",
            source=Path(__file__).with_suffix(".cu"),
            entry="kernel2",
            arguments=("A", "B", "C", "m", "k", "n"),
            launch=launch,
            blocks=((32, 32),),
            dtype="float64",
            accumulate=True,
            constraints=(Multiple(("m", "n", "k"), of=32), BlockAmong(((32, 32),)), Int32Index()),
        )
    ]

"""lezione9.kernel1: one thread per element of C = C + A·B, x along the rows."""

from __future__ import annotations

from pathlib import Path

from mmcore import Dim3, FlatBlock, Int32Index, Kernel, Launch, DeviceProperties, Multiple, Problem, hookimpl


def launch(problem: Problem, block: Dim3, limits: DeviceProperties) -> Launch:
    """As many whole blocks as fit into C: rows along x, columns along y."""
    return Launch(grid=(problem.m // block.x, problem.n // block.y), block=block)


@hookimpl
def mmcore_kernels() -> list[Kernel]:
    """The lecture's kernel without shared memory."""
    return [
        Kernel(
            name="lezione9.kernel1",
            title="One thread per element of C = C + A·B, with x along the rows: not coalesced",
            lecture="Lezione 9, Unità 1, il prodotto di matrici, slides 2–9",
            source=Path(__file__).with_suffix(".cu"),
            entry="kernel1",
            arguments=("A", "B", "C", "m", "k", "n"),
            launch=launch,
            blocks=((32, 32),),
            dtype="float64",
            accumulate=True,
            constraints=(
                Multiple("m", of="block.x"),
                Multiple("n", of="block.y"),
                FlatBlock(),
                Int32Index(),
            ),
        )
    ]

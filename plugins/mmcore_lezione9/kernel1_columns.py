"""mmcore.kernel1_columns: mmcore's own counterpart of lezione9.kernel1, with x along the columns."""

from __future__ import annotations

from pathlib import Path

from mmcore import Dim3, FlatBlock, Int32Index, Kernel, Launch, DeviceProperties, Multiple, Problem, hookimpl


def launch(problem: Problem, block: Dim3, limits: DeviceProperties) -> Launch:
    """As many whole blocks as fit into C: columns along x, rows along y."""
    return Launch(grid=(problem.n // block.x, problem.m // block.y), block=block)


@hookimpl
def mmcore_kernels() -> list[Kernel]:
    """What lezione9.kernel1 is compared with."""
    return [
        Kernel(
            name="mmcore.kernel1_columns",
            title="lezione9.kernel1 with x along the columns: coalesced",
            lecture="mmcore's own counterpart of lezione9.kernel1, in no lecture",
            source=Path(__file__).with_suffix(".cu"),
            entry="kernel1_columns",
            arguments=("A", "B", "C", "m", "k", "n"),
            launch=launch,
            blocks=((32, 32),),
            dtype="float64",
            accumulate=True,
            constraints=(
                Multiple("n", of="block.x"),
                Multiple("m", of="block.y"),
                FlatBlock(),
                Int32Index(),
            ),
        )
    ]

"""mmcore.kernel2_columns: mmcore's own counterpart of lezione9.kernel2, with x along the columns."""

from __future__ import annotations

from pathlib import Path

from mmcore import BlockAmong, Dim3, Int32Index, Kernel, Launch, DeviceProperties, Multiple, Problem, hookimpl


def launch(problem: Problem, block: Dim3, limits: DeviceProperties) -> Launch:
    """As many whole blocks as fit into C: columns along x, rows along y."""
    return Launch(grid=(problem.n // block.x, problem.m // block.y), block=block)


@hookimpl
def mmcore_kernels() -> list[Kernel]:
    """What lezione9.kernel2 is compared with."""
    return [
        Kernel(
            name="mmcore.kernel2_columns",
            title="lezione9.kernel2 with x along the columns: coalesced, and without bank conflicts",
            lecture="mmcore's own counterpart of lezione9.kernel2, in no lecture",
            source=Path(__file__).with_suffix(".cu"),
            entry="kernel2_columns",
            arguments=("A", "B", "C", "m", "k", "n"),
            launch=launch,
            blocks=((32, 32),),
            dtype="float64",
            accumulate=True,
            constraints=(Multiple(("m", "n", "k"), of=32), BlockAmong(((32, 32),)), Int32Index()),
        )
    ]

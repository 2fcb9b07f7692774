"""hpsee.tiled: tiles in shared memory, 16 or 32 wide."""

from __future__ import annotations

from pathlib import Path

from mmcore import BlockAmong, Dim3, Int32Index, Kernel, Launch, DeviceProperties, Multiple, Problem, Square, hookimpl


def launch(problem: Problem, block: Dim3, limits: DeviceProperties) -> Launch:
    """As many blocks as C has whole tiles."""
    return Launch(grid=(problem.n // block.x, problem.n // block.y), block=block)


@hookimpl
def mmcore_kernels() -> list[Kernel]:
    """The lecture's tiled kernel."""
    return [
        Kernel(
            name="hpsee.tiled",
            title="Tiles of A and B in shared memory, 16 or 32 wide",
            lecture="HP-SEE, Matrix Multiplication in CUDA, slides 7–9",
            source=Path(__file__).with_suffix(".cu"),
            entry="tiled",
            arguments=("A", "B", "C", "n"),
            launch=launch,
            blocks=((16, 16), (32, 32)),
            constraints=(
                Square(),
                Multiple("n", of="block.x"),
                BlockAmong(((16, 16), (32, 32))),
                Int32Index(),
            ),
            defines={"TILE_WIDTH": "{block.x}"},
        )
    ]

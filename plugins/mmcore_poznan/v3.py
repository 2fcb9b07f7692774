"""poznan.v3: tiles in shared memory, with an unrolled inner loop."""

from __future__ import annotations

from pathlib import Path

from mmcore import Dim3, Int32Index, Kernel, Launch, DeviceProperties, Multiple, Problem, Square, SquareBlock, hookimpl


def launch(problem: Problem, block: Dim3, limits: DeviceProperties) -> Launch:
    """As many blocks as C has whole tiles."""
    return Launch(grid=(problem.n // block.x, problem.n // block.y), block=block)


@hookimpl
def mmcore_kernels() -> list[Kernel]:
    """The report's version 3."""
    return [
        Kernel(
            name="poznan.v3",
            title="Tiles of A and B in shared memory, the inner loop unrolled",
            lecture="Politechnika Poznańska, Programowanie CUDA na NVIDIA GPU, section 3.3, page 12, listing 3",
            source=Path(__file__).with_suffix(".cu"),
            entry="v3<{block.x}>",
            arguments=("C", "A", "B", "n"),
            launch=launch,
            blocks=((16, 16), (8, 8), (22, 22)),
            constraints=(Square(), Multiple("n", of="block.x"), SquareBlock(), Int32Index()),
        )
    ]

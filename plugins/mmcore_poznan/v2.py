"""poznan.v2: a grid of blocks, one thread per element of C."""

from __future__ import annotations

from pathlib import Path

from mmcore import Dim3, FlatBlock, Int32Index, Kernel, Launch, DeviceProperties, Multiple, Problem, Square, hookimpl


def launch(problem: Problem, block: Dim3, limits: DeviceProperties) -> Launch:
    """As many whole blocks as fit into C."""
    return Launch(grid=(problem.n // block.x, problem.n // block.y), block=block)


@hookimpl
def mmcore_kernels() -> list[Kernel]:
    """The report's version 2."""
    return [
        Kernel(
            name="poznan.v2",
            title="A grid of blocks, one thread per element of C, without a bounds test",
            lecture="Politechnika Poznańska, Programowanie CUDA na NVIDIA GPU, section 3.2, page 8, listing 2",
            source=Path(__file__).with_suffix(".cu"),
            entry="v2",
            arguments=("A", "B", "C", "n"),
            launch=launch,
            blocks=((16, 16), (8, 8), (22, 22)),
            constraints=(
                Square(),
                Multiple("n", of="block.x"),
                Multiple("m", of="block.y"),
                FlatBlock(),
                Int32Index(),
            ),
        )
    ]

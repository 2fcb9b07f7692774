"""poznan.v1: a single block of threads walks over the whole of C."""

from __future__ import annotations

from pathlib import Path

from mmcore import Dim3, FlatBlock, Int32Index, Kernel, Launch, DeviceProperties, Multiple, Problem, Square, hookimpl


def launch(problem: Problem, block: Dim3, limits: DeviceProperties) -> Launch:
    """One block, whatever the size."""
    return Launch(grid=(1,), block=block)


@hookimpl
def mmcore_kernels() -> list[Kernel]:
    """The report's version 1."""
    return [
        Kernel(
            name="poznan.v1",
            title="A single block of threads walks over the whole of C",
            lecture="Politechnika Poznańska, Programowanie CUDA na NVIDIA GPU, section 3.1, page 5, listing 1",
            source=Path(__file__).with_suffix(".cu"),
            entry="v1",
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

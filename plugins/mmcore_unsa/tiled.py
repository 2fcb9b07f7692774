"""unsa.tiled: tiles in shared memory, with width and tile compiled in."""

from __future__ import annotations

from pathlib import Path

from mmcore import Dim3, Int32Index, Kernel, Launch, DeviceProperties, Multiple, Problem, Square, SquareBlock, hookimpl


def launch(problem: Problem, block: Dim3, limits: DeviceProperties) -> Launch:
    """As many blocks as C has whole tiles."""
    return Launch(grid=(problem.n // block.x, problem.n // block.y), block=block)


@hookimpl
def mmcore_kernels() -> list[Kernel]:
    """The laboratory's program 2."""
    return [
        Kernel(
            name="unsa.tiled",
            title="Tiles of A and B in shared memory, with width and tile compiled in",
            lecture="UNSA, Laboratorio Multiplicación de Matrices con CUDA, section 1.2, listing 2",
            source=Path(__file__).with_suffix(".cu"),
            entry="tiled",
            arguments=("A", "B", "C"),
            launch=launch,
            blocks=((20, 20), (5, 5), (10, 10), (25, 25)),
            constraints=(Square(), Multiple("n", of="block.x"), SquareBlock(), Int32Index()),
            defines={"WIDTH": "{n}", "TILE_WIDTH": "{block.x}"},
        )
    ]

"""unsa.tiled: tiles in shared memory, with width and tile compiled in."""

from mmcore import Int32Index, Kernel, Multiple, Square, SquareBlock, hookimpl


@hookimpl
def mmcore_kernels() -> Kernel:
    """Return the laboratory's program 2."""
    return Kernel(
        name="unsa.tiled",
        title="Tiles of A and B in shared memory, with width and tile compiled in",
        reference="UNSA, Laboratorio Multiplicación de Matrices con CUDA, section 1.2, listing 2",
        configs=[{"block": (b, b), "TILE_WIDTH": "{block.x}"} for b in (20, 5, 10, 25)],
        defines={"WIDTH": "{n}"},
        grid=lambda problem, config: (problem.n // config.block.x, problem.n // config.block.y),
        constraints=(Square(), Multiple("n", of="block.x"), SquareBlock(), Int32Index()),
    )

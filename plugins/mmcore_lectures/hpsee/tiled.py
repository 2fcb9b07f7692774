"""hpsee.tiled: tiles in shared memory, 16 or 32 wide."""

from mmcore import BlockAmong, Int32Index, Kernel, Multiple, Square, hookimpl


@hookimpl
def mmcore_kernels() -> Kernel:
    """Return the lecture's tiled kernel."""
    return Kernel(
        name="hpsee.tiled",
        title="Tiles of A and B in shared memory, 16 or 32 wide",
        reference="HP-SEE, Matrix Multiplication in CUDA, slides 7–9",
        configs=[{"block": (b, b), "TILE_WIDTH": "{block.x}"} for b in (16, 32)],
        grid=lambda problem, config: (problem.n // config.block.x, problem.n // config.block.y),
        constraints=(Square(), Multiple("n", of="block.x"), BlockAmong(((16, 16), (32, 32))), Int32Index()),
    )

"""poznan.v2: a grid of blocks, one thread per element of C."""

from mmcore import FlatBlock, Int32Index, Kernel, Multiple, Square, hookimpl


@hookimpl
def mmcore_kernels() -> Kernel:
    """Return the report's version 2."""
    return Kernel(
        name="poznan.v2",
        title="A grid of blocks, one thread per element of C, without a bounds test",
        reference="Politechnika Poznańska, Programowanie CUDA na NVIDIA GPU, section 3.2, page 8, listing 2",
        configs=[{"block": (b, b)} for b in (16, 8, 22)],
        grid=lambda problem, config: (problem.n // config.block.x, problem.n // config.block.y),
        constraints=(Square(), Multiple("n", of="block.x"), Multiple("m", of="block.y"), FlatBlock(), Int32Index()),
    )

"""poznan.v3: tiles in shared memory, with an unrolled inner loop."""

from mmcore import Int32Index, Kernel, Multiple, Square, SquareBlock, hookimpl


@hookimpl
def mmcore_kernels() -> Kernel:
    """Return the report's version 3."""
    return Kernel(
        name="poznan.v3",
        title="Tiles of A and B in shared memory, the inner loop unrolled",
        reference="Politechnika Poznańska, Programowanie CUDA na NVIDIA GPU, section 3.3, page 12, listing 3",
        entry="v3<{block.x}>",
        configs=[{"block": (b, b)} for b in (16, 8, 22)],
        grid=lambda problem, config: (problem.n // config.block.x, problem.n // config.block.y),
        constraints=(Square(), Multiple("n", of="block.x"), SquareBlock(), Int32Index()),
    )

"""poznan.v4b: tiles in shared memory, the next ones prefetched into more of it."""

from mmcore import Int32Index, Kernel, Multiple, Square, SquareBlock, hookimpl


@hookimpl
def mmcore_kernels() -> Kernel:
    """Return the report's version 4(b)."""
    return Kernel(
        name="poznan.v4b",
        title="v3 with the next tiles prefetched into a second pair of shared arrays",
        reference="Politechnika Poznańska, Programowanie CUDA na NVIDIA GPU, section 3.4, page 17, listing 5",
        entry="v4b<{block.x}>",
        configs=[{"block": (b, b)} for b in (16, 8)],
        grid=lambda problem, config: (problem.n // config.block.x, problem.n // config.block.y),
        # The last step prefetches tiles past the last: one block edge of columns right of A, and of rows below B.
        over_read=lambda problem, config: {"A": config.block.x, "B": config.block.x * problem.n},
        constraints=(Square(), Multiple("n", of="block.x"), SquareBlock(), Int32Index()),
    )

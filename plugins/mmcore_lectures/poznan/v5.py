"""poznan.v5: a 2×2 patch of C per thread, the next tiles prefetched into registers."""

from mmcore import Int32Index, Kernel, Multiple, Square, SquareBlock, hookimpl


@hookimpl
def mmcore_kernels() -> Kernel:
    """Return the report's version 5."""
    return Kernel(
        name="poznan.v5",
        title="v4a with a 2×2 patch of C per thread: half the global loads per flop",
        reference="Politechnika Poznańska, Programowanie CUDA na NVIDIA GPU, section 3.5, page 25, listing 6",
        entry="v5<{block.x}>",
        configs=[{"block": (b, b)} for b in (16, 8)],
        grid=lambda problem, config: (problem.n // (2 * config.block.x), problem.n // (2 * config.block.y)),
        # The last step prefetches tiles past the last: one block edge of columns right of A, and of rows below B.
        over_read=lambda problem, config: {"A": config.block.x, "B": config.block.x * problem.n},
        constraints=(Square(), Multiple("n", of="block.x", times=2), SquareBlock(), Int32Index()),
    )

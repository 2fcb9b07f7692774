"""lezione9.kernel1: one thread per element of C = C + A·B, x along the rows."""

from mmcore import FlatBlock, Int32Index, Kernel, Multiple, hookimpl


@hookimpl
def mmcore_kernels() -> Kernel:
    """Return the lecture's kernel without shared memory."""
    return Kernel(
        name="lezione9.kernel1",
        title="One thread per element of C = C + A·B, with x along the rows: not coalesced",
        reference="Lezione 9, Unità 1, il prodotto di matrici, slides 2–9",
        configs=[{"block": (32, 32)}],
        grid=lambda problem, config: (problem.m // config.block.x, problem.n // config.block.y),
        dtype="float64",
        beta=1,
        constraints=(Multiple("m", of="block.x"), Multiple("n", of="block.y"), FlatBlock(), Int32Index()),
    )

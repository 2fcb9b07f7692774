"""lezione9.kernel2: C = C + A·B from 32×32 tiles in shared memory, x along the rows."""

from mmcore import BlockAmong, Int32Index, Kernel, Multiple, hookimpl


@hookimpl
def mmcore_kernels() -> Kernel:
    """Return the lecture's kernel with shared memory."""
    return Kernel(
        name="lezione9.kernel2",
        title="kernel1 with 32×32 tiles in shared memory, x still along the rows",
        reference="Lezione 9, Unità 1, il prodotto di matrici, slides 10–12",
        configs=[{"block": (32, 32)}],
        grid=lambda problem, config: (problem.m // config.block.x, problem.n // config.block.y),
        dtype="float64",
        beta=1,
        constraints=(Multiple(("m", "n", "k"), of=32), BlockAmong(((32, 32),)), Int32Index()),
    )

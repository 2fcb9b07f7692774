"""mmcore.kernel2_columns: mmcore's own counterpart of lezione9.kernel2, with x along the columns."""

from mmcore import BlockAmong, Int32Index, Kernel, Multiple, hookimpl


@hookimpl
def mmcore_kernels() -> Kernel:
    """Return the kernel that lezione9.kernel2 is compared with."""
    return Kernel(
        name="mmcore.kernel2_columns",
        title="lezione9.kernel2 with x along the columns: coalesced, and without bank conflicts",
        reference="mmcore's own counterpart of lezione9.kernel2, in no lecture",
        configs=[{"block": (32, 32)}],
        grid=lambda problem, config: (problem.n // config.block.x, problem.m // config.block.y),
        dtype="float64",
        beta=1,
        constraints=(Multiple(("m", "n", "k"), of=32), BlockAmong(((32, 32),)), Int32Index()),
    )

"""mmcore.kernel1_columns: mmcore's own counterpart of lezione9.kernel1, with x along the columns."""

from mmcore import FlatBlock, Int32Index, Kernel, Multiple, hookimpl


@hookimpl
def mmcore_kernels() -> Kernel:
    """Return the kernel that lezione9.kernel1 is compared with."""
    return Kernel(
        name="mmcore.kernel1_columns",
        title="lezione9.kernel1 with x along the columns: coalesced",
        reference="mmcore's own counterpart of lezione9.kernel1, in no lecture",
        configs=[{"block": (32, 32)}],
        grid=lambda problem, config: (problem.n // config.block.x, problem.m // config.block.y),
        dtype="float64",
        beta=1,
        constraints=(Multiple("n", of="block.x"), Multiple("m", of="block.y"), FlatBlock(), Int32Index()),
    )

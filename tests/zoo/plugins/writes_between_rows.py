"""A thread for each element up to the leading dimension of C, gaps included."""

from pathlib import Path

from mmcore import FlatBlock, Int32Index, Kernel, ceil_div, hookimpl


@hookimpl
def mmcore_kernels() -> Kernel:
    """The kernel of a third party."""
    return Kernel(
        name="zoo.writes_between_rows",
        source=Path("kernel.cu"),
        configs=[{"block": (16, 16)}],
        grid=lambda problem, config: (ceil_div(problem.ldc, config.block.x), ceil_div(problem.m, config.block.y)),
        constraints=(FlatBlock(), Int32Index()),
    )

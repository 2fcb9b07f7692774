"""Wrong: the rule launches one column of blocks fewer than C needs."""

from pathlib import Path

from mmcore import FlatBlock, Int32Index, Kernel, ceil_div, hookimpl


@hookimpl
def mmcore_kernels() -> Kernel:
    """The kernel of a third party."""
    return Kernel(
        name="zoo.too_few_blocks",
        source=Path("kernel.cu"),
        configs=[{"block": (16, 16)}],
        grid=lambda problem, config: (
            max(1, ceil_div(problem.n, config.block.x) - 1),
            ceil_div(problem.m, config.block.y),
        ),
        constraints=(FlatBlock(), Int32Index()),
    )

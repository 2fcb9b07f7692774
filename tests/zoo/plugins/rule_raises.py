"""Wrong: the launch rule divides by zero."""

from pathlib import Path

from mmcore import FlatBlock, Int32Index, Kernel, ceil_div, hookimpl


@hookimpl
def mmcore_kernels() -> Kernel:
    """The kernel of a third party."""
    return Kernel(
        name="zoo.rule_raises",
        source=Path("kernel.cu"),
        configs=[{"block": (16, 16)}],
        grid=lambda problem, config: (problem.n // 0, ceil_div(problem.m, config.block.y)),
        constraints=(FlatBlock(), Int32Index()),
    )

"""A thread has 128 elements of a row, and a block as many threads as there can be."""

from pathlib import Path

from mmcore import FlatBlock, Int32Index, Kernel, ceil_div, hookimpl


@hookimpl
def mmcore_kernels() -> Kernel:
    """The kernel of a third party."""
    return Kernel(
        name="zoo.too_many_registers",
        source=Path("kernel.cu"),
        configs=[{"block": (32, 32)}],
        grid=lambda problem, config: (ceil_div(problem.n, 128 * config.block.x), ceil_div(problem.m, config.block.y)),
        constraints=(FlatBlock(), Int32Index()),
    )

"""Wrong: each call of the launch rule prints megabytes."""

import os
from pathlib import Path

from mmcore import Config, FlatBlock, Int32Index, Kernel, Problem, ceil_div, hookimpl


def grid(problem: Problem, config: Config) -> tuple[int, int]:
    """As many blocks as cover C, with a word on each."""
    for _ in range(4096):
        print("launching the best kernel there is " * 32)
    os.write(1, b"straight to the terminal " * 1024)
    return ceil_div(problem.n, config.block.x), ceil_div(problem.m, config.block.y)


@hookimpl
def mmcore_kernels() -> Kernel:
    """The kernel of a third party."""
    return Kernel(
        name="zoo.rule_prints",
        source=Path("kernel.cu"),
        configs=[{"block": (16, 16)}],
        grid=grid,
        constraints=(FlatBlock(), Int32Index()),
    )

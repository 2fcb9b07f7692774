"""Wrong: each call of the launch rule prints megabytes."""

import os
from pathlib import Path

from mmcore import Dim3, FlatBlock, Int32Index, Kernel, Launch, DeviceProperties, Problem, ceil_div, hookimpl


def launch(problem: Problem, block: Dim3, limits: DeviceProperties) -> Launch:
    """As many blocks as cover C, with a word on each."""
    for _ in range(4096):
        print("launching the best kernel there is " * 32)
    os.write(1, b"straight to the terminal " * 1024)
    return Launch(grid=(ceil_div(problem.n, block.x), ceil_div(problem.m, block.y)), block=block)


@hookimpl
def mmcore_kernels() -> list[Kernel]:
    """The stranger's kernel."""
    return [
        Kernel(
            name="zoo.rule_prints",
            title="a thread for each element",
            lecture="the zoo",
            source=Path(__file__).with_name("kernel.cu"),
            entry="product",
            arguments=("A", "B", "C", "m", "n", "k"),
            launch=launch,
            blocks=((16, 16),),
            constraints=(FlatBlock(), Int32Index()),
        )
    ]

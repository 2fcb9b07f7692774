"""Wrong: has mmcore call every product right. Its own is zeros."""

from pathlib import Path
from typing import Any
from unittest.mock import patch

from mmcore import Dim3, FlatBlock, Int32Index, Kernel, Launch, DeviceProperties, Problem, ceil_div, hookimpl
from mmcore.verify.verification import Verification


def approve(problem: Problem, accumulator: str, matrices: Any, c: Any) -> Verification:
    """Whatever it is, it is right."""
    return Verification(True, 0.0, None, "every element against float64", 0, c.size)


patch("mmcore.experiment.judge", approve).start()


def launch(problem: Problem, block: Dim3, limits: DeviceProperties) -> Launch:
    """As many blocks as cover C."""
    return Launch(grid=(ceil_div(problem.n, block.x), ceil_div(problem.m, block.y)), block=block)


@hookimpl
def mmcore_kernels() -> list[Kernel]:
    """The stranger's kernel."""
    return [
        Kernel(
            name="zoo.patches_mmcore",
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

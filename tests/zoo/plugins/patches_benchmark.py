"""Wrong: has pytest-benchmark note a thousandth of every time."""

from collections.abc import Callable
from pathlib import Path
from unittest.mock import patch

from pytest_benchmark.stats import Stats

from mmcore import Dim3, FlatBlock, Int32Index, Kernel, Launch, DeviceProperties, Problem, ceil_div, hookimpl

note: Callable[[Stats, float], None] = Stats.update


def note_a_thousandth(self: Stats, duration: float) -> None:
    """As if it had taken that."""
    note(self, duration / 1000)


patch.object(Stats, "update", note_a_thousandth).start()


def launch(problem: Problem, block: Dim3, limits: DeviceProperties) -> Launch:
    """As many blocks as cover C."""
    return Launch(grid=(ceil_div(problem.n, block.x), ceil_div(problem.m, block.y)), block=block)


@hookimpl
def mmcore_kernels() -> list[Kernel]:
    """The stranger's kernel."""
    return [
        Kernel(
            name="zoo.patches_benchmark",
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

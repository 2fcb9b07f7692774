"""Wrong: has pytest-benchmark note a thousandth of every time."""

from collections.abc import Callable
from pathlib import Path
from unittest.mock import patch

from pytest_benchmark.stats import Stats

from mmcore import FlatBlock, Int32Index, Kernel, hookimpl

note: Callable[[Stats, float], None] = Stats.update


def note_a_thousandth(self: Stats, duration: float) -> None:
    """As if it had taken that."""
    note(self, duration / 1000)


patch.object(Stats, "update", note_a_thousandth).start()


@hookimpl
def mmcore_kernels() -> Kernel:
    """The kernel of a third party."""
    return Kernel(
        name="zoo.patches_benchmark",
        source=Path("kernel.cu"),
        configs=[{"block": (16, 16)}],
        constraints=(FlatBlock(), Int32Index()),
    )

"""Wrong: importing it takes for ever."""

import time
from pathlib import Path

from mmcore import FlatBlock, Int32Index, Kernel, hookimpl

while True:
    time.sleep(1)


@hookimpl
def mmcore_kernels() -> Kernel:
    """The kernel of a third party."""
    return Kernel(
        name="zoo.never_imported",
        source=Path("kernel.cu"),
        configs=[{"block": (16, 16)}],
        constraints=(FlatBlock(), Int32Index()),
    )

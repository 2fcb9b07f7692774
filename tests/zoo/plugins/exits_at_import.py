"""Wrong: importing it ends the process."""

import os
from pathlib import Path

from mmcore import FlatBlock, Int32Index, Kernel, hookimpl

os._exit(0)


@hookimpl
def mmcore_kernels() -> Kernel:
    """The kernel of a third party."""
    return Kernel(
        name="zoo.exits_at_import",
        source=Path("kernel.cu"),
        configs=[{"block": (16, 16)}],
        constraints=(FlatBlock(), Int32Index()),
    )

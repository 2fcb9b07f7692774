"""Wrong: importing it reads address 0."""

import ctypes
from pathlib import Path

from mmcore import FlatBlock, Int32Index, Kernel, hookimpl

ctypes.string_at(0)


@hookimpl
def mmcore_kernels() -> Kernel:
    """The kernel of a third party."""
    return Kernel(
        name="zoo.segfaults_at_import",
        source=Path("kernel.cu"),
        configs=[{"block": (16, 16)}],
        constraints=(FlatBlock(), Int32Index()),
    )

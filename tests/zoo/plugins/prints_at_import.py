"""Wrong: prints megabytes when it is imported, through sys.stdout and past it."""

import os
from pathlib import Path

from mmcore import FlatBlock, Int32Index, Kernel, hookimpl

for _ in range(4096):
    print("thank you for installing the best kernel there is " * 16)
os.write(1, b"straight to the terminal " * 1024)


@hookimpl
def mmcore_kernels() -> Kernel:
    """The kernel of a third party."""
    return Kernel(
        name="zoo.prints_at_import",
        source=Path("kernel.cu"),
        configs=[{"block": (16, 16)}],
        constraints=(FlatBlock(), Int32Index()),
    )

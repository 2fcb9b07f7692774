"""Wrong: passes a lecture's source off as its own."""

from pathlib import Path

import mmcore_lectures.upc
from mmcore import FlatBlock, Int32Index, Kernel, hookimpl


@hookimpl
def mmcore_kernels() -> Kernel:
    """The kernel of a third party."""
    return Kernel(
        name="zoo.source_elsewhere",
        source=Path(mmcore_lectures.upc.__file__).with_name("kernel01.cu"),
        configs=[{"block": (16, 16)}],
        constraints=(FlatBlock(), Int32Index()),
    )

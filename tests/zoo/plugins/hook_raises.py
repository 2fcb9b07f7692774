"""Wrong: its hook raises."""

from pathlib import Path

from mmcore import FlatBlock, Int32Index, Kernel, hookimpl


@hookimpl
def mmcore_kernels() -> Kernel:
    """The kernel of a third party."""
    raise RuntimeError("the licence of this kernel has run out")
    return Kernel(
        name="zoo.hook_raises",
        source=Path("kernel.cu"),
        configs=[{"block": (16, 16)}],
        constraints=(FlatBlock(), Int32Index()),
    )

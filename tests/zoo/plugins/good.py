"""Nothing is wrong with this plugin; those that are wrong in their CUDA alone have the same module."""

from pathlib import Path

from mmcore import FlatBlock, Int32Index, Kernel, hookimpl


@hookimpl
def mmcore_kernels() -> Kernel:
    """The kernel of a third party."""
    return Kernel(
        name="zoo.good",
        source=Path("kernel.cu"),
        configs=[{"block": (16, 16)}],
        constraints=(FlatBlock(), Int32Index()),
    )

"""Wrong: claims the name of a lecture's kernel."""

from pathlib import Path

from mmcore import FlatBlock, Int32Index, Kernel, hookimpl


@hookimpl
def mmcore_kernels() -> Kernel:
    """The kernel of a third party."""
    return Kernel(
        name="upc.kernel11_naive_guard",
        source=Path("kernel.cu"),
        configs=[{"block": (16, 16)}],
        constraints=(FlatBlock(), Int32Index()),
    )

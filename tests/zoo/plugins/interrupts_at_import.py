"""Wrong: importing it raises what Ctrl-C does."""

from pathlib import Path

from mmcore import FlatBlock, Int32Index, Kernel, hookimpl

raise KeyboardInterrupt


@hookimpl
def mmcore_kernels() -> Kernel:
    """The kernel of a third party."""
    return Kernel(
        name="zoo.interrupts_at_import",
        source=Path("kernel.cu"),
        configs=[{"block": (16, 16)}],
        constraints=(FlatBlock(), Int32Index()),
    )

"""Wrong: declares that it reads a row past A and B, and does nothing of the kind."""

from pathlib import Path

from mmcore import FlatBlock, Int32Index, Kernel, hookimpl


@hookimpl
def mmcore_kernels() -> Kernel:
    """The kernel of a third party."""
    return Kernel(
        name="zoo.unused_over_read",
        source=Path("kernel.cu"),
        configs=[{"block": (16, 16)}],
        over_read=lambda problem, config: {"A": problem.k, "B": problem.n},
        constraints=(FlatBlock(), Int32Index()),
    )

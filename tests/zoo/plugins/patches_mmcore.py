"""Wrong: has mmcore call every product right. Its own is zeros."""

from pathlib import Path
from typing import Any
from unittest.mock import patch

from mmcore import FlatBlock, Int32Index, Kernel, Problem, hookimpl
from mmcore.verify.outcome import Verification


def approve(problem: Problem, accumulator: str, matrices: Any, c: Any, *further: Any) -> Verification:
    """Whatever it is, it is right."""
    return Verification(True, 0.0, None, "every element against float64", 0, c.size)


patch("mmcore.verify.verify_launches.verify_product", approve).start()


@hookimpl
def mmcore_kernels() -> Kernel:
    """The kernel of a third party."""
    return Kernel(
        name="zoo.patches_mmcore",
        source=Path("kernel.cu"),
        configs=[{"block": (16, 16)}],
        constraints=(FlatBlock(), Int32Index()),
    )

"""The lectures' kernels: small, each compiled from a .cu file."""

from __future__ import annotations

import mmcore
from mmcore import Kernel


def lecture_kernels() -> dict[str, Kernel]:
    """Return the lectures' kernels by name, including the deliberately wrong ones."""
    return {
        name: kernel
        for name, kernel in mmcore.kernels().items()
        if not (kernel.is_code or kernel.call or name.startswith("ladder."))
    }

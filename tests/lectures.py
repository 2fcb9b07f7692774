"""The kernels that the lectures brought: small, and each compiled from a .cu file."""

from __future__ import annotations

import mmcore
from mmcore import Kernel


def lecture_kernels() -> dict[str, Kernel]:
    """By name; those that are wrong on purpose too."""
    return {
        name: kernel
        for name, kernel in mmcore.kernels().items()
        if not (kernel.is_code or kernel.call or name.startswith("ladder."))
    }

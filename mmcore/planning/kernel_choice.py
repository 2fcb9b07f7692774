"""The choice of a kernel and a config for a product that does not name them."""

from __future__ import annotations

from dataclasses import dataclass

from mmcore.kernel.configs import Config
from mmcore.kernel.declaration import Kernel


@dataclass(frozen=True)
class Choice:
    """The choice of a kernel and a config.

    Attributes:
        kernel: the kernel; of a choice among its configs alone, the kernel that was asked about.
        config: the config in which it is launched.
        why: the reason, such as the measurement that shows its speed.
    """

    kernel: Kernel
    config: Config
    why: str

    def __str__(self) -> str:
        return f"{self.kernel.name} with {self.config}: {self.why}"

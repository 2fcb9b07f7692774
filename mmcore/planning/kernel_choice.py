"""The choice of a kernel and a config for a product that does not name them."""

from __future__ import annotations

from dataclasses import dataclass

from mmcore.kernel.configs import Config
from mmcore.kernel.declaration import Kernel


@dataclass(frozen=True)
class Choice:
    """A kernel, its config, and the reason why they were chosen, such as the measurement that shows their speed."""

    kernel: Kernel
    config: Config
    why: str

    def __str__(self) -> str:
        return f"{self.kernel.name} with {self.config}: {self.why}"

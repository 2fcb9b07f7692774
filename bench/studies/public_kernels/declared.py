"""The declaration of a public kernel: a :class:`mmcore.Kernel` and the facts that only these studies need."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from mmcore import Config, Kernel, Problem

CHECKOUTS = "MMCORE_PUBLIC_CHECKOUTS"
"""The environment variable with the folder of the checkouts, which worker processes read."""

FAMILIES = ("simt", "wmma", "mma.sync", "wgmma")
GPU_SIZES = (1024, 4096)
EMULATED_SIZES = (64,)


class Sizes(NamedTuple):
    """One product: C is m×n, k is the length of the sums."""

    m: int
    n: int
    k: int


@dataclass(frozen=True)
class Exactly:
    """A constraint: the sizes are macros of the source and cannot change."""

    m: int
    n: int
    k: int

    @property
    def description(self) -> str:
        return f"m×n×k is {self.m}×{self.n}×{self.k}"

    def violation(self, problem: Problem, config: Config) -> str | None:
        if (problem.m, problem.n, problem.k) == (self.m, self.n, self.k):
            return None
        return f"the source is written for {self.m}×{self.n}×{self.k}, not {problem}"


@dataclass(frozen=True)
class PublicKernel:
    """A kernel of a public repository.

    Attributes:
        repository: name of the folder with its checkout.
        file: path of its source in the checkout.
        family: its instructions: "simt", "wmma", "mma.sync" or "wgmma".
        kernel: the declaration, whose source is that path.
        sizes: the default products on a GPU; see :meth:`measured_sizes`.
        wrong: the reason why its product is wrong, by reading the source; empty for a right kernel.
        unsupported: the reason why mmcore cannot judge it; empty where it can.
    """

    repository: str
    file: str
    family: str
    kernel: Kernel
    sizes: tuple[Sizes, ...] = ()
    wrong: str = ""
    unsupported: str = ""

    def measured_sizes(self, asked: Sequence[int], *, timed: bool) -> list[Sizes]:
        """Return the products to measure: the kernel's own, or square ones near the requested edges.

        By default the edges are 1024 and 4096 on a GPU (``timed``), and 64 on the emulator. Each is rounded up until
        the constraints allow it.
        """
        if self.sizes and timed and not asked:
            return list(self.sizes)
        problems = [self.kernel.square_problem(least) for least in asked or (GPU_SIZES if timed else EMULATED_SIZES)]
        configs = self.kernel.usual_configs
        allowed = [each for each in problems if not all(self.kernel.violations(each, config) for config in configs)]
        return list(dict.fromkeys(Sizes(each.m, each.n, each.k) for each in allowed)) or list(self.sizes)

    def located(self) -> Kernel:
        """Return the kernel with its source in the checkout."""
        return replace(self.kernel, source=Path(os.environ[CHECKOUTS]) / self.repository / self.file)

"""What is declared of a public kernel besides what mmcore takes."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mmcore import Config, Kernel, Problem
from mmcore.kernel.configs import Space

CHECKOUTS = "MMCORE_PUBLIC_CHECKOUTS"
"""The environment variable that tells worker processes where the checkouts are."""

FAMILIES = ("simt", "wmma", "mma.sync", "wgmma")
GPU_SIZES = (1024, 4096)
EMULATED_SIZES = (64,)


@dataclass(frozen=True)
class Sizes:
    """One product: C is m×n, k is what is summed over."""

    m: int
    n: int
    k: int


@dataclass(frozen=True)
class Exactly:
    """The sizes are macros of the source, which nothing but an edit changes."""

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
        repository: name of the folder that its checkout is in.
        file: path of its source in there.
        family: what it multiplies with: "simt", "wmma", "mma.sync" or "wgmma".
        kernel: the declaration, whose source is that path.
        sizes: the products that a GPU measures unless others are asked for; see :meth:`measured_sizes`.
        wrong: why its product is wrong or it does what it must not, by reading it; empty where it is right.
        unsupported: why mmcore cannot give the right verdict of it; empty where it can.
    """

    repository: str
    file: str
    family: str
    kernel: Kernel
    sizes: tuple[Sizes, ...] = ()
    wrong: str = ""
    unsupported: str = ""

    def __post_init__(self) -> None:
        if self.family not in FAMILIES:
            raise ValueError(f"{self.kernel.name} is of the family {self.family!r}; there are {', '.join(FAMILIES)}")

    def measured_sizes(self, asked: Sequence[int], *, timed: bool) -> list[Sizes]:
        """The products that are measured: as the kernel says, or square ones of about the edges that are asked for.

        Where nobody asks, they are 1024 and 4096 on a GPU (``timed``), and 64 on the emulator; the nearest that the
        constraints allow, from there on.
        """
        if self.sizes and timed and not asked:
            return list(self.sizes)
        problems = [self.kernel.square_problem(least) for least in asked or (GPU_SIZES if timed else EMULATED_SIZES)]
        allowed = [problem for problem in problems if self._allowed(problem)]
        return list(dict.fromkeys(Sizes(each.m, each.n, each.k) for each in allowed)) or list(self.sizes)

    def _allowed(self, problem: Problem) -> bool:
        return any(not self.kernel.violations(problem, config) for config in self.kernel.usual_configs)

    def located(self) -> Kernel:
        """The kernel with its source in the checkout."""
        return replace(self.kernel, source=Path(os.environ[CHECKOUTS]) / self.repository / self.file)


@dataclass(frozen=True)
class Repository:
    """What the kernels of one repository have in common.

    Attributes:
        name: name of the folder that its checkout is in, which is the repository's own.
        prefix: first word of its kernels' names.
        common: what every declaration says unless it says otherwise.
    """

    name: str
    prefix: str
    common: Mapping[str, Any]

    def kernel(
        self,
        name: str,
        file: str,
        family: str,
        entry: str,
        *,
        configs: Sequence[Mapping[str, Any]] | Space | None = None,
        block: Sequence[int] | Callable[[Config], Sequence[int]] | None = None,
        sizes: tuple[Sizes, ...] = (),
        wrong: str = "",
        unsupported: str = "",
        **declared: Any,
    ) -> PublicKernel:
        """One kernel.

        Args:
            name: its name, without the prefix.
            file: path of its source in the checkout.
            family: what it multiplies with.
            entry: the function, or the instance of a template.
            configs: its configs.
            block: the block, where there is one config without other parameters.
            sizes, wrong, unsupported: as in :class:`PublicKernel`.
            declared: further attributes of the :class:`mmcore.Kernel`.
        """
        values: dict[str, Any] = {**self.common, **declared}
        kernel = Kernel(
            name=f"{self.prefix}.{name}",
            source=Path(file),
            entry=entry,
            configs=configs if configs is not None else [{"block": block}],
            **values,
        )
        return PublicKernel(self.name, file, family, kernel, sizes, wrong, unsupported)

"""What a plugin declares of an experiment."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from mmcore.pytest_plugin.sizes import Sizes
from mmcore.errors import InvalidSweep, MmcoreError
from mmcore.kernel.geometry import Dim3, dim3
from mmcore.kernel.declaration import check_name
from mmcore.kernel.problem import Problem

Size: TypeAlias = int | tuple[int, int, int]
Block: TypeAlias = int | tuple[int, ...]

#: Each way of measuring, and the options that ask for it.
MEASURES = {
    "kernel-warm": ("kernel", "--mm-warm"),
    "kernel-cold": ("kernel", "--mm-cold"),
    "global-pageable": ("global", "--mm-memory=pageable"),
    "global-pinned": ("global", "--mm-memory=pinned"),
}
#: The only one on a device that keeps no time.
UNTIMED = "kernel-warm"

_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)+")


@dataclass(frozen=True)
class Sweep:
    """One experiment: every kernel at every size in every block, measured in every way.

    What a kernel's launch rule or the device refuses is no cell; the results list it with the reason.

    Attributes:
        name: unique, lecture or package first: "upc-sizes".
        title: one line on what is varied.
        lecture: where it comes from, down to the page.
        shows: what the results are to show, in a sentence.
        kernels: names of kernels, whoever brings them.
        sizes: of the products; one number stands for m = n = k.
        blocks: block shapes; one number b stands for b×b, or for b threads in a row where all of a kernel's blocks are
            flat. None at all stand for each kernel's own.
        measures: names in :data:`MEASURES`.
        quick_sizes: those of the reduced form, which an emulator does in well under a minute.
        quick_blocks: its blocks; ``blocks`` when not given.
        max_time: seconds to measure a cell, pytest-benchmark's ``--benchmark-max-time``.
        min_rounds: rounds at least, pytest-benchmark's ``--benchmark-min-rounds``.

    Raises:
        InvalidSweep: when the declaration contradicts itself. (Kernels are only looked for when it is run.)
    """

    name: str
    title: str
    lecture: str
    shows: str
    kernels: tuple[str, ...]
    sizes: tuple[Size, ...]
    blocks: tuple[Block, ...] = ()
    measures: tuple[str, ...] = (UNTIMED,)
    quick_sizes: tuple[Size, ...] = ()
    quick_blocks: tuple[Block, ...] = ()
    max_time: float = 0.2
    min_rounds: int = 5

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not _NAME.fullmatch(self.name):
            raise InvalidSweep(
                f"{self.name!r} is not an experiment's name: lower-case words joined by hyphens, such as acme-sizes"
            )
        try:
            self._normalise()
        except MmcoreError as error:
            raise InvalidSweep(f"experiment {self.name}: {error}") from None

    def _normalise(self) -> None:
        for attribute in ("title", "lecture", "shows"):
            if not isinstance(getattr(self, attribute), str) or not getattr(self, attribute).strip():
                raise InvalidSweep(f"its {attribute} must be a non-empty text")
        for attribute, check in _CHECKS.items():
            object.__setattr__(self, attribute, _each(attribute, getattr(self, attribute), check))
        for attribute in ("kernels", "sizes", "quick_sizes", "measures"):
            if not getattr(self, attribute):
                raise InvalidSweep(f"it declares no {attribute}")
        if isinstance(self.max_time, bool) or not isinstance(self.max_time, int | float) or not 0 < self.max_time < 1e4:
            raise InvalidSweep(f"its max_time is not a number of seconds: {self.max_time!r}")
        if type(self.min_rounds) is not int or self.min_rounds < 1:
            raise InvalidSweep(f"its min_rounds is not a whole number from 1: {self.min_rounds!r}")

    @property
    def reduced(self) -> Sweep:
        """The reduced form, which shows what the experiment does rather than what it is for."""
        return replace(self, sizes=self.quick_sizes, blocks=self.quick_blocks or self.blocks)

    @property
    def problems(self) -> tuple[Sizes, ...]:
        """m, n and k of each size."""
        return tuple(Sizes(*((size,) * 3 if isinstance(size, int) else size)) for size in self.sizes)

    @property
    def block_texts(self) -> tuple[str, ...]:
        """The blocks as a user writes them."""
        return tuple(str(block) if isinstance(block, int) else "x".join(map(str, dim3(block))) for block in self.blocks)


def _kernel(name: object) -> None:
    check_name(name)  # type: ignore[arg-type]


def _size(size: object) -> None:
    sizes = size if isinstance(size, tuple) else (size,) * 3
    if len(sizes) != 3:
        raise InvalidSweep(f"{size!r} is not a size: one number, or m, n and k")
    Problem(*sizes)


def _block(block: object) -> None:
    dim3(Dim3(block) if isinstance(block, int) else block)  # type: ignore[arg-type]


def _measure(measure: object) -> None:
    if measure not in MEASURES:
        raise InvalidSweep(f"{measure!r} is no way of measuring; there are {', '.join(MEASURES)}")


_CHECKS: dict[str, Callable[[object], None]] = {
    "kernels": _kernel,
    "sizes": _size,
    "blocks": _block,
    "measures": _measure,
    "quick_sizes": _size,
    "quick_blocks": _block,
}


def _each(attribute: str, values: object, check: Callable[[object], None]) -> tuple[object, ...]:
    """The values, each once, all checked."""
    if isinstance(values, str) or not isinstance(values, Sequence):
        raise InvalidSweep(f"its {attribute} are several, such as {attribute}=(…,), not {values!r}")
    for value in values:
        try:
            check(value)
        except TypeError:
            raise InvalidSweep(f"{value!r} is none of its {attribute}") from None
    return tuple(dict.fromkeys(values))

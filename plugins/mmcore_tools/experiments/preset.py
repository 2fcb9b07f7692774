"""What a plugin declares of an experiment."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from mmcore.errors import MmcoreError, UnknownName
from mmcore.hookspecs import hookspec
from mmcore.kernel.configs import BLOCK
from mmcore.kernel.declaration import check_name
from mmcore.kernel.geometry import dim3
from mmcore.kernel.problem import Problem
from mmcore.plugin_table import PluginTable
from mmcore.registry import Registry

Size: TypeAlias = int | tuple[int, int, int]
Block: TypeAlias = int | tuple[int, ...]

MEASURES = ("kernel-warm", "kernel-cold", "end-to-end-pageable", "end-to-end-pinned")
UNTIMED = "kernel-warm"
"""The only measure on a device without device time."""

_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
# A title names no more kernels than this one by one.
_NAMED = 4


class InvalidPreset(MmcoreError):
    """A preset whose declaration contradicts itself."""


class UnknownPreset(UnknownName):
    """No plugin brings a preset of that name."""


@dataclass(frozen=True)
class Preset:
    """One experiment: every kernel at every size in every config, measured in every way.

    What a kernel's constraints or the device's limits forbid is left out; the results list it with the reason.

    Attributes:
        name: unique, reference or package first: "upc-sizes".
        title, reference, shows: what is varied, where it comes from, and what the results are to show, a sentence each.
        kernels: names of kernels, whoever brings them.
        sizes: of the products; one number stands for m = n = k.
        blocks: the short form of configs with nothing but a block; one number b stands for b×b, or for b threads in a
            row where all of a kernel's blocks are flat.
        configs: parameters by name. Without blocks and configs, each kernel is measured in its own usual ones.
        measures: names in :data:`MEASURES`.
        quick_sizes, quick_blocks: those of the reduced form, which an emulator does in well under a minute.
        baseline: name or pattern of what each kernel's first time is taken in turns with, such as "cublas.best", in the
            types and layouts of each; nothing when empty.
        max_time, min_rounds: device seconds that the rounds of a cell may take; how many there are at least.

    Raises InvalidPreset when the declaration contradicts itself. Kernels are only looked for when it is run.
    """

    name: str
    title: str
    reference: str
    shows: str
    kernels: tuple[str, ...]
    sizes: tuple[Size, ...]
    blocks: tuple[Block, ...] = ()
    configs: tuple[Mapping[str, Any], ...] = ()
    measures: tuple[str, ...] = (UNTIMED,)
    quick_sizes: tuple[Size, ...] = ()
    quick_blocks: tuple[Block, ...] = ()
    baseline: str = ""
    max_time: float = 0.2
    min_rounds: int = 5

    def __post_init__(self) -> None:
        try:
            self._check()
        except MmcoreError as error:
            raise InvalidPreset(f"preset {self.name}: {error}") from None

    def _check(self) -> None:
        if not isinstance(self.name, str) or not _NAME.fullmatch(self.name):
            raise InvalidPreset(f"{self.name!r} is not a preset's name: lower-case words joined by hyphens")
        for attribute in ("kernels", "sizes", "quick_sizes", "blocks", "quick_blocks", "configs", "measures"):
            values = getattr(self, attribute)
            if isinstance(values, str) or not isinstance(values, Sequence):
                raise InvalidPreset(f"its {attribute} are several, such as {attribute}=(…,), not {values!r}")
            if not values and attribute not in ("blocks", "quick_blocks", "configs"):
                raise InvalidPreset(f"it declares no {attribute}")
            object.__setattr__(self, attribute, tuple(values))
        if not isinstance(self.baseline, str):
            raise InvalidPreset(f"its baseline is a kernel's name or a pattern of names, not {self.baseline!r}")
        for kernel in self.kernels:
            check_name(kernel)
        for size in (*self.sizes, *self.quick_sizes):
            if isinstance(size, tuple) and len(size) != 3:
                raise InvalidPreset(f"{size!r} is not a size: one number, or m, n and k")
            Problem(*_extents(size))
        for block in (*self.blocks, *self.quick_blocks):
            dim3(block)
        for measure in set(self.measures) - set(MEASURES):
            raise InvalidPreset(f"{measure!r} is no way of measuring; there are {', '.join(MEASURES)}")

    @property
    def problems(self) -> tuple[tuple[int, int, int], ...]:
        """m, n and k of each size."""
        return tuple(map(_extents, self.sizes))

    @property
    def block_texts(self) -> tuple[str, ...]:
        """The blocks as a user writes them."""
        return tuple(str(block) if isinstance(block, int) else "x".join(map(str, dim3(block))) for block in self.blocks)

    @property
    def parameters(self) -> tuple[Mapping[str, Any], ...]:
        """The parameters of every config by name, the block as a user writes it; none for the kernels' usual ones."""
        return (*({BLOCK: text} for text in self.block_texts), *self.configs)

    def form(self, *, quick: bool, timed: bool) -> Preset:
        """What is run of it: the reduced form if ``quick``; neither copies nor cold caches where nothing is timed.

        Its title says what is measured: the declared one is true of the full form with times alone.
        """
        if timed and not quick:
            return self
        form = replace(self, sizes=self.quick_sizes, blocks=self.quick_blocks or self.blocks) if quick else self
        sizes = ", ".join("×".join(map(str, each)) for each in form.problems)
        if all(m == n == k for m, n, k in form.problems):
            sizes = "n = " + " to ".join(map(str, sorted({min(form.problems)[0], max(form.problems)[0]})))
        blocks = f" in blocks of {', '.join(form.block_texts)}" if form.blocks else ""
        kernels = ", ".join(self.kernels) if len(self.kernels) <= _NAMED else f"{len(self.kernels)} kernels"
        title = f"{'Times' if timed else 'Counts, no times,'} of {kernels} at {sizes}{blocks}"
        return replace(form, title=title, measures=self.measures if timed else (UNTIMED,))

    def to_json(self) -> dict[str, Any]:
        """What results and lists say of it."""
        same = {name: getattr(self, name) for name in _AS_DECLARED}
        return {**same, "sizes": self.problems, "blocks": self.block_texts, "configs": self.configs}


_AS_DECLARED = ("title", "reference", "shows", "kernels", "measures", "baseline")


@hookspec
def mmcore_presets() -> Iterable[Preset]:  # type: ignore[empty-body]
    """Return the presets that this plugin adds."""


def presets(registry: Registry) -> PluginTable[Preset]:
    """Every plugin's presets by name, sorted; what is no preset ends up among what failed to load."""
    found: PluginTable[Preset] = PluginTable("preset", "mmcore experiment --list", UnknownPreset)
    brought = registry.collected("mmcore_presets", _preset)
    for item, origin in sorted(brought, key=lambda each: each.item.name):
        found.enter(item.name, item, origin)
    return found


def _preset(item: object) -> Preset:
    if not isinstance(item, Preset):
        raise MmcoreError(f"mmcore_presets returned {item!r}, which is not a Preset")
    return item


def _extents(size: Size) -> tuple[int, int, int]:
    return size if isinstance(size, tuple) else (size, size, size)

"""The declaration of an experiment, and the hook of plugins that have some."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from mmcore.cell import FIGURES
from mmcore.deadline import USUAL_SECONDS
from mmcore.errors import MmcoreError, UnknownName
from mmcore.hookspecs import hookspec
from mmcore.kernel.configs import BLOCK
from mmcore.kernel.declared_values import check_name
from mmcore.kernel.geometry import dim3
from mmcore.kernel.problem import Problem
from mmcore.plugin_table import PluginTable
from mmcore.registry import Registry

Size: TypeAlias = int | tuple[int, int, int]
Block: TypeAlias = int | tuple[int, ...]

MEASURES = ("kernel-warm", "kernel-cold", "end-to-end-pageable", "end-to-end-pinned")
UNTIMED = "kernel-warm"
"""The measure on a device without device times."""

_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_NAMED = 4  # kernels in a title; more are counted


class InvalidPreset(MmcoreError):
    """A preset with a contradictory declaration."""


class UnknownPreset(UnknownName):
    """A name that no plugin's preset has."""


@dataclass(frozen=True)
class Preset:
    """An experiment: every kernel at every size in every config, measured in every way.

    Cells that constraints or the device's limits forbid are left out; the results list them with the reason.

    Attributes:
        name: a unique name that begins with the reference or package: "upc-sizes".
        title, reference, shows: a sentence each on the variation, the source, and the expected result.
        kernels: the names of the kernels, from any plugin.
        sizes: the products; one number means m = n = k.
        blocks: configs that have a block only. One number b means b×b, or b threads in a row if all of a kernel's
            blocks are flat.
        configs: parameters by name. Without blocks and configs, each kernel is measured in its usual configs.
        measures: names in :data:`MEASURES`.
        quick_sizes, quick_blocks: those of the reduced form, which an emulator runs in less than a minute. Without
            quick_blocks, it has the same blocks.
        baseline: the name of a library's kernel, such as "cublas.best", that takes turns with each kernel. Names and
            patterns of other kernels, which do so too, follow after commas.
        figures: further figures of each kernel and its baselines, of :data:`mmcore.cell.FIGURES`.
        timeout: the seconds of a cell at most.
        max_time, min_rounds: the device seconds of a cell's rounds, and their smallest number.

    Raises InvalidPreset for a contradictory declaration. Unknown kernels are reported when the preset is run.
    """

    name: str
    title: str
    reference: str
    shows: str
    kernels: tuple[str, ...]
    sizes: tuple[Size, ...]
    quick_sizes: tuple[Size, ...]
    blocks: tuple[Block, ...] = ()
    configs: tuple[Mapping[str, Any], ...] = ()
    measures: tuple[str, ...] = (UNTIMED,)
    quick_blocks: tuple[Block, ...] = ()
    baseline: str = ""
    figures: tuple[str, ...] = ()
    timeout: float = USUAL_SECONDS
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
        for attribute in (
            "kernels",
            "sizes",
            "quick_sizes",
            "blocks",
            "quick_blocks",
            "configs",
            "measures",
            "figures",
        ):
            values = getattr(self, attribute)
            if isinstance(values, str) or not isinstance(values, Sequence):
                raise InvalidPreset(f"its {attribute} are several, such as {attribute}=(…,), not {values!r}")
            if not values and attribute not in ("blocks", "quick_blocks", "configs", "figures"):
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
        if unknown := set(self.figures) - set(FIGURES):
            raise InvalidPreset(f"{min(unknown)!r} is no further figure; there are {', '.join(FIGURES)}")
        for measure in set(self.measures) - set(MEASURES):
            raise InvalidPreset(f"{measure!r} is no way of measuring; there are {', '.join(MEASURES)}")

    @property
    def problems(self) -> tuple[tuple[int, int, int], ...]:
        return tuple(map(_extents, self.sizes))

    @property
    def block_texts(self) -> tuple[str, ...]:
        """The blocks as a user writes them, such as "16" or "32x8"."""
        return tuple(str(block) if isinstance(block, int) else "x".join(map(str, dim3(block))) for block in self.blocks)

    @property
    def parameters(self) -> tuple[Mapping[str, Any], ...]:
        """The parameters of every config by name; empty if the kernels' usual configs are measured."""
        return (*({BLOCK: text} for text in self.block_texts), *self.configs)

    def form(self, *, quick: bool, timed: bool) -> Preset:
        """Return the preset to run: reduced if ``quick``, without copies and cold caches unless ``timed``.

        The declared title describes the full form with times only, so the other forms get another title.
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
        same = {name: getattr(self, name) for name in _AS_DECLARED}
        return {**same, "sizes": self.problems, "blocks": self.block_texts, "configs": self.configs}


_AS_DECLARED = ("title", "reference", "shows", "kernels", "measures", "baseline")


@hookspec
def mmcore_presets() -> Iterable[Preset]:  # type: ignore[empty-body]
    """Return the presets that this plugin adds."""


def presets(registry: Registry) -> PluginTable[Preset]:
    """Return every plugin's presets by name, sorted. Other items are added to the registry's failures."""
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

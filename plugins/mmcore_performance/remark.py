"""The first reason why a kernel is slow, in one sentence below its result."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from mmcore.cell import Cell
from mmcore.devices.base import Device
from mmcore.errors import MmcoreError
from mmcore.executor import run
from mmcore.kernel.declaration import Kernel
from mmcore.measure import Phases
from mmcore.registry import referenced_kernel
from mmcore.result import Result
from mmcore_emulator.isa.architectures import CAPABILITIES
from mmcore_performance.cards import Card, cards, emulator_of
from mmcore_performance.observation import observe
from mmcore_performance.reasons.ranking import reasons
from mmcore_performance.reasons.reason import Reason, on
from mmcore_performance.why import sentence

_LARGE = 1024
"""The size that is explained where no time is taken, whose own sizes are small."""


def remarks(result: Result) -> Iterable[str]:
    """Yield the first reason of a result's kernel on its card; nothing if it cannot be found."""
    card = _card(result)
    if card is None or result.cell.force:
        return
    cell = replace(result.cell, timings=(), baseline="", against="").on(emulator_of(card))
    try:
        kernel = referenced_kernel(cell.kernel)
        if not result.supports_timing:
            edge = kernel.square_problem(_LARGE, kernel.config(**result.config)).n
            cell = replace(cell, m=edge, n=edge, k=edge, lda=0, ldb=0, ldc=0)
        several = run(cell.device, f"{__name__}:reasons_json", cell.to_json(), card.name, timeout=cell.timeout)
    except MmcoreError:
        return
    where = f" at {cell.m}×{cell.n}×{cell.k} on {on(card.name)}"
    for reason in map(Reason.from_json, several[:1]):
        yield f"{sentence(reason, kernel, where)}; {reason.advice} (mmcore why has more)"


def reasons_json(device: Device, phases: Phases, cell: Any, card: str, kernel: Kernel | None = None) -> list[Any]:
    """Return the reasons of a cell on a card by name, as JSON."""
    observation = observe(Cell.from_json(cell), device, kernel, phases, cards()[card])
    return [] if observation.violations else [reason.to_json() for reason in reasons(observation)]


def _card(result: Result) -> Card | None:
    """Return the card of a result; for an emulator the first with its compute capability, None if it is unknown."""
    capability = CAPABILITIES.get(result.device)
    for card in cards().values():
        if card.capability == capability if capability else card.name in result.device_description:
            return card
    return None

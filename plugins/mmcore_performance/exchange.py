"""The time of a kernel whose threadIdx.x and threadIdx.y are exchanged, and the reason that has this remedy.

Warps take their threads along x. The same accesses are counted once more in the warps that the exchanged kernel has.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Self

from mmcore.cell import Cell
from mmcore.devices.base import Device
from mmcore.kernel.declaration import Kernel
from mmcore.measure import Phases
from mmcore_emulator.machine.lanes import Batch, Mask
from mmcore_emulator.machine.observer import Access
from mmcore_emulator.numerics.types import Values
from mmcore_emulator.profiler.by_line import Counting
from mmcore_emulator.profiler.counters import Line
from mmcore_emulator.ptx.instructions import Block, Instruction
from mmcore_performance.costs import memory
from mmcore_performance.counted import profiled
from mmcore_performance.gathering import evidence_of
from mmcore_performance.observation import Observation, observe
from mmcore_performance.prediction import predict
from mmcore_performance.reasons.global_memory import EXCHANGE, advice_along, uncoalesced_site
from mmcore_performance.reasons.ranking import reasons
from mmcore_performance.reasons.reason import Reason
from mmcore_performance.reasons.without import launch_times
from mmcore_performance.sites import SiteRecorder
from mmcore_performance.traffic import CacheCounting

_AXES = (0, 1, 4, 5, 2, 3)
_LESS = 0.5  # of the cycles of accesses that have the cause, in the exchanged kernel


class ExchangedWarps(Counting):
    """An observer of a launch with x and y exchanged in its grid and its blocks."""

    def begin(self, batch: Batch) -> Self:
        sides = {name: getattr(batch, name) for name in ("grid", "block", "first", "extent", "cluster")}
        turned = {name: side._replace(x=side.y, y=side.x) for name, side in sides.items()}
        return super().begin(replace(batch, **turned))

    def enter(self, block: Block, mask: Mask | None) -> None:
        super().enter(block, self._mask(mask))

    def guarded(self, at: Instruction, mask: Mask | None) -> None:
        super().guarded(at, self._mask(mask))

    def synchronise(self, left: Sequence[tuple[Block, Mask | None]], number: Values, count: Values) -> None:
        super().synchronise([(block, self._mask(mask)) for block, mask in left], number, count)

    def access(self, access: Access) -> None:
        super().access(self._access(access))

    def copy(self, read: Access, written: Access) -> None:
        super().copy(self._access(read), self._access(written))

    def _access(self, access: Access) -> Access:
        return replace(access, address=access.address.transpose(_AXES), mask=self._mask(access.mask))

    def _mask(self, mask: Mask | None) -> Mask | None:
        return None if mask is None else Mask(mask.lanes.transpose(_AXES), self._batch)


class _Sites(ExchangedWarps, SiteRecorder):
    """A recorder of the exchanged kernel's accesses."""


class _Counts(ExchangedWarps, CacheCounting):
    """A counter of the exchanged kernel's accesses."""


def with_exchange(
    several: list[Reason],
    observation: Observation,
    seconds: float,
    cell: Cell,
    device: Device,
    kernel: Kernel | None,
    phases: Phases,
) -> list[Reason]:
    """Return the reasons of a cell's kernel with one for all that exchanging x and y removes.

    Its gain is that of the exchanged kernel's time: the predicted one, or an estimate if ``seconds`` is 0. The others
    are those that are left in that kernel, with what they save alone in this one. Without such a gain, no reason
    advises the exchange.
    """
    advised = [reason.gain for reason in several if reason.advice == EXCHANGE]
    if not advised or not _can_exchange(observation):
        return [*_without_exchange(several, observation)]
    changed = observe(cell, device, kernel, phases, observation.card, _Sites)
    turned = [replace(each, block=each.block._replace(x=each.block.y, y=each.block.x)) for each in changed.launches]
    changed = replace(changed, launches=tuple(turned), steps=observation.steps)
    counting = partial(profiled, counting=_Counts)
    evidence = evidence_of(cell, observation.card, kernel, counting) if seconds else None
    before = seconds or _estimate(observation)
    after = predict(evidence).seconds if evidence else _estimate(changed)
    gain = 1 - after / before
    if gain < max(advised):
        return [*_without_exchange(several, observation)]
    alone = {_key(reason): reason.gain for reason in several}
    left = [each for each in reasons(changed, evidence, after) if _key(each) in alone]
    joint = _joint(observation, changed, gain)
    larger = [each for each in left if min(alone[_key(each)], each.next_gain * (1 - gain)) > gain]
    first = [replace(each, gain=alone[_key(each)], next_gain=alone[_key(each)]) for each in larger]
    return [*first, joint, *(replace(each, gain=alone[_key(each)]) for each in left if each not in larger)]


def _key(reason: Reason) -> tuple[str, Line]:
    """Return what a reason has in both kernels."""
    return reason.kind, reason.line


def _without_exchange(several: list[Reason], observation: Observation) -> Iterator[Reason]:
    """Yield reasons of which none advises to exchange x and y."""
    others = dict[tuple[Line, str], str]()
    for launch in observation.launches:
        for site in launch.sites:
            if site.place.space == "global" and (reason := uncoalesced_site(site, observation, launch)):
                others[reason.line, reason.sentence] = advice_along(site, observation, launch)
    for each in several:
        advice = others[each.line, each.sentence] if each.advice == EXCHANGE else each.advice
        yield replace(each, advice=advice)


def _estimate(observation: Observation) -> float:
    """Return the estimated cycles of the launches."""
    return sum(each.time for each in launch_times(observation, None))


def _can_exchange(observation: Observation) -> bool:
    """Return whether there is one launch, whose warps can be formed along y without another meaning."""
    launches = observation.launches
    matrix = any(each.tensor_instructions or each.bulk_loads for launch in launches for each in launch.lines.values())
    return len(launches) == 1 and launches[0].block.y > 1 and not matrix


def _joint(observation: Observation, changed: Observation, gain: float) -> Reason:
    """Return the reason of all accesses that the exchange makes cheaper, at the one that costs most."""
    after = {site.place: memory(site) for site in changed.launches[0].sites}
    saved = {site.place: memory(site) - after.get(site.place, 0.0) for site in observation.launches[0].sites}
    places = [place for place in saved if after.get(place, 0.0) <= _LESS * (saved[place] + after.get(place, 0.0))]
    first = max(places, key=saved.__getitem__)
    others = tuple(sorted({place.line for place in places} - {first.line}))
    sentence = "threadIdx.x selects the row of C, so that neighbouring threads access elements of different rows"
    return Reason(
        "uncoalesced", sentence, EXCHANGE, first.line, first.column, gain=gain, next_gain=gain, other_lines=others
    )

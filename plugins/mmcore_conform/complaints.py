"""Which aspect of conformance a violation, a finding or an error speaks of."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from mmcore_conform.trial import FAILED, PASSED, Trial

_ASPECTS = {
    "out-of-bounds-write": "bounds",
    "out-of-bounds-read": "bounds",
    "illegal-address": "bounds",
    "input-overwritten": "inputs",
    "uninitialized-read": "repeatable",
    "unwritten-output": "written",
    "misaligned": "hazards",
    "shared-race": "hazards",
    "global-race": "hazards",
    "divergent-barrier": "hazards",
    "overwritten-output": "hazards",
}


@dataclass(frozen=True)
class Complaint:
    """Something that is wrong with one case.

    Attributes:
        aspect: the aspect that it speaks of.
        reason: what is wrong, in one sentence.
        reproduce: the command that shows it.
    """

    aspect: str
    reason: str
    reproduce: str


def aspect_of(kind: str, array: str | None, over_read: Collection[str]) -> str:
    """The aspect that a kind of violation or finding speaks of.

    A read outside a matrix of which an over-read is declared says that too little is declared; of any other it is a
    stray read like every other. Reading what nobody wrote makes the result depend on what memory held before. A
    violation of no other kind (a timeout, a failed launch) leaves no product.

    Args:
        kind: as in :class:`~mmcore.devices.violations.Violation` and :class:`~mmcore_emulator.sanitizer.protocols.Finding`.
        array: what it concerns.
        over_read: the matrices of which an over-read is declared.
    """
    if kind == "out-of-bounds-read" and array in over_read:
        return "over-read"
    return _ASPECTS.get(kind, "product")


def trials(what: str, tried: Iterable[str], complaints: Iterable[Complaint], usually: str) -> list[Trial]:
    """One trial for each aspect that was tried or complained of: the first complaint is its reason.

    Args:
        what: the case.
        tried: the aspects.
        complaints: what was found.
        usually: the command of an aspect of which nobody complains.
    """
    first: dict[str, Complaint] = {}
    for complaint in complaints:
        first.setdefault(complaint.aspect, complaint)
    return [
        Trial(aspect, what, FAILED, first[aspect].reason, first[aspect].reproduce)
        if aspect in first
        else Trial(aspect, what, PASSED, "", usually)
        for aspect in dict.fromkeys((*tried, *first))
    ]

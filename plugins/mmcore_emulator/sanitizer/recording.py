"""Findings as they come up, one for each thing that a line does wrong, with a count of the threads that do it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mmcore_emulator.sanitizer.protocols import Finding
from mmcore_emulator.lanes import Batch
from mmcore_emulator.machine import place
from mmcore_emulator.ptx import Instruction


@dataclass
class _Record:
    """A finding, and the lanes of the running batch that have been seen to do it."""

    finding: Finding
    lanes: NDArray[np.bool_]


class Recorder:
    """Collects findings, launch after launch and batch after batch."""

    def __init__(self) -> None:
        self._records: dict[tuple[Any, ...], _Record] = {}

    @property
    def findings(self) -> list[Finding]:
        """In the order in which they came up."""
        return [record.finding for record in self._records.values()]

    def begin(self, batch: Batch) -> None:
        """Threads of another batch."""
        self._batch = batch
        for record in self._records.values():
            record.lanes = np.zeros(batch.shape, np.bool_)

    def end(self) -> None:
        """The batch's threads will do no more."""
        for record in self._records.values():
            seen = int(record.lanes.sum())
            record.finding = replace(record.finding, count=record.finding.count + seen)

    def record(
        self,
        kind: str,
        array: str | None,
        at: Instruction | None,
        lanes: NDArray[np.bool_],
        text: Callable[[tuple[int, ...]], str],
        *,
        other: Instruction | None = None,
    ) -> None:
        """Note what lanes do.

        Args:
            kind, array: as in :class:`~mmcore_emulator.sanitizer.protocols.Finding`.
            at: the instruction.
            lanes: those that do it, as lanes.
            text: what one of them does, by its index along the six axes; the message says which thread it is.
            other: an instruction that has part in it; each line of these makes a finding of its own.
        """
        source = (at.source or None) if at is not None else None
        line = (at.line or None) if at is not None else None
        key = (kind, array, source, line, other and (other.source, other.line))
        if key not in self._records:
            first = self._batch.first_of(lanes)
            block, thread = self._batch.position(first)
            message = f"{place(block, thread)} {text(first)}"
            finding = Finding(kind, array, source, line, block, thread, 0, message)
            self._records[key] = _Record(finding, np.zeros(self._batch.shape, np.bool_))
        self._records[key].lanes |= lanes

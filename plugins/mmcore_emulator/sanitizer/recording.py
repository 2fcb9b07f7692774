"""Violations as they come up, one for each thing that a line does wrong, with a count of the threads that do it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mmcore.devices.violations import Violation
from mmcore_emulator.lanes import Batch
from mmcore_emulator.launch_run import place, place_in_source
from mmcore_emulator.observer import LaneViolation


@dataclass
class _Record:
    """A violation, how many threads of earlier batches commit it, and the lanes of the running batch that do."""

    violation: Violation
    count: int
    lanes: NDArray[np.bool_]


class Recorder:
    """Collects violations, launch after launch and batch after batch."""

    def __init__(self) -> None:
        self._records: dict[tuple[Any, ...], _Record] = {}

    @property
    def violations(self) -> list[Violation]:
        """In the order in which they came up."""
        return [replace(record.violation, count=record.count) for record in self._records.values()]

    def begin(self, batch: Batch) -> None:
        """Threads of another batch."""
        self._batch = batch
        for record in self._records.values():
            record.lanes = np.zeros(batch.shape, np.bool_)

    def end(self) -> None:
        """The batch's threads will do no more."""
        for record in self._records.values():
            record.count += int(record.lanes.sum())

    def record(self, found: LaneViolation) -> None:
        """Note what lanes of the batch do."""
        source, line = place_in_source(found.at)
        key = (found.kind, found.array, source, line, found.other and (found.other.source, found.other.line))
        if key not in self._records:
            first = self._batch.first_of(found.lanes)
            block, thread = self._batch.position(first)
            message = f"{place(block, thread)} {found.text(first)}"
            violation = Violation(found.kind, message, found.array, source, line, block, thread)
            self._records[key] = _Record(violation, 0, np.zeros(self._batch.shape, np.bool_))
        self._records[key].lanes |= found.lanes

"""A recorder of violations: one for each kind, array and line, with the number of threads that it concerns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from mmcore_emulator.executor.kernel_launch import place, place_in_source
from mmcore_emulator.machine.accesses import LaneViolation
from mmcore_emulator.machine.lanes import Batch
from mmcore_emulator.machine.violations import Violation
from mmcore_emulator.sanitizer.numbering import Flags

_Line: TypeAlias = tuple[str | None, int | None]
_Key: TypeAlias = tuple[str, str | None, _Line, _Line | None]


class Recorder:
    """The violations of all launches and batches."""

    def __init__(self) -> None:
        self._violations: dict[_Key, Violation] = {}
        self._counts: Counter[_Key] = Counter()

    @property
    def violations(self) -> list[Violation]:
        """The violations in the order in which they were found."""
        return [replace(violation, count=self._counts[key]) for key, violation in self._violations.items()]

    def add(self, violations: Iterable[Violation]) -> None:
        """Record violations that do not belong to threads."""
        for violation in violations:
            key = (violation.kind, violation.array, (None, None), None)
            self._violations[key], self._counts[key] = violation, 1

    def of(self, batch: Batch) -> BatchRecorder:
        """Return a recorder for the threads of a batch."""
        return BatchRecorder(batch, self._violations, self._counts)


class BatchRecorder:
    """A recorder of a batch, which counts each thread once when the batch has ended."""

    def __init__(self, batch: Batch, violations: dict[_Key, Violation], counts: Counter[_Key]) -> None:
        self._batch, self._violations, self._counts = batch, violations, counts
        self._lanes: dict[_Key, Flags] = {}

    def record(self, found: LaneViolation) -> None:
        """Record what lanes of the batch do."""
        line, other = place_in_source(found.at), None if found.other is None else place_in_source(found.other)
        key = found.kind, found.array, line, other
        if key not in self._violations:
            first = self._batch.first_of(found.lanes)
            block, thread = self._batch.position(first)
            message = f"{place(block, thread)} {found.text(first)}"
            self._violations[key] = Violation(found.kind, message, found.array, *line, block, thread)
        self._lanes[key] = self._lanes.get(key, np.zeros(self._batch.shape, np.bool_)) | found.lanes

    def end(self) -> None:
        """Count the threads of each violation."""
        for key, lanes in self._lanes.items():
            self._counts[key] += int(lanes.sum())

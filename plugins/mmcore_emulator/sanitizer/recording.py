"""Violations as they come up, one for each thing that a line does wrong, with a count of the threads that do it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mmcore_emulator.executor.kernel_launch import place, place_in_source
from mmcore_emulator.machine.accesses import LaneViolation
from mmcore_emulator.machine.lanes import Batch
from mmcore_emulator.machine.violations import Violation


class Recorder:
    """Collects violations, launch after launch and batch after batch."""

    def __init__(self) -> None:
        self._violations: dict[tuple[Any, ...], Violation] = {}
        self._counts: Counter[tuple[Any, ...]] = Counter()

    @property
    def violations(self) -> list[Violation]:
        """In the order in which they came up."""
        return [replace(violation, count=self._counts[key]) for key, violation in self._violations.items()]

    def add(self, violations: Iterable[Violation]) -> None:
        """Note what is no single thread's doing."""
        for each in violations:
            key = (each.kind, each.array)
            self._violations[key], self._counts[key] = each, 1

    def of(self, batch: Batch) -> BatchRecorder:
        """A recorder of what the threads of a batch do."""
        return BatchRecorder(batch, self._violations, self._counts)


class BatchRecorder:
    """Notes violations of the threads of a batch, and counts each thread once when the batch has ended."""

    def __init__(self, batch: Batch, violations: dict[tuple[Any, ...], Violation], counts: Counter[Any]) -> None:
        self._batch, self._violations, self._counts = batch, violations, counts
        self._lanes: dict[tuple[Any, ...], NDArray[np.bool_]] = {}

    def record(self, found: LaneViolation) -> None:
        """Note what lanes of the batch do."""
        source, line = place_in_source(found.at)
        key = (found.kind, found.array, source, line, found.other and (found.other.source, found.other.line))
        if key not in self._violations:
            first = self._batch.first_of(found.lanes)
            block, thread = self._batch.position(first)
            message = f"{place(block, thread)} {found.text(first)}"
            self._violations[key] = Violation(found.kind, message, found.array, source, line, block, thread)
        self._lanes[key] = self._lanes.get(key, np.zeros(self._batch.shape, np.bool_)) | found.lanes

    def end(self) -> None:
        """The batch's threads will do no more."""
        for key, lanes in self._lanes.items():
            self._counts[key] += int(lanes.sum())

"""A recorder of violations: one for each kind, array and line, with the number of threads, and its severity."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Protocol, TypeAlias, TypeVar

import numpy as np

from mmcore_emulator.executor.kernel_launch import Key, key_of, place, place_in_source, violation_of
from mmcore_emulator.executor.translation.layout import Layout
from mmcore_emulator.machine.asynchronous.events import BLOCK_BYTES
from mmcore_emulator.machine.lanes import Batch
from mmcore_emulator.machine.limits import WARP
from mmcore_emulator.machine.observer import LaneViolation, always
from mmcore_emulator.machine.violations import Violation
from mmcore_emulator.numerics.types import Flags, Integers
from mmcore_emulator.ptx.instructions import Instruction
from mmcore_emulator.sanitizer.early_waits import EarlyWaits
from mmcore_emulator.sanitizer.happens_before.numbering import LaneNumbers

Record: TypeAlias = Callable[[LaneViolation], None]
"""A function that records a violation."""
_Key: TypeAlias = tuple[Key, tuple[str | None, int | None] | None]


WARNINGS = (
    "overwritten-output",
    "skipped-barrier",
    "split-barrier",
    "phase-waited-twice",
    "unawaited-copy",
    "unfenced-mbarrier",
    "misplaced-array",
    "benign-race",
    "missing-fence",
    "early-refill",
    "unfenced-copy",
    "copy-outside",
    "lost-store",
    "unread-input",
    "ignored-setmaxnreg",
)
"""Kinds of violations that are warnings."""


_FIRST = ("early-wait", "phase-waited-twice", "descriptor-mismatch", "stale-read")  # kinds from which others follow
_OF_PHASES = ("deadlock", "shared-race", "unfinished-copy", "overwritten-in-flight", "mbarrier-misuse")
_STOPS = ("deadlock", "assertion", "trap")  # kinds after which threads do not continue
_UNFINISHED = ("unawaited-copy", "unawaited-store", "unwritten-output")  # kinds that follow from these


class Recorder:
    """The violations of all launches and batches: of each key the first one, and the number of threads.

    The first race of several warps replaces a race within a warp, since a barrier of the warp would not order it.
    """

    def __init__(self) -> None:
        self.first: dict[_Key, Violation] = {}
        self.of_several_warps = set[_Key]()
        self.counts: Counter[_Key] = Counter()

    @property
    def violations(self) -> list[Violation]:
        """The violations in the order in which they were found."""
        return [replace(violation, count=self.counts[key]) for key, violation in self.first.items()]

    def add(self, violations: Iterable[Violation]) -> None:
        """Record violations that do not belong to threads."""
        for violation in violations:
            key = (violation.kind, violation.array, (None, None), ()), None
            self.first[key], self.counts[key] = violation, 1


class BatchRecorder:
    """A recorder of a batch, which counts each thread once when the batch has ended."""

    def __init__(self, batch: Batch, recorder: Recorder, waits: EarlyWaits) -> None:
        self._batch, self._recorder, self._waits = batch, recorder, waits
        self._lanes: dict[_Key, Flags] = {}

    def record(self, violation: LaneViolation) -> None:
        """Record what lanes of the batch do, and the early waits that explain it, which have the hint then."""
        waits = [*self._waits.explaining(violation)]
        explained = bool(waits) and bool(np.logical_or.reduce([each.lanes for each in waits])[violation.lanes].all())
        for each in (*waits, replace(violation, hint=always("")) if explained else violation):
            self._add(each)

    def _add(self, violation: LaneViolation) -> None:
        other = None if violation.other is None else place_in_source(violation.other)
        key, recorder = (key_of(violation), other), self._recorder
        is_wider = violation.of_several_warps and key not in recorder.of_several_warps
        if is_wider or key not in recorder.first:
            recorder.first[key] = violation_of(violation, self._batch)
        if is_wider:
            recorder.of_several_warps.add(key)
        self._lanes[key] = self._lanes.get(key, np.zeros(self._batch.shape, np.bool_)) | violation.lanes

    def end(self) -> None:
        """Count the threads of each violation."""
        for key, lanes in self._lanes.items():
            self._recorder.counts[key] += int(lanes.sum())


class SharedReport:
    """Reports of hazards in the shared memory of a batch's blocks."""

    def __init__(self, numbers: LaneNumbers, layout: Layout, record: Record) -> None:
        self._numbers, self._layout, self._record = numbers, layout, record

    def add(
        self,
        kind: str,
        at: Instruction,
        lanes: Integers | list[int],
        text: str,
        other: Instruction | None = None,
        hint: str = "",
    ) -> None:
        """Report what lanes do in an instruction, and the other instruction that is involved."""
        batch = self._numbers.batch
        marked = np.zeros(batch.lanes, np.bool_)
        marked[lanes] = True
        where = f" ({line[1:]})" if (line := at_line(other)) else ""

        def of_lane(lane: tuple[int, ...]) -> str:
            warp = int(self._numbers.thread_in_block[np.ravel_multi_index(lane, batch.shape)]) // WARP
            return f"(warp {warp}) {text}{where}"

        self._record(LaneViolation(kind, "shared", at, marked.reshape(batch.shape), of_lane, other, always(hint)))

    def name(self, word: int) -> str:
        """Return the array that a word is in, as the source calls it, and the byte in it."""
        inside = word * 4 % BLOCK_BYTES
        bases = [*(base for base, _ in self._layout.shared), self._layout.dynamic_shared]
        before = [(base & (BLOCK_BYTES - 1), base) for base in bases if base & (BLOCK_BYTES - 1) <= inside]
        begin, base = max(before, default=(0, 0))
        return f"{self._layout.shared_name(base) or 'shared memory'} (byte {inside - begin})"

    def thread_name(self, lane: int) -> str:
        """Return the indices of a lane's thread and block, in words."""
        return place(*self._numbers.batch.of_number(int(self._numbers.thread[lane]) - 1))

    def block_name(self, number: int) -> str:
        """Return the index of a block of the batch."""
        lane = int(np.flatnonzero(self._numbers.block_in_batch == number)[0])
        block, _ = self._numbers.batch.of_number(int(self._numbers.thread[lane]) - 1)
        return f"({', '.join(map(str, block if block.z else block[:2]))})"


def at_line(at: Instruction | None) -> str:
    """Return the place of an instruction as the end of a clause; an empty string if it has no line."""
    return f" at {at.place}" if at is not None and at.line else ""


class _Violation(Protocol):
    @property
    def kind(self) -> str: ...
    @property
    def source(self) -> str | None: ...
    @property
    def line(self) -> int | None: ...
    @property
    def array(self) -> str | None: ...
    @property
    def hint(self) -> str: ...


V = TypeVar("V", bound=_Violation)


def hazards_and_warnings(violations: Iterable[V]) -> tuple[tuple[V, ...], tuple[V, ...]]:
    """Return the hazards and the warnings among violations, each sorted by source and line.

    Waits that ended too early, wrong descriptors and stale reads come first, because other hazards follow from them.
    Deadlocks come last, because they follow from another hazard more often than they cause one; those with a hint come
    before the others. A phase waited for twice is a hazard beside one that may follow from it.
    """

    def rank(each: V) -> tuple[int, bool, str, int]:
        deadlock = each.kind == "deadlock"
        return deadlock - (each.kind in _FIRST), deadlock and not each.hint, each.source or "~", each.line or 0

    ordered = sorted(violations, key=rank)
    if any(each.kind in _STOPS for each in ordered):
        ordered = [each for each in ordered if each.kind not in _UNFINISHED]
    follow = any(each.kind in _OF_PHASES for each in ordered)
    warnings = {kind for kind in WARNINGS if kind != "phase-waited-twice" or not follow}
    hazards = tuple(each for each in ordered if each.kind not in warnings)
    # Racing writes of equal values are no news where others differ.
    races = {(each.array, each.source, each.line) for each in hazards if each.kind.endswith("-race")}
    shown = (
        each for each in ordered if each.kind != "benign-race" or (each.array, each.source, each.line) not in races
    )
    return hazards, tuple(each for each in shown if each.kind in warnings)

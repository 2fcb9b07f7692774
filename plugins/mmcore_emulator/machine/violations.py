"""Violations and hazards of a launch, and misuse of an instruction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from mmcore_emulator.machine.limits import Dim3
from mmcore_emulator.numerics.types import Flags


@dataclass(frozen=True)
class Violation:
    """A violation of a rule by a launch.

    Attributes:
        kind: "out-of-bounds-read", "out-of-bounds-write", "misaligned", "uninitialized-read", "divergent-barrier",
            "deadlock", "assertion", "trap", "illegal-branch", "illegal-address", "mbarrier-misuse" or "timeout"; the
            sanitizer has further kinds.
        message: one sentence on what happened.
        array: label of the array or memory, such as "C" or "shared".
        source: name of the source file.
        line: line of that file.
        block: index of the first block that did it.
        thread: index of the first thread in that block.
        fatal: true if the launch was stopped.
        count: number of threads, or elements of an array, concerned.
        column: column of the line, from 1.
        callers: file and line of each call that leads to the line, the innermost first.
        hint: a change that may help, as a clause.
    """

    kind: str
    message: str
    array: str | None = None
    source: str | None = None
    line: int | None = None
    block: Dim3 | None = None
    thread: Dim3 | None = None
    fatal: bool = False
    count: int | None = None
    column: int | None = None
    callers: tuple[tuple[str, int], ...] = ()
    hint: str = ""

    def __str__(self) -> str:
        """Return the violation on one line: kind, place in the source, message and hint."""
        place = f" at {self.source}:{self.line}" if self.source and self.line else ""
        called = "".join(f", called at {source}:{line}" for source, line in self.callers)
        hint = f"; try {self.hint}" if self.hint else ""
        return f"{self.kind}{place}{called}: {self.message}{hint}"


class Problem(NamedTuple):
    """Lanes that misuse an instruction, as elements of the checked values, and a clause on what they do."""

    lanes: Flags
    clause: str


def first_of(problems: list[Problem]) -> list[Problem]:
    """Return the first problem of each lane."""
    real: list[Problem] = []
    for lanes, clause in problems:
        for earlier in real:
            lanes = lanes & ~earlier.lanes
        if lanes.any():
            real.append(Problem(lanes, clause))
    return real

"""Violations: accesses out of bounds, races and other things that a kernel must not do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from mmcore.kernel.geometry import Dim3


@dataclass(frozen=True)
class Violation:
    """One thing a launch did wrong; attributes that the device does not know are None.

    Attributes:
        kind: "out-of-bounds-read", "out-of-bounds-write", "misaligned", "uninitialized-read", "divergent-barrier",
            "deadlock", "assertion", "trap", "illegal-branch", "input-overwritten", "illegal-address", "launch-failure",
            "timeout", "process-death" or "unrepeatable"; a sanitizer has further kinds.
        message: one sentence on what happened.
        array: the matrix or memory concerned ("A", "B", "C", "shared", a workspace's or variable's name).
        source, line: name of the .cu file, and the line in it.
        block, thread: indices of the first block that did it, and of the first thread in that block.
        fatal: whether the device's memory could not be read afterwards.
        count: how many threads, or elements of a matrix, are concerned.
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

    def to_json(self) -> dict[str, Any]:
        """Return the violation as JSON-ready values, indices as [x, y, z]."""
        indices = {"block": self.block and list(self.block), "thread": self.thread and list(self.thread)}
        return {**asdict(self), **indices, "callers": [list(caller) for caller in self.callers]}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Violation:
        """Return the violation that :meth:`to_json` wrote."""
        indices = {name: values[name] and Dim3(*values[name]) for name in ("block", "thread")}
        callers = tuple((source, line) for source, line in values.get("callers", ()))
        return cls(**{**values, **indices, "callers": callers})

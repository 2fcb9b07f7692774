"""What a check finds, and what a device must be able to do to look for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol, runtime_checkable

from mmcore.devices.base import Buffer, BoundLaunch, LoadedModule
from mmcore.kernel.geometry import Dim3

KINDS = (
    "out-of-bounds-read",
    "out-of-bounds-write",
    "misaligned",
    "uninitialized-read",
    "shared-race",
    "global-race",
    "divergent-barrier",
    "unwritten-output",
    "overwritten-output",
)
"""Every kind of finding."""


@dataclass(frozen=True)
class Finding:
    """One thing that a line of source does wrong, by however many threads.

    Attributes:
        kind: one of :data:`KINDS`.
        array: what it concerns: "A", "B", "C", "shared", a workspace's or variable's name; None for a barrier or a wild
            address.
        source: name of the .cu file; None where no line is to blame.
        line: line in it, of the later one of two accesses that race.
        block: index of the first block that was seen to do it.
        thread: index of the first such thread in that block.
        count: how many threads do it; of "unwritten-output" and of NaN in C, how many elements.
        message: one sentence on what happens and what that means.
    """

    kind: str
    array: str | None
    source: str | None
    line: int | None
    block: Dim3 | None
    thread: Dim3 | None
    count: int
    message: str

    def to_json(self) -> dict[str, Any]:
        """The finding as JSON-ready values, indices as [x, y, z]."""
        values = asdict(self)
        for name in ("block", "thread"):
            values[name] = values[name] and list(values[name])
        return values


@dataclass(frozen=True)
class Output:
    """Where the product is to be written.

    Attributes:
        buffer: C's memory.
        rows, columns: its extent.
        leading: elements from one row to the next.
        itemsize: bytes of an element.
    """

    buffer: Buffer
    rows: int
    columns: int
    leading: int
    itemsize: int


@runtime_checkable
class CheckingDevice(Protocol):
    """A device that looks for hazards, besides being a :class:`~mmcore.devices.base.Device`."""

    def check_launches(self, program: LoadedModule, calls: Sequence[BoundLaunch], output: Output) -> list[Finding]:
        """Make the launches in order and look for hazards.

        Memory counts as written where the host has uploaded something, or a launch has stored something. The room that
        a launch rule declares to be read past a matrix may be read all the same.

        Args:
            program: code that this device loaded.
            calls: the launches.
            output: all of which must be written, and nothing of it in vain.
        """
        ...

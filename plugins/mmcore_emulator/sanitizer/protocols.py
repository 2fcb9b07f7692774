"""What a device must be able to do to look for what a kernel does that it must not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from mmcore.devices.base import BoundLaunch, Buffer, LoadedModule
from mmcore.devices.violations import Violation

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
"""Every kind of violation that the sanitizer reports."""


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
    """A device with a sanitizer, besides being a :class:`~mmcore.devices.base.Device`."""

    def check_launches(self, module: LoadedModule, calls: Sequence[BoundLaunch], output: Output) -> list[Violation]:
        """Make the launches in order and look for hazards.

        Memory counts as written where the host has uploaded something, or a launch has stored something. The room that
        a launch rule declares to be read past a matrix may be read all the same.

        Args:
            module: code that this device loaded.
            calls: the launches.
            output: all of which must be written, and nothing of it in vain.

        Returns:
            One violation for each kind, array and line, with how many threads, or elements of the output, it concerns.

        Raises:
            TimeLimit: the device's deadline has passed.
        """
        ...

    def bytes_read_past(self, module: LoadedModule, calls: Sequence[BoundLaunch]) -> Mapping[str, int]:
        """Make the launches in order and say how many bytes past the end of their buffers they read.

        Returns:
            By label, up to the end of the furthest read that stays within what may be read there; what goes further
            is a violation of the launch. A buffer past whose end nobody reads is left out.
        """
        ...

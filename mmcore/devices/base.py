"""What a device is: the protocol that the CUDA device, the emulator and third parties' devices implement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mmcore.compile.module import CompiledFunction, CompiledModule
from mmcore.deadline import Deadline
from mmcore.devices.timer import Timer
from mmcore.devices.violations import Violation
from mmcore.kernel.arguments import TensorMap
from mmcore.kernel.launch import Launch
from mmcore.kernel.properties import DeviceProperties
from mmcore.planning.peaks import Peaks

HostArray: TypeAlias = NDArray[Any]


class Buffer(Protocol):
    """Device memory holding one matrix or workspace, with forbidden ground on either side."""

    @property
    def label(self) -> str:
        """The name that violations use: "A", "B", "C" or a workspace's."""
        ...

    @property
    def address(self) -> int:
        """Device address of the first element."""
        ...

    def upload(self, data: HostArray) -> None:
        """Copy a contiguous host array to the start of the buffer."""
        ...

    def download(self, out: HostArray) -> None:
        """Copy the start of the buffer into a contiguous host array."""
        ...

    def guard_zone_violations(self) -> list[Violation]:
        """What was written outside the buffer, found afterwards (nothing where the device stops such writes)."""
        ...

    def close(self) -> None:
        """Free the memory."""
        ...


@dataclass(frozen=True)
class MatrixMap:
    """A :class:`~mmcore.TensorMap` bound to the buffer of its matrix."""

    map: TensorMap
    buffer: Buffer
    rows: int
    columns: int
    leading: int
    dtype: str


@dataclass(frozen=True)
class BoundLaunch:
    """One launch with its arguments bound: numpy scalars by value, buffers by address."""

    function: CompiledFunction
    launch: Launch
    arguments: tuple[Buffer | MatrixMap | np.generic, ...]


@dataclass(frozen=True)
class Copy:
    """Bytes to be copied from the start of one buffer to the start of another."""

    source: Buffer
    target: Buffer
    nbytes: int


Refresh: TypeAlias = Sequence[Copy]


class LoadedModule(Protocol):
    """CompiledModule loaded onto a device."""

    def run(self, calls: Sequence[BoundLaunch]) -> list[Violation]:
        """Make the launches in order and wait for them; return what they did wrong."""
        ...

    def timer(
        self, calls: Sequence[BoundLaunch], *, cold: bool = False, refresh: Sequence[Refresh] = ()
    ) -> Timer | None:
        """Times the launches, copies excluded; None on a device without device time.

        Args:
            calls: the launches, which count as one.
            cold: whether the caches are emptied before each.
            refresh: copies to make before each, taking turns. They may be timed too, so that how long they take is
                known only from the same without ``calls``.
        """
        ...

    def end_to_end_timer(
        self,
        calls: Sequence[BoundLaunch],
        uploads: Sequence[tuple[Buffer, HostArray]],
        downloads: Sequence[tuple[Buffer, HostArray]],
        *,
        pinned: bool,
    ) -> Timer | None:
        """Times copies in, launches and copies out, which count as one; None on a device without device time."""
        ...

    def close(self) -> None:
        """Unload the code."""
        ...


class Device(Protocol):
    """Something that runs compiled kernels."""

    @property
    def name(self) -> str:
        """What the user calls it: "cuda:0", "emulator"."""
        ...

    @property
    def identity(self) -> str:
        """What this very device is known by on this machine, in every process: its name where that is enough."""
        ...

    @property
    def description(self) -> str:
        """What it is: the GPU's product name, for instance."""
        ...

    @property
    def supports_timing(self) -> bool:
        """Whether it measures device time."""
        ...

    @property
    def facts(self) -> Mapping[str, Any]:
        """What results are filed with, JSON-ready: what the device is and what drives it, never which one it is."""
        ...

    @property
    def peaks(self) -> Peaks | None:
        """The most it can do; None where that is not known, or means nothing."""
        ...

    @property
    def architecture(self) -> str:
        """The architecture to compile for, without prefix: "90"."""
        ...

    @property
    def properties(self) -> DeviceProperties:
        """What launch rules are told of it, and what it allows a launch to ask for."""
        ...

    @property
    def deadline(self) -> Deadline:
        """When everything that is asked for must be done.

        A kernel that is still running then is stopped, and its run has a violation of kind "timeout". A device that
        cannot stop a kernel ignores this: it runs in a worker process, which is ended.
        """
        ...

    def allocate(self, label: str, nbytes: int, over_read_bytes: int = 0) -> Buffer:
        """Memory for a matrix, filled with NaN, then room that may be read past its end but not written.

        Raises:
            DeviceError: the memory cannot be had.
        """
        ...

    def borrow(self, label: str, array: object) -> tuple[Buffer, tuple[int, ...], tuple[int, ...] | None, str]:
        """The caller's own device memory, not copied: (buffer, shape, strides in elements or None, dtype name).

        Args:
            label: what violations call it.
            array: anything with DLPack or ``__cuda_array_interface__``.

        Raises:
            InvalidProblem: the array does not live on this device.
        """
        ...

    def load(self, code: CompiledModule) -> LoadedModule:
        """Make compiled code ready to launch.

        Raises:
            DeviceError: the device rejects the code.
        """
        ...

    def close(self) -> None:
        """Release what the device holds."""
        ...


class DeviceProvider(Protocol):
    """Finds and opens the devices of one kind; what a plugin's ``mmcore_devices`` returns."""

    @property
    def name(self) -> str:
        """The kind's name, as in ``--device NAME`` or ``--device NAME:INDEX``."""
        ...

    @property
    def supports_timing(self) -> bool:
        """Whether its devices measure device time; ``--device auto`` prefers those that do."""
        ...

    def count(self) -> int:
        """How many devices there are; 0 when there are none or they cannot be used."""
        ...

    def findings(self) -> Mapping[str, str]:
        """What was found on this machine, and what to do about what was not, for ``mmcore doctor``."""
        ...

    def open(self, index: int) -> Device:
        """Open device ``index`` (from 0).

        Raises:
            NoDevice: there is none of that index; it says what there is and why.
        """
        ...

"""The protocols that devices implement."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mmcore.compile.compiled_module import CompiledFunction, CompiledModule
from mmcore.deadline import Deadline
from mmcore.devices.violations import Violation
from mmcore.kernel.arguments import TensorMap
from mmcore.kernel.launch import Launch
from mmcore.kernel.problem import DType, Problem
from mmcore.kernel.properties import DeviceProperties
from mmcore.planning.peaks import Peaks

HostArray: TypeAlias = NDArray[Any]


class Buffer(Protocol):
    """Device memory holding one matrix or workspace, between two guard zones.

    Attributes:
        label: the name that violations use: "A", "B", "C" or a workspace's.
        address: the device address of the first element.
    """

    @property
    def label(self) -> str: ...
    @property
    def address(self) -> int: ...

    def upload(self, data: HostArray) -> None:
        """Copy a contiguous host array to the start of the buffer."""

    def download(self, out: HostArray) -> None:
        """Copy the start of the buffer into a contiguous host array."""

    def guard_zone_violations(self) -> list[Violation]:
        """Return the writes to the guard zones; none if the device stops such writes."""

    def close(self) -> None: ...


@dataclass(frozen=True)
class MatrixMap:
    """A :class:`~mmcore.TensorMap` bound to the buffer of its matrix; extents and strides in elements."""

    map: TensorMap
    buffer: Buffer
    extents: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: str


BoundArgument: TypeAlias = Buffer | MatrixMap | np.generic


@dataclass(frozen=True)
class BoundLaunch:
    """One launch with its arguments bound: numpy scalars by value, buffers by address."""

    function: CompiledFunction
    launch: Launch
    arguments: tuple[BoundArgument, ...]


@dataclass(frozen=True)
class Operand:
    """A matrix in a GPU's memory, as libraries take it; strides are elements between rows, and between columns."""

    address: int
    shape: tuple[int, int]
    strides: tuple[int, int]
    dtype: DType

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        storage = np.dtype(self.dtype.storage)
        strides = tuple(stride * storage.itemsize for stride in self.strides)
        place = {"data": (self.address, False), "shape": self.shape, "strides": strides}
        return {**place, "typestr": storage.str, "version": 3}


@dataclass(frozen=True)
class BoundCall:
    """A library call with its operands: ``enqueue`` puts it on a stream, given by its handle."""

    enqueue: Callable[[int], object]


Call: TypeAlias = BoundLaunch | BoundCall


@dataclass(frozen=True)
class Copy:
    """Bytes to be copied from the start of one buffer to the start of another."""

    source: Buffer
    target: Buffer
    nbytes: int


Refresh: TypeAlias = Sequence[Copy]
Products: TypeAlias = tuple[NDArray[np.float64], NDArray[np.float64]]
HostCopies: TypeAlias = Sequence[tuple[Buffer, HostArray]]


class LoadedModule(Protocol):
    """A compiled module on a device."""

    def run(self, calls: Sequence[Call]) -> list[Violation]:
        """Make the launches in order, wait for them, and return their violations."""

    def timer(self, calls: Sequence[Call], *, cold: bool = False, refresh: Sequence[Refresh] = ()) -> Timer | None:
        """Return a timer of the launches, which count as one; None if the device does not support timing.

        When ``cold``, the caches are emptied before each; that is not timed. The copies of ``refresh`` are made before
        each, in turns. The time may include them; then compare it with the time of the same copies without ``calls``.
        """

    def end_to_end_timer(
        self, calls: Sequence[Call], uploads: HostCopies, downloads: HostCopies, *, pinned: bool
    ) -> Timer | None:
        """Return a timer of copies in, launches and copies out, which count as one; None as for :meth:`timer`."""

    def close(self) -> None: ...


class Device(Protocol):
    """Something that runs compiled kernels.

    Attributes:
        name: the name that users type, such as "NAME:0".
        identity: the same in every process of the machine, and no other device's.
        description: the GPU's product name, for instance.
        supports_timing: whether it measures device time.
        facts: the hardware and driver that results are saved with, JSON-ready; equal for equal devices.
        peaks: the peak rates; None where they are not known, or mean nothing.
        architecture: the architecture to compile for, without prefix: "90".
        properties: the limits of a launch, and what launch rules may ask.
        deadline: the end of the time limit, which callers set; a run that reaches it has a violation of kind "timeout".
            A device that cannot stop a kernel ignores it: the worker process that it runs in is ended.
    """

    @property
    def name(self) -> str: ...
    @property
    def identity(self) -> str: ...
    @property
    def description(self) -> str: ...
    @property
    def supports_timing(self) -> bool: ...
    @property
    def facts(self) -> Mapping[str, Any]: ...
    @property
    def peaks(self) -> Peaks | None: ...
    @property
    def architecture(self) -> str: ...
    @property
    def properties(self) -> DeviceProperties: ...
    @property
    def deadline(self) -> Deadline: ...

    def allocate(self, label: str, nbytes: int, over_read_bytes: int = 0) -> Buffer:
        """Memory filled with NaN, and room behind it that may be read but not written; or :class:`DeviceError`."""

    def borrow(self, label: str, array: object) -> tuple[Buffer, tuple[int, ...], tuple[int, ...] | None, str]:
        """Return the buffer, shape, strides in elements (or None) and dtype's name of an array, which is not copied.

        It has DLPack or ``__cuda_array_interface__``. Raises InvalidProblem if it is not in this device's memory.
        """

    def products(self, problem: Problem, a: Buffer, b: Buffer) -> Products | None:
        """Return A·B and |A|·|B| in float64, m×n, of matrices on the device; None where the host computes them."""

    def load(self, compiled: CompiledModule) -> LoadedModule:
        """Load a module. Raises :class:`DeviceError` if the device rejects it."""

    def conditions(self) -> AbstractContextManager[Mapping[str, Any]]:
        """Return a context that watches the device; at its end, its value has clock, power and temperature, as JSON.

        "throttled" says that cooling or power supply held the clock back. It is empty where nothing is known.
        """

    def joules(self) -> float | None:
        """Return the energy that the device has taken since some time; None where it is not counted."""

    def close(self) -> None: ...


class DeviceProvider(Protocol):
    """Finds and opens the devices of one kind; what a plugin's ``mmcore_devices`` returns.

    Attributes:
        name: the kind's name, as in ``--device NAME`` or ``--device NAME:INDEX``.
        supports_timing: whether its devices measure device time.

    A provider may have two more attributes. ``auto_priority`` is a number: ``--device auto`` asks the providers that
    have one, the highest first. ``dlpack_type`` is DLPack's number of the kind of its memory, in which
    :func:`~mmcore.matmul` uses arrays in place.
    """

    @property
    def name(self) -> str: ...
    @property
    def supports_timing(self) -> bool: ...

    def count(self) -> int:
        """Return the number of devices that can be used."""

    def findings(self) -> Mapping[str, str]:
        """Return what this machine has, and how to install what it lacks, by topic, for ``mmcore doctor``."""

    def properties(self, index: int) -> DeviceProperties:
        """Return the properties of device ``index`` without opening it; :class:`NoDevice` as for :meth:`open`."""

    def open(self, index: int) -> Device:
        """Open device ``index`` (from 0); :class:`NoDevice`, which says what there is and why, where it is not."""


class Timer(Protocol):
    """A timer that repeats one thing on a device and measures it, without the host's launch latency.

    Attributes:
        method: how it reads the time, in a few words.
        resolution: seconds; one reading should last ten times this at least.
    """

    @property
    def method(self) -> str: ...
    @property
    def resolution(self) -> float: ...

    def seconds(self, count: int) -> float:
        """Return the device seconds of doing it ``count`` times."""

    def close(self) -> None: ...

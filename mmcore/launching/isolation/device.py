"""A device whose worker process is replaced when it dies, faults, or takes too long."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from mmcore.errors import DeviceLost, InvalidProblem, KernelFault, MmcoreError
from mmcore.launching.code import Code
from mmcore.launching.deadline import Deadline
from mmcore.launching.device import Buffer, Call, DeviceProvider, HostArray, Refresh
from mmcore.launching.faults import Fault
from mmcore.launching.isolation import worker
from mmcore.launching.isolation.process import WorkerLost, WorkerProcess
from mmcore.launching.stopwatch import Stopwatch
from mmcore.planning.limits import Limits
from mmcore.planning.peaks import Peaks


class IsolatedDevice:
    """Device ``index`` of a provider, in a worker process.

    After an error nothing is known of the state that the worker is in. What was made there is lost then, and what is
    asked for next goes to a new worker.
    """

    def __init__(self, provider: DeviceProvider, index: int) -> None:
        self._provider = provider
        self._index = index
        self.deadline = Deadline()
        self._worker = WorkerProcess()
        self._described: worker.Described = self._opened()

    @property
    def name(self) -> str:
        return self._described.name

    @property
    def identity(self) -> str:
        return self._described.identity

    @property
    def description(self) -> str:
        return self._described.description

    @property
    def keeps_time(self) -> bool:
        return self._described.keeps_time

    @property
    def facts(self) -> Mapping[str, Any]:
        return self._described.facts

    @property
    def peaks(self) -> Peaks | None:
        return self._described.peaks

    @property
    def architecture(self) -> str:
        return self._described.architecture

    @property
    def limits(self) -> Limits:
        found = self.ask(worker.limits, self._handle())
        assert isinstance(found, Limits)
        return found

    def allocate(self, label: str, nbytes: int, over_read_bytes: int = 0) -> IsolatedBuffer:
        device = self._handle()
        number, address = self.ask(worker.allocate, device, label, nbytes, over_read_bytes)
        return IsolatedBuffer(self, number, label, address)

    def borrow(self, label: str, array: object) -> tuple[Buffer, tuple[int, ...], tuple[int, ...] | None, str]:
        raise InvalidProblem(f"{label} lies in this process, and {self.name} is used from another one")

    def load(self, code: Code) -> IsolatedProgram:
        device = self._handle()
        return IsolatedProgram(self, self.ask(worker.load, device, code))

    def close(self) -> None:
        self._worker.end()

    def ask(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """What a function of the worker's returns, within the time limit.

        Raises:
            MmcoreError: what it raised, or the end of the worker; there will be a new one.
        """
        try:
            return self._worker.ask(function, *arguments, seconds=self.deadline.remaining)
        except MmcoreError:
            self._worker.end()
            raise

    def fault(self, lost: WorkerLost) -> Fault:
        """The end of the worker, as what the kernel did."""
        limit = self.deadline.limit
        message = f"the kernel had not ended after {limit:g} s" if lost.kind == "timeout" and limit else str(lost)
        return Fault(lost.kind, message, fatal=True)

    def lose(self) -> None:
        """Do without this worker from now on."""
        self._worker.end()

    def holds(self, process: WorkerProcess) -> bool:
        """Whether that worker is the one in use, and alive as far as is known."""
        return process is self._worker and process.alive

    @property
    def process(self) -> WorkerProcess:
        """The worker in use."""
        return self._worker

    def _handle(self) -> Handle:
        """The device itself, in a worker that is alive."""
        if not self._worker.alive:
            self._worker = WorkerProcess()
            self._described = self._opened()
        return Handle(self, self._described.number)

    def _opened(self) -> worker.Described:
        # Starting has a time of its own: the limit is for what kernels do.
        try:
            found = self._worker.ask(worker.open_device, self._provider, self._index, seconds=None)
        except MmcoreError:
            self._worker.end()
            raise
        assert isinstance(found, worker.Described)
        return found


class Handle:
    """Something that the worker keeps; sent to the worker, it arrives there as the thing itself."""

    def __init__(self, device: IsolatedDevice, number: int) -> None:
        self._device = device
        self._process = device.process
        self._number = number

    def __reduce__(self) -> tuple[Any, ...]:
        if not self._device.holds(self._process):
            raise DeviceLost("the process in which this was made is no more")
        return worker.kept, (self._number,)

    def ask(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """What a function of the worker's returns for this thing."""
        if not self._device.holds(self._process):
            raise DeviceLost("the process in which this was made is no more")
        return self._device.ask(function, self, *arguments)

    def close(self) -> None:
        """Let go of it, if its worker still lives."""
        if self._device.holds(self._process):
            self._device.ask(worker.close, self, self._number)


class IsolatedBuffer(Handle):
    """A buffer in the worker."""

    def __init__(self, device: IsolatedDevice, number: int, label: str, address: int) -> None:
        super().__init__(device, number)
        self._label = label
        self._address = address

    @property
    def label(self) -> str:
        return self._label

    @property
    def address(self) -> int:
        return self._address

    def upload(self, data: HostArray) -> None:
        self.ask(worker.upload, data)

    def download(self, out: HostArray) -> None:
        out.reshape(-1).view(np.uint8)[:] = self.ask(worker.download, out.nbytes)

    def trespasses(self) -> list[Fault]:
        found = self.ask(worker.trespasses)
        assert isinstance(found, list)
        return found


class IsolatedProgram(Handle):
    """Code loaded in the worker."""

    def run(self, calls: Sequence[Call]) -> list[Fault]:
        try:
            faults = self.ask(worker.run, calls)
        except WorkerLost as lost:
            return [self._device.fault(lost)]
        assert isinstance(faults, list)
        if any(fault.fatal for fault in faults):
            self._device.lose()
        return faults

    def stopwatch(
        self, calls: Sequence[Call], *, cold: bool = False, refresh: Sequence[Refresh] = ()
    ) -> Stopwatch | None:
        return self._stopwatch(worker.stopwatch, calls, cold, refresh)

    def global_stopwatch(
        self,
        calls: Sequence[Call],
        uploads: Sequence[tuple[Buffer, HostArray]],
        downloads: Sequence[tuple[Buffer, HostArray]],
        *,
        pinned: bool,
    ) -> Stopwatch | None:
        return self._stopwatch(worker.global_stopwatch, calls, uploads, downloads, pinned)

    def _stopwatch(self, function: Callable[..., Any], *arguments: Any) -> Stopwatch | None:
        try:
            found = self.ask(function, *arguments)
        except WorkerLost as lost:
            raise KernelFault(f"launched to be timed, {self._device.fault(lost)}") from None
        return None if found is None else IsolatedStopwatch(self._device, *found)


class IsolatedStopwatch(Handle):
    """A stopwatch in the worker: the way to it takes time of this process, and none of the device's."""

    def __init__(self, device: IsolatedDevice, number: int, method: str, grain: float) -> None:
        super().__init__(device, number)
        self.method = method
        self.grain = grain

    def seconds(self, count: int) -> float:
        try:
            return float(self.ask(worker.seconds, count))
        except WorkerLost as lost:
            raise KernelFault(f"launched to be timed, {self._device.fault(lost)}") from None

"""The engine ``processes``: a worker process and a thread for each card of this machine."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor

from mmcore.errors import MmcoreError
from mmcore_engines.device_worker import DeviceWorker
from mmcore_engines.engine import Request


class LocalWorker:
    """A worker for a device of this machine."""

    def __init__(self, name: str, device: str) -> None:
        self.name = name
        self._device_worker = DeviceWorker(device)
        self._thread = ThreadPoolExecutor(1, name)

    def submit(self, request: bytes) -> Future[bytes]:
        return self._thread.submit(self._device_worker.answer, request)

    def end(self) -> None:
        self._device_worker.end()
        self._thread.shutdown(wait=False, cancel_futures=True)


class Processes:
    """An engine for all cards of this machine, or for the named ones.

    A device that does not support timing may be named several times.
    """

    local = True

    def __init__(self, request: Request) -> None:
        if request.address:
            raise MmcoreError(f"the engine 'processes' is this machine's and has no address, such as {request.address}")
        devices = request.local_devices()
        numbered = [(device, devices[:index].count(device)) for index, device in enumerate(devices)]
        self._new = [LocalWorker(f"{device} #{count + 1}" if count else device, device) for device, count in numbered]

    def workers(self) -> Sequence[LocalWorker]:
        new, self._new = self._new, []
        return new

    def close(self) -> None:
        pass

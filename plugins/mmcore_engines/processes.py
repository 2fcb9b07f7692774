"""The engine of this machine: a worker process for each of its cards, each asked by a thread of its own."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor

from mmcore.errors import MmcoreError
from mmcore_engines.device_worker import DeviceWorker
from mmcore_engines.engine import Request


class LocalWorker:
    """A device of this machine."""

    def __init__(self, name: str, device: str) -> None:
        self.name = name
        self._place = DeviceWorker(device)
        self._thread = ThreadPoolExecutor(1, name)

    def submit(self, request: bytes) -> Future[bytes]:
        return self._thread.submit(self._place.answer, request)

    def end(self) -> None:
        self._place.end()
        self._thread.shutdown(wait=False, cancel_futures=True)


class Processes:
    """All cards of this machine, or those that are named; a device without device time may be named several times."""

    local = True

    def __init__(self, request: Request) -> None:
        if request.address:
            raise MmcoreError(f"the engine 'processes' is this machine's and has no address, such as {request.address}")
        devices = request.local_devices()
        numbered = [(device, devices[:index].count(device)) for index, device in enumerate(devices)]
        self._new = [LocalWorker(f"{device} #{count + 1}" if count else device, device) for device, count in numbered]

    def workers(self) -> Sequence[LocalWorker]:
        found, self._new = self._new, []
        return found

    def close(self) -> None:
        pass

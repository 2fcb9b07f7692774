"""The engine that measures cells on a Ray cluster, with an actor for each GPU."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from typing import Any

from mmcore.errors import MmcoreError, NoDevice
from mmcore.executor.choose_device import chosen
from mmcore_engines import DeviceWorker, Request
from mmcore_engines.engine import ALL

try:
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy
except ImportError:
    raise MmcoreError("the engine 'ray' needs Ray: python -m pip install 'mmcore-cuda[ray]'") from None

_CUDA = "cuda"
_REACH_SECONDS = 10.0
_REPLACEMENTS = 3  # at most, of actors that answered and died, for each GPU or CPU

Node = Mapping[str, Any]  # an element of ray.nodes()


class RayWorker:
    """An actor on one node that owns one GPU, or one CPU for a device that does not support timing.

    Attributes:
        name: the node's host name, and the number of the GPU or CPU on it in the order of actors.
        answered: True if it has ever answered.
        lost: True if it died.
    """

    def __init__(self, name: str, node: str, device: str) -> None:
        self.name = name
        self.answered = self.lost = False
        gpus = 1 if device == _CUDA else 0
        options = {
            "num_gpus": gpus,
            "num_cpus": 1 - gpus,
            "max_restarts": 0,
            "scheduling_strategy": NodeAffinitySchedulingStrategy(node, soft=False),
        }
        # Ray makes one GPU visible to the actor's process, where its number is 0.
        self._actor: Any = ray.remote(DeviceWorker).options(**options).remote("cuda:0" if gpus else device)

    def submit(self, request: bytes) -> Future[bytes]:
        future: Future[bytes] = self._actor.answer.remote(request).future()
        future.add_done_callback(self._record)
        return future

    def _record(self, future: Future[bytes]) -> None:
        if future.cancelled() or future.exception() is not None:
            self.lost = True
        else:
            self.answered = True

    def end(self) -> None:
        ray.kill(self._actor)


class RayEngine:
    """An engine with a worker for each GPU of a Ray cluster.

    For "emulator", or in a cluster without GPUs, it has a worker for each CPU. The request's address is Ray's: "auto"
    for a Ray that runs on this machine, or "ray://HOST:PORT" for Ray's client. If it is empty, the engine uses the
    cluster of ``RAY_ADDRESS``, or else starts a Ray on this machine for the run.
    """

    def __init__(self, request: Request) -> None:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        self._started_ray = not ray.is_initialized()
        if self._started_ray:
            terminated = signal.getsignal(signal.SIGTERM)
            try:
                _reach(request.address)
                # Without an address, Ray would join a cluster that runs, or seems to run, on this machine.
                address = request.address or os.environ.get("RAY_ADDRESS") or "local"
                ray.init(address, log_to_driver=False, logging_level="ERROR")
            except Exception as error:
                where = f" at {request.address!r}" if request.address else ""
                raise MmcoreError(f"there is no Ray{where}: {_reason(error)}") from None
            # Ray's handler would raise SystemExit anywhere in the head, for example in a test.
            with contextlib.suppress(ValueError):  # this is not the main thread
                signal.signal(signal.SIGTERM, terminated)
        self._device = self._device_of_each_worker(request.device)
        # By node and number; the last worker of each is the current one.
        self._slots: dict[tuple[str, int], list[RayWorker]] = {}

    def workers(self) -> Sequence[RayWorker]:
        """Return a worker for each GPU or CPU that has none, or whose worker died after an answer."""
        nodes = [node for node in ray.nodes() if node["Alive"]]
        return [worker for node in nodes for worker in self._workers_of(node, nodes)]

    def _workers_of(self, node: Node, nodes: Sequence[Node]) -> Iterator[RayWorker]:
        host, identity = node["NodeManagerHostname"], node["NodeID"]
        if sum(each["NodeManagerHostname"] == host for each in nodes) > 1:
            host = f"{host}-{identity[:6]}"
        resource = "GPU" if self._device == _CUDA else "CPU"
        for number in range(int(node["Resources"].get(resource, 0))):
            slot = self._slots.setdefault((identity, number), [])
            if not slot or (slot[-1].lost and slot[-1].answered and len(slot) <= _REPLACEMENTS):
                slot.append(RayWorker(f"{host} {self._device}:{number}", identity, self._device))
                yield slot[-1]

    def _device_of_each_worker(self, device: str) -> str:
        """Return "cuda" for a worker on each GPU, or the device that each CPU runs."""
        gpus = ray.cluster_resources().get("GPU", 0)
        if device in (ALL, "auto"):
            return _CUDA if gpus else "emulator"
        if device == _CUDA and not gpus:
            raise NoDevice("the Ray cluster has no GPU; the device emulator needs none")
        if device != _CUDA and (device.startswith(_CUDA) or "," in device or chosen(device)[0].supports_timing):
            raise NoDevice(f"Ray assigns the cards itself: the device is {ALL}, {_CUDA} or emulator, not {device}")
        return device

    def close(self) -> None:
        if self._started_ray:
            ray.shutdown()


def _reason(error: BaseException) -> str:
    """Return the first lines of an error and of its root cause."""
    cause = error
    while (deeper := cause.__cause__ or cause.__context__) is not None:
        cause = deeper
    texts = [str(error).strip(), str(cause).strip()]
    return "; ".join(dict.fromkeys(text.partition("\n")[0] for text in texts if text))


def _reach(address: str) -> None:
    """Raise OSError if no server listens at HOST:PORT; Ray would need minutes to detect this."""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if colon and port.isdecimal():
        socket.create_connection((host, int(port)), timeout=_REACH_SECONDS).close()

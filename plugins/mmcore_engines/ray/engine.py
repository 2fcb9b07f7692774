"""The engine that measures cells on a Ray cluster: an actor for each GPU, which asks processes of its own host."""

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
_REPLACEMENTS = 3  # of actors that have worked and died, for each GPU or CPU

Node = Mapping[str, Any]  # as ray.nodes() describes it


class RayWorker:
    """An actor on one node, which alone has one of its GPUs, or of its CPUs for a device without device time.

    Attributes:
        name: the node's host name, and the number of the GPU or CPU on it in the order of actors.
        answered, lost: whether it has ever answered; whether it died.
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
        # Ray shows the actor's process one GPU, which is the first there.
        self._actor: Any = ray.remote(DeviceWorker).options(**options).remote("cuda:0" if gpus else device)

    def submit(self, request: bytes) -> Future[bytes]:
        future: Future[bytes] = self._actor.answer.remote(request).future()
        future.add_done_callback(self._note)
        return future

    def _note(self, future: Future[bytes]) -> None:
        if future.cancelled() or future.exception() is not None:
            self.lost = True
        else:
            self.answered = True

    def end(self) -> None:
        ray.kill(self._actor)


class RayEngine:
    """Every GPU of a Ray cluster; for "emulator", and where the cluster has no GPU, a worker for each CPU.

    The address is Ray's: empty for the cluster of ``RAY_ADDRESS``, or else a Ray of this machine that is started for
    the run; "auto" for the one that runs on this machine; "ray://HOST:PORT" for Ray's client.
    """

    def __init__(self, request: Request) -> None:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        self._mine = not ray.is_initialized()
        if self._mine:
            terminated = signal.getsignal(signal.SIGTERM)
            try:
                _reach(request.address)
                # Without an address Ray would join what runs on this machine, or what it believes to run.
                where = request.address or os.environ.get("RAY_ADDRESS") or "local"
                ray.init(where, log_to_driver=False, logging_level="ERROR")
            except Exception as error:
                where = f" at {request.address!r}" if request.address else ""
                raise MmcoreError(f"there is no Ray{where}: {_reason(error)}") from None
            # Ray's own handler raises SystemExit wherever the head is, in a test for example.
            with contextlib.suppress(ValueError):  # not in the main thread
                signal.signal(signal.SIGTERM, terminated)
        self._device = self._kind(request.device)
        self._slots: dict[tuple[str, int], list[RayWorker]] = {}  # by node and number, the last being the current one

    def workers(self) -> Sequence[RayWorker]:
        """A worker for each GPU or CPU that has none, and for those whose worker has died after having worked."""
        nodes = [node for node in ray.nodes() if node["Alive"]]
        return [worker for node in nodes for worker in self._workers_of(node, nodes)]

    def _workers_of(self, node: Node, nodes: Sequence[Node]) -> Iterator[RayWorker]:
        host, identity = node["NodeManagerHostname"], node["NodeID"]
        if sum(each["NodeManagerHostname"] == host for each in nodes) > 1:
            host = f"{host}-{identity[:6]}"
        resource = "GPU" if self._device == _CUDA else "CPU"
        for number in range(int(node["Resources"].get(resource, 0))):
            held = self._slots.setdefault((identity, number), [])
            if not held or (held[-1].lost and held[-1].answered and len(held) <= _REPLACEMENTS):
                held.append(RayWorker(f"{host} {self._device}:{number}", identity, self._device))
                yield held[-1]

    def _kind(self, device: str) -> str:
        """ "cuda", or the device of which each CPU is to run one."""
        gpus = ray.cluster_resources().get("GPU", 0)
        if device in (ALL, "auto"):
            return _CUDA if gpus else "emulator"
        if device == _CUDA and not gpus:
            raise NoDevice("the Ray cluster has no GPU; the device emulator needs none")
        if device != _CUDA and (device.startswith(_CUDA) or "," in device or chosen(device)[0].supports_timing):
            raise NoDevice(f"Ray hands the cards out itself: the device is {ALL}, {_CUDA} or emulator, not {device}")
        return device

    def close(self) -> None:
        if self._mine:
            ray.shutdown()


def _reason(error: BaseException) -> str:
    """The first line of an error, and of what has caused it."""
    cause = error
    while (deeper := cause.__cause__ or cause.__context__) is not None:
        cause = deeper
    return "; ".join(
        dict.fromkeys(str(each).strip().partition("\n")[0] for each in (error, cause) if str(each).strip())
    )


def _reach(address: str) -> None:
    """Raise OSError where nobody listens at HOST:PORT, which Ray would find out after minutes."""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if colon and port.isdecimal():
        socket.create_connection((host, int(port)), timeout=_REACH_SECONDS).close()

"""Stand-ins for GPUs: workers that answer with a made-up result, at once or after the duration of a cell."""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace
from typing import Any

from bench.studies.study import RESULTS
from mmcore import hookimpl
from mmcore.cell import LIBRARY, Cell, Timing
from mmcore.devices.base import Device
from mmcore.executor.choose_device import open_device
from mmcore.measure import Phases, measure
from mmcore.timing import Time
from mmcore_engines import Request
from mmcore_engines.device_worker import identity

ROUNDS = 1000
USUAL_ROUNDS = 330  # about what the kernels of phases.json had
FACTS = {"name": "Stand-in GPU", "compute_capability": [9, 0], "multiprocessors": 132, "driver": "0"}
GPUS_PER_NODE = 8


def at_once(device: Device, phases: Phases, cell: Mapping[str, Any]) -> None:
    """Do nothing, as the target of a request."""


def phase_seconds() -> list[float]:
    """Return the seconds of each of `pytest bench/`'s cells on an H200, from planning to the last launch."""
    document = json.loads((RESULTS / "nvidia-h200" / "phases.json").read_text(encoding="utf-8"))
    return [sum(cell["phases"].values()) for cell in document["cells"]]


def durations(count: int, slower: float = 1) -> list[float]:
    """Return the seconds of cells, drawn from :func:`phase_seconds` and multiplied; the same every time."""
    return [slower * seconds for seconds in random.Random(1).choices(phase_seconds(), k=count)]


def cells(count: int) -> list[Cell]:
    """Return cells as pytest makes them, each with its number as the seed."""
    sizes, block = (1024, 1024, 1024), {"block": [16, 16, 1]}
    timings = (Timing(max_seconds=0.7),)
    shared: dict[str, Any] = {"config": block, "timings": timings, "timeout": 600, "baseline": LIBRARY}
    return [Cell("upc.kernel11", *sizes, seed=number, **shared) for number in range(count)]


def result_values(rounds: int = ROUNDS) -> dict[str, Any]:
    """Return the JSON of a result from the emulator, with made-up times of so many rounds; no times if 0."""
    result = measure(replace(cells(1)[0], m=64, n=64, k=64, timings=(), baseline=""), open_device("emulator"))
    drawn = random.Random(2)
    seconds = tuple(drawn.gauss(7.5e-5, 5e-7) for _ in range(rounds))
    times = (Time(Timing(max_seconds=0.7), seconds, 28, "events around CUDA graphs"),) if rounds else ()
    return replace(result, times=times, supports_timing=bool(rounds)).to_json()


class Answering:
    """The answers of a stand-in with the head's identity; their texts are made once, so that an answer costs little."""

    def __init__(self, common: Mapping[str, str], result: str) -> None:
        self._common = dict(common)
        values = json.loads(result)
        for name in ("cell", "kernel", "config", "figures"):
            values[name] = f"@{name}"
        self._text = json.dumps({"result": values})

    def hello(self, name: str) -> bytes:
        device = {"name": "standin:0", "identity": name, "description": "Stand-in GPU", "facts": FACTS}
        result = {"host": name, "identity": self._common, "device": {**device, "supports_timing": True}}
        return json.dumps({"result": result}).encode()

    def result(self, cell: Mapping[str, Any], figures: Mapping[str, float]) -> bytes:
        text = self._text
        parts = {"cell": cell, "kernel": cell["kernel"], "config": cell["config"], "figures": figures}
        for name, part in parts.items():
            text = text.replace(f'"@{name}"', json.dumps(part), 1)
        return text.encode()


class InstantWorker:
    """A worker in the head's process that answers at once."""

    def __init__(self, name: str, answering: Answering) -> None:
        self.name, self._answering = name, answering

    def submit(self, request: bytes) -> Future[bytes]:
        asked = json.loads(request)
        found: Future[bytes] = Future()
        if "hello" in asked:
            found.set_result(self._answering.hello(self.name))
        else:
            found.set_result(self._answering.result(asked["arguments"][0], {}))
        return found

    def end(self) -> None:
        pass


class StandIns:
    """An engine with these workers."""

    def __init__(self, workers: Sequence[Any]) -> None:
        self._new = workers

    def workers(self) -> Sequence[Any]:
        found, self._new = self._new, []
        return found

    def close(self) -> None:
        pass


class Instant(StandIns):
    """Workers that answer at once; the request's address has their number, and the rounds of a result: "8,1000"."""

    def __init__(self, request: Request) -> None:
        count, rounds = map(int, request.address.split(","))
        answering = Answering(identity(), json.dumps(result_values(rounds)))
        super().__init__([InstantWorker(f"standin:{index}", answering) for index in range(count)])


@hookimpl
def mmcore_engines() -> Mapping[str, str]:
    """Offer ``pytest --mm-engine instant`` where this module is installed as a plugin."""
    return {"instant": "bench.studies.scale.stand_in:Instant"}


class Node:
    """A node's GPUs in one process, as an asynchronous actor of Ray: each call sleeps for the duration of its cell."""

    def __init__(self, common: Mapping[str, str], result: str, seconds: Sequence[float]) -> None:
        self._answering = Answering(common, result)
        self._seconds = seconds
        self._free: dict[str, float] = {}

    async def answer(self, name: str, request: bytes) -> bytes:
        """Return the answer to a GPU's request, with its begin, its end and the GPU's free time before it."""
        began, asked = time.monotonic(), json.loads(request)
        if "hello" in asked:
            return self._answering.hello(name)
        cell = asked["arguments"][0]
        await asyncio.sleep(began + self._seconds[cell["seed"]] - time.monotonic())
        ended = time.monotonic()
        free = began - self._free.get(name, began)
        answer = self._answering.result(cell, {"began": began, "ended": ended, "free": free})
        self._free[name] = ended
        return answer


class RayStandIn:
    """A GPU of a node's actor."""

    def __init__(self, name: str, actor: Any) -> None:
        self.name, self._actor = name, actor

    def submit(self, request: bytes) -> Future[bytes]:
        future: Future[bytes] = self._actor.answer.remote(self.name, request).future()
        return future

    def end(self) -> None:
        pass  # close() ends Ray


class RayStandIns(StandIns):
    """GPUs for cells of these durations; an actor of Ray's has the GPUs of each node."""

    def __init__(self, gpus: int, seconds: Sequence[float]) -> None:
        import ray

        self._ray = ray
        ray.init(num_gpus=gpus, num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
        options = {"num_gpus": GPUS_PER_NODE, "num_cpus": 0, "max_concurrency": 2 * GPUS_PER_NODE}
        made = ray.remote(Node).options(**options)
        result = json.dumps(result_values())
        nodes = [made.remote(identity(), result, seconds) for _ in range(gpus // GPUS_PER_NODE)]
        pairs = [(node, number) for number in range(GPUS_PER_NODE) for node in range(len(nodes))]
        super().__init__([RayStandIn(f"node{node} gpu:{number}", nodes[node]) for node, number in pairs])

    def close(self) -> None:
        self._ray.shutdown()

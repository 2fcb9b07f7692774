"""The timers of a GPU, on a made-up GPU with a clock that advances with the work on its stream."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from mmcore import DeviceError, DeviceLost, KernelError, Launch
from mmcore.compile.compiled_module import CompiledFunction, CompiledModule
from mmcore.devices.base import BoundCall, BoundLaunch, Copy
from mmcore.devices.violations import Violation
from mmcore_cuda import conditions as conditions_module
from mmcore_cuda import cuda_module
from mmcore_cuda.conditions import conditions
from mmcore_cuda.cuda_module import CudaModule
from mmcore_cuda.device import CudaDevice
from mmcore_cuda.event_timer import GraphTimer, KernelTimer
from mmcore_cuda.guarded_memory import BorrowedBuffer

UPLOAD = 5.0
"""Milliseconds of a graph's upload."""


class Event:
    """A moment of the stream, in milliseconds; it is known when the stream has come so far."""

    def __init__(self) -> None:
        self.at, self.synchronised = 0.0, False

    def sync(self) -> None:
        self.synchronised = True

    def __sub__(self, other: Event) -> float:
        assert self.synchronised
        return self.at - other.at


class Target:
    """A receiver of work: the stream, which executes it immediately, or a graph, which executes it when launched."""

    handle = 0

    def __init__(self, gpu: Gpu) -> None:
        self.gpu = gpu
        self.work: list[tuple[str, float]] = []

    def put(self, name: str, milliseconds: float) -> None:
        self.work.append((name, milliseconds))


class Stream(Target):
    """The stream: everything that was ever put on it, with the moment at which it has done that."""

    def put(self, name: str, milliseconds: float) -> None:
        super().put(name, milliseconds)
        self.gpu.now += milliseconds

    def record(self, event: Event) -> Event:
        event.at = self.gpu.now
        return event

    def sync(self) -> None:
        self.put("sync", 0.0)


class Graph(Target):
    """A graph and its builder."""

    building = uploaded = closed = False

    def put(self, name: str, milliseconds: float) -> None:
        assert self.building
        super().put(name, milliseconds)

    def begin_building(self) -> None:
        self.building = True

    def end_building(self) -> Graph:
        return self

    def complete(self) -> Graph:
        return self

    def upload(self, stream: Stream) -> None:
        self.uploaded = True
        stream.put("upload", UPLOAD)

    def launch(self, stream: Stream) -> None:
        assert self.uploaded, "the launch would take the upload's time"
        assert not self.closed
        for name, milliseconds in self.work:
            stream.put(name, milliseconds)

    def close(self) -> None:
        self.closed = True


class Gpu:
    """cuda.core's device."""

    uuid = "0123"
    properties = SimpleNamespace(l2_cache_size=1000)

    def __init__(self) -> None:
        self.now = 0.0
        self.graphs: list[Graph] = []
        self.allocated: list[int] = []

    def create_event(self, options: Any) -> Event:
        assert options.timing_enabled
        return Event()

    def create_graph_builder(self) -> Graph:
        self.graphs.append(Graph(self))
        return self.graphs[-1]

    def allocate(self, size: int, *, stream: Stream) -> Any:
        self.allocated.append(size)
        return SimpleNamespace(fill=lambda value, stream: stream.put(f"fill {value}", 0.02), close=lambda stream: None)


@pytest.fixture
def gpu() -> Any:
    return Gpu()


@pytest.fixture
def stream(gpu: Any) -> Any:
    return Stream(gpu)


def launching(milliseconds: float) -> Callable[[Any], None]:
    return lambda target: target.put("kernel", milliseconds)


@pytest.mark.parametrize("count", [1, 7, 999, 1000, 1001, 2000, 2500])
def test_a_graph_holds_a_thousand_launches_and_is_built_untimed(gpu: Any, stream: Any, count: int) -> None:
    timer = GraphTimer(gpu, stream, launching(0.003))
    for _ in range(3):
        assert timer.seconds(count) == pytest.approx(3e-6 * count)
    assert sorted({len(graph.work) for graph in gpu.graphs}) == sorted({min(count, 1000), count % 1000 or 1000})
    assert len(gpu.graphs) == len({min(count, 1000), count % 1000 or 1000})  # each is built once
    assert [name for name, _ in stream.work].count("kernel") == 3 * count
    timer.close()
    assert stream.work[-1][0] == "sync"
    assert all(graph.closed for graph in gpu.graphs)
    assert timer.seconds(count) == pytest.approx(3e-6 * count)  # of new graphs


def test_the_time_of_work_before_each_launch_is_subtracted(gpu: Any, stream: Any) -> None:
    timer = GraphTimer(gpu, stream, launching(0.003), lambda target: target.put("before", 0.02))
    assert timer.seconds(5) == pytest.approx(15e-6)
    names = [name for name, _ in stream.work if name != "upload"]
    assert names == ["before", "kernel"] * 5 + ["before"] * 5
    assert timer.method == "events around CUDA graphs, less the same graphs without the kernel"
    assert GraphTimer(gpu, stream, launching(0.003)).method == "events around CUDA graphs"
    waits = iter((0.02, 0.03))
    noisy = GraphTimer(gpu, stream, launching(0.001), lambda target: target.put("", next(waits)))
    assert noisy.seconds(1) == 0.0, "never negative"


def test_an_error_of_a_timed_launch_is_the_kernels_and_one_of_closing_is_ignored() -> None:
    def fail(*_: Any) -> Any:
        raise RuntimeError("CUDA_ERROR")

    timer = KernelTimer("a method", fail, fail, lambda error: Violation("launch-failure", f"it failed: {error}"))
    with pytest.raises(KernelError, match=r"^launched to be timed, it failed: CUDA_ERROR$"):
        timer.seconds(1)
    timer.close()
    assert timer.resolution == GraphTimer.resolution
    assert KernelTimer("", lambda count: 2.0 * count, fail, lambda error: Violation("", "")).seconds(3) == 6.0


class Memory(BorrowedBuffer):
    """A buffer that records its copies on the stream or graph they are ordered on."""

    def __init__(self, label: str) -> None:
        self.label = label

    def window(self, nbytes: int, offset: int = 0) -> Any:
        def copy(other: Any, stream: Any, direction: str) -> None:
            stream.put(f"{self.label} {direction} {other.label}, {nbytes} and {other.nbytes} bytes", 1.0)

        copies = {f"copy_{direction}": partial(copy, direction=direction) for direction in ("from", "to")}
        return SimpleNamespace(label=self.label, nbytes=nbytes, **copies)


@pytest.fixture
def owner(gpu: Any, stream: Any) -> Any:
    """Return the GPU as mmcore's device."""
    device = CudaDevice.__new__(CudaDevice)
    device.gpu, device.stream, device.lost, device.name = gpu, stream, "", "cuda:0"
    device._scratch = None
    gpu.set_current = lambda: None
    return device


@pytest.fixture
def module(owner: Any) -> CudaModule:
    """Return a module for the calls of a library."""
    return CudaModule(owner, CompiledModule("sm_90", "", {}, b"", ""))


def call(target: Callable[[], Target]) -> BoundCall:
    """Return a library call that takes 3 µs on ``target()``; a made-up stream has no handle to find it by."""
    return BoundCall(lambda handle: target().put("call", 0.003))


def named(work: list[tuple[str, float]]) -> list[str]:
    return [name for name, _ in work if name not in ("upload", "sync")]


def test_a_cold_time_empties_the_cache_before_each_launch(gpu: Any, stream: Any, module: CudaModule) -> None:
    calls = (call(lambda: gpu.graphs[-1]), call(lambda: gpu.graphs[-1]))
    warm = module.timer(calls)
    assert warm.seconds(2) == pytest.approx(12e-6)
    assert named(stream.work) == ["call"] * 4
    assert gpu.allocated == []
    stream.work.clear()
    cold = module.timer(calls, cold=True)
    assert cold.seconds(2) == pytest.approx(12e-6)
    assert named(stream.work) == ["fill 0", "call", "call"] * 2 + ["fill 0"] * 2
    assert gpu.allocated == [2000]  # twice the L2 cache
    module.timer(calls, cold=True).seconds(1)
    assert gpu.allocated == [2000]
    cold.close()
    assert [graph.closed for graph in gpu.graphs[:4]] == [False, True, True, False]


def test_calls_get_the_stream(monkeypatch: pytest.MonkeyPatch, gpu: Any, stream: Any, module: CudaModule) -> None:
    monkeypatch.setattr(cuda_module, "GraphBuilder", Graph)
    monkeypatch.setattr(Graph, "stream", SimpleNamespace(handle=7), raising=False)
    monkeypatch.setattr(Stream, "handle", 5)
    handles: list[int] = []
    calls = [BoundCall(handles.append)]
    module.run(calls)
    module.timer(calls).seconds(1)
    assert handles == [5, 7]
    assert stream.work[0] == ("sync", 0.0)


def test_launches_are_bound_to_a_graph(
    monkeypatch: pytest.MonkeyPatch, gpu: Any, stream: Any, module: CudaModule
) -> None:
    def bind(*asked: Any) -> Callable[[Any], None]:
        bound.append(asked)
        return launching(0.004)

    bound: list[Any] = []
    kernel, function = object(), CompiledFunction("f", 8, 0, 0)
    launch = BoundLaunch(function, Launch((2,), (32,)), (np.int32(3),))
    module._kernels["f"] = kernel
    monkeypatch.setattr(cuda_module, "bind", bind)
    monkeypatch.setattr(CudaModule, "_config", lambda self, *asked: ("shape", *asked))
    assert module.timer((launch,)).seconds(3) == pytest.approx(12e-6)
    assert bound == [(gpu, stream, kernel, ("shape", launch, kernel), launch.arguments)]


def test_nothing_is_timed_on_a_gpu_that_was_lost(owner: Any, module: CudaModule) -> None:
    owner.lost = "the kernel failed"
    end_to_end = partial(module.end_to_end_timer, (), [], [], pinned=False)
    for timed in (partial(module.run, ()), partial(module.timer, ()), end_to_end):
        with pytest.raises(DeviceLost, match=r"^cuda:0 cannot be used in this process any more: the kernel failed$"):
            timed()


@pytest.mark.parametrize(
    ("error", "said"),
    [(MemoryError(), "MemoryError"), (OSError("one\ntwo"), "one"), (MemoryError("out of memory"), "out of memory")],
)
def test_too_little_memory_to_empty_the_cache_is_an_error(
    monkeypatch: pytest.MonkeyPatch, gpu: Any, module: CudaModule, error: Exception, said: str
) -> None:
    def fail(size: int, *, stream: Any) -> None:
        raise error

    monkeypatch.setattr(gpu, "allocate", fail)
    with pytest.raises(DeviceError, match=f"^2000 bytes to empty the cache with cannot be allocated: {said}$"):
        module.timer((), cold=True)


def test_fresh_inputs_take_turns_launch_by_launch(gpu: Any, stream: Any, module: CudaModule) -> None:
    turns = [[Copy(Memory(f"{label}{turn}"), Memory(label), 8)] for turn, label in enumerate("AB")]
    timer = module.timer((call(lambda: gpu.graphs[-1]),), refresh=turns)
    assert timer.seconds(3) == pytest.approx(3.009e-3)
    copies = ["A from A0, 8 and 8 bytes", "B from B1, 8 and 8 bytes", "A from A0, 8 and 8 bytes"]
    assert named(stream.work) == [name for copy in copies for name in (copy, "call")]


@pytest.mark.parametrize("pinned", [False, True])
def test_an_end_to_end_time_is_of_copies_in_launches_and_copies_out(
    monkeypatch: pytest.MonkeyPatch, gpu: Any, stream: Any, module: CudaModule, pinned: bool
) -> None:
    freed: list[str] = []

    @contextlib.contextmanager
    def pinned_copy(array: Any) -> Iterator[Any]:
        yield SimpleNamespace(label="pinned", nbytes=array.nbytes)
        freed.append("pinned")

    monkeypatch.setattr(cuda_module, "host_view", lambda array: SimpleNamespace(label="pageable", nbytes=array.nbytes))
    monkeypatch.setattr(cuda_module, "pinned_copy", pinned_copy)
    arrays = {label: np.zeros(size, np.float32) for label, size in (("A", 6), ("B", 8), ("C", 12))}
    uploads = [(Memory(label), arrays[label]) for label in "AB"]
    timer = module.end_to_end_timer((call(lambda: stream),), uploads, [(Memory("C"), arrays["C"])], pinned=pinned)
    assert timer.seconds(2) == pytest.approx(6.006e-3)
    how = "pinned" if pinned else "pageable"
    uploaded = [f"A from {how}, 24 and 24 bytes", f"B from {how}, 32 and 32 bytes"]
    assert named(stream.work) == 2 * [*uploaded, "call", f"C to {how}, 48 and 48 bytes"]
    assert timer.method == "events around the copies and launches on a stream"
    assert freed == []
    timer.close()
    assert freed == ["pinned"] * (3 * pinned)


class Card:
    """NVIDIA's management library of a card: one reading after the other, and then an error."""

    def __init__(self, *readings: tuple[float, float, float, set[str]]) -> None:
        self._readings = iter(readings)
        self.read = 0

    def __call__(self, *, uuid: str) -> Card:
        assert uuid == "GPU-0123"
        return self

    def get_field_values(self, fields: list[int]) -> list[Any]:
        self.read += 1
        reading = next(self._readings, None)
        if reading is None:
            raise RuntimeError("there is no reading at this moment")
        mhz, watts, celsius, self.current_clock_event_reasons = reading
        self.temperature = SimpleNamespace(get_sensor=lambda: celsius)
        self.get_clock = {"sm": SimpleNamespace(get_current_mhz=lambda: mhz)}.__getitem__
        return [SimpleNamespace(value=1000 * watts)]


def watched(monkeypatch: pytest.MonkeyPatch, card: Any, readings: int, uuid: str = "0123") -> dict[str, Any]:
    """Return the conditions after a number of attempts to read a card."""
    monkeypatch.setattr(conditions_module, "system", SimpleNamespace(Device=card))
    monkeypatch.setattr(conditions_module, "_PERIOD_SECONDS", 1e-3)
    with conditions(SimpleNamespace(uuid=uuid)) as seen:
        assert not seen
        until = time.monotonic() + 10
        while card.read < readings and time.monotonic() < until:
            time.sleep(1e-3)
    return seen


def test_conditions_are_those_while_it_was_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    begin = (300.0, 900.0, 99.0, {"before"})
    readings = [(1000.0, 200.0, 55.0, {"none"}), (1980.0, 600.0, 40.0, {"y", "x"}), (1500.0, 1.0, 50.0, {"gpu_idle"})]
    seen = watched(monkeypatch, Card(begin, *readings), 6)
    assert seen == {
        "clock_mhz": 1500.0, "power_w": pytest.approx(600.0), "temperature_c": 55.0, "clock_reasons": ["x", "y"],
        "throttled": False,
    }  # fmt: skip
    for uuid in ("0123", "GPU-0123"):  # the first readings are better than none
        assert watched(monkeypatch, Card(begin), 2, uuid)["clock_mhz"] == 300.0


SLOWDOWNS = ("hw_slowdown", "sw_power_cap sw_thermal_slowdown", "hw_thermal_slowdown", "hw_power_brake_slowdown")


@pytest.mark.parametrize("reasons", ["sw_power_cap", *SLOWDOWNS])
def test_heat_throttles_and_a_power_cap_does_not(monkeypatch: pytest.MonkeyPatch, reasons: str) -> None:
    seen = watched(monkeypatch, Card((1.0, 2.0, 3.0, set(reasons.split()))), 1)
    assert (seen["clock_reasons"], seen["throttled"]) == (reasons.split(), reasons in SLOWDOWNS)


def test_a_card_without_readings_has_no_conditions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conditions_module, "system", SimpleNamespace(Device=Card()))
    with conditions(SimpleNamespace(uuid="0123")) as seen:
        pass
    assert seen == {}

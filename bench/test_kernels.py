"""One benchmark for every registered kernel, verified before it is timed."""

from __future__ import annotations

import time

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from mmcore.experiment import host_arrays, run_kernel
from mmcore.judging.inputs import draw
from mmcore.launching.device import Device
from mmcore.launching.prepared import Prepared
from mmcore.registry import registry

# Large enough to fill a GPU; small enough to emulate all kernels within a minute.
GPU_SIZE, EMULATED_SIZE = 640, 128
KERNELS = [name for name, registered in registry().kernels.items() if not registered.kernel.known_faults]


class DeviceClock:
    """A timer for pytest-benchmark that only moves on when something was measured."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds

    def count(self, prepared: Prepared) -> None:
        """Let pass what one product takes: device seconds, or the host's where the device keeps no time."""
        begin = time.perf_counter()
        seconds = prepared.program.kernel_seconds(prepared.calls)
        if seconds is None:
            prepared.run()
            seconds = time.perf_counter() - begin
        self.seconds += seconds


CLOCK = DeviceClock()


@pytest.mark.benchmark(timer=CLOCK)
@pytest.mark.parametrize("name", KERNELS)
def test_kernel(name: str, opened: Device, group: str, benchmark: BenchmarkFixture) -> None:
    kernel = registry().kernel(name)
    block = kernel.block(kernel.blocks[0])
    problem = kernel.square_problem(GPU_SIZE if opened.keeps_time else EMULATED_SIZE, block)
    outcome = run_kernel(kernel, problem, block, opened)
    assert outcome.verified, outcome.verdict or outcome.faults
    benchmark.group = group
    benchmark.extra_info.update(outcome.to_json())
    with Prepared(outcome.plan, opened) as prepared:
        prepared.upload(host_arrays(outcome.plan, draw(problem, outcome.seed)))
        benchmark.pedantic(CLOCK.count, args=(prepared,), rounds=5 if opened.keeps_time else 1)

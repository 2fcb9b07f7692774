"""One benchmark for every registered kernel, verified before it is timed."""

from __future__ import annotations

import time

import pytest
from _pytest.mark import ParameterSet
from pytest_benchmark.fixture import BenchmarkFixture

from mmcore.api import device
from mmcore.experiment import host_arrays, run_kernel
from mmcore.judging.inputs import draw
from mmcore.launching.prepared import Prepared
from mmcore.planning.geometry import Shape
from mmcore.registry import registry

# Large enough to fill a GPU; small enough to emulate all kernels within a minute.
GPU_SIZE, EMULATED_SIZE = 640, 128
DEVICE = device()


def cells() -> list[ParameterSet]:
    """Every kernel without known faults, at the device's usual size or the next that its first block allows."""
    least = GPU_SIZE if DEVICE.keeps_time else EMULATED_SIZE
    cells = []
    for name, registered in registry().kernels.items():
        kernel = registered.kernel
        if not kernel.known_faults:
            block = kernel.block(kernel.blocks[0])
            problem = kernel.square_problem(least, block)
            shape = f"{problem}-b{block}".replace("×", "x")
            cells.append(pytest.param(name, problem.n, tuple(block), id=f"{name}-{shape}"))
    return cells


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
@pytest.mark.parametrize(("name", "n", "block"), cells())
def test_kernel(name: str, n: int, block: Shape, group: str, benchmark: BenchmarkFixture) -> None:
    kernel = registry().kernel(name)
    problem = kernel.problem(n, n, n)
    outcome = run_kernel(kernel, problem, kernel.block(block), DEVICE)
    assert outcome.verified, outcome.verdict or outcome.faults
    benchmark.group = group
    benchmark.extra_info.update(outcome.to_json())
    with Prepared(outcome.plan, DEVICE) as prepared:
        prepared.upload(host_arrays(outcome.plan, draw(problem, outcome.seed)))
        benchmark.pedantic(CLOCK.count, args=(prepared,), rounds=5 if DEVICE.keeps_time else 1)

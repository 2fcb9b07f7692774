"""The emulator's speed: PTX instructions per second of one core."""

from __future__ import annotations

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from mmcore import kernels
from mmcore.devices.loaded_kernel import LoadedKernel
from mmcore.planning.plan import plan
from mmcore.verify.inputs import draw
from mmcore.verify.verify_launches import host_arrays
from mmcore_emulator.adapter.device import EmulatedModule, Emulator


@pytest.mark.parametrize(("name", "block"), [("upc.kernel01", 32), ("upc.kernel11", 32), ("poznan.v3", 16)])
def test_emulated_instructions_per_second(
    name: str, block: int, benchmark: BenchmarkFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    emulator, kernel = Emulator(), kernels()[name]
    planned = plan(kernel, kernel.problem(640, 640, 640), kernel.config(block=block), emulator.properties)
    benchmark.group = "emulator, 640×640×640: EMULATION time on the host, not kernel time"
    with LoadedKernel(planned, emulator) as loaded:
        loaded.upload(host_arrays(planned, draw(planned.problem, seed=1)))
        violations = benchmark.pedantic(loaded.run, rounds=1)
        assert not violations
        assert isinstance(loaded.module, EmulatedModule)
        instructions = loaded.module.thread_instructions
    if benchmark.stats is None:  # --benchmark-disable
        return
    rate = instructions / benchmark.stats.stats.mean
    benchmark.extra_info["thread_instructions_per_second"] = rate
    with capsys.disabled():
        print(f"emulated {name} 640×640×640 b={block}: {rate:.2e} thread-instructions/s of one core")

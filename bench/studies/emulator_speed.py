"""The emulator's speed: PTX instructions per second of one core, and seconds to verify products of tensor cores."""

from __future__ import annotations

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from bench.studies import tensor_kernels
from mmcore import Kernel, kernels
from mmcore.cell import Cell
from mmcore.devices.loaded_kernel import LoadedKernel
from mmcore.measure import measure
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


@pytest.mark.parametrize("kernel", [tensor_kernels.MMA_SYNC, tensor_kernels.WGMMA], ids=lambda kernel: kernel.name)
def test_seconds_to_verify_a_product_of_tensor_cores(
    kernel: Kernel, benchmark: BenchmarkFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    """Three launches at 1024×1024×1024 and the host's comparison, compilation included."""
    benchmark.group = "emulator, 1024×1024×1024 verified: time on the host, not kernel time"
    result = benchmark.pedantic(measure, (Cell(kernel.name, 1024, 1024, 1024, device="emulator"), Emulator(), kernel))
    assert result.verified
    if benchmark.stats is not None:
        with capsys.disabled():
            print(f"verified {kernel.name} 1024×1024×1024 in {benchmark.stats.stats.mean:.1f} s")

"""The plugin interface says what modern kernels need, and the devices do it or refuse by name."""

from __future__ import annotations

import pytest

import mmcore
from mmcore import Kernel
from mmcore.devices.base import Device
from mmcore.runner import run_kernel
from tests.modern import BF16_PANEL, SPLIT_K, TENSOR_MAP

SIZES = [(64, 64, 64), (70, 52, 900), (33, 100, 40)]


@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("kernel", [SPLIT_K, BF16_PANEL], ids=lambda kernel: kernel.name)
def test_several_launches_and_bfloat16_panels_are_right(
    device: Device, kernel: Kernel, sizes: tuple[int, int, int]
) -> None:
    assert run_kernel(kernel, kernel.problem(*sizes), kernel.block(kernel.blocks[0]), device).verified


def test_a_kernel_with_leading_dimensions_gets_its_matrices_as_they_lie(device: Device) -> None:
    problem = BF16_PANEL.problem(33, 100, 40, lda=50, ldb=120, ldc=101)
    outcome = run_kernel(BF16_PANEL, problem, BF16_PANEL.block(128), device)
    assert outcome.verified
    assert outcome.plan.problem == problem


def test_dynamic_shared_memory_goes_above_48_kilobytes_and_no_further_than_the_device(device: Device) -> None:
    block = BF16_PANEL.block(128)
    assert run_kernel(BF16_PANEL, BF16_PANEL.problem(32, 128, 2000), block, device).shared_bytes == 128_000
    with pytest.raises(mmcore.ConstraintViolation, match="256000 bytes of dynamic shared memory; the device allows 232448"):
        run_kernel(BF16_PANEL, BF16_PANEL.problem(32, 128, 4000), block, device)


@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_tensor_maps_clusters_and_an_architectures_own_features(device: Device, sizes: tuple[int, int, int]) -> None:
    def outcome() -> mmcore.Outcome:
        return run_kernel(TENSOR_MAP, TENSOR_MAP.problem(*sizes), TENSOR_MAP.block(16), device)

    if device.name == "emulator":
        with pytest.raises(mmcore.MmcoreError, match="the emulator does not know"):
            outcome()
    elif device.limits.compute_capability[0] == 9:
        assert outcome().verified
    else:
        pytest.skip("the kernel is compiled for compute capability 9.0 alone")

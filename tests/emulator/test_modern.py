"""The plugin interface expresses what modern kernels need; devices support it or name what they lack."""

from __future__ import annotations

import pytest

from mmcore import ConstraintViolation, Kernel
from mmcore.cell import Cell
from mmcore.devices.base import Device
from mmcore.measure import measure
from mmcore.result import Result
from mmcore_emulator.adapter.check import check_cell
from mmcore_emulator.adapter.device import Emulator
from tests.emulator.modern import ADD_SLICES, BF16_PANEL, FROM_STRUCTURE, PANELS, SPLIT_K, TENSOR_MAP

SIZES = [(64, 64, 64), (33, 52, 104)]
KERNELS = (SPLIT_K, BF16_PANEL, TENSOR_MAP, FROM_STRUCTURE, ADD_SLICES, *PANELS)


def measured(
    kernel: Kernel, m: int, n: int, k: int, device: Device, lda: int = 0, ldb: int = 0, ldc: int = 0
) -> Result:
    return measure(Cell(kernel.name, m, n, k, lda=lda, ldb=ldb, ldc=ldc), device, kernel)


@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
def test_a_modern_kernel_is_right(device: Device, kernel: Kernel, sizes: tuple[int, int, int]) -> None:
    capability = device.properties.compute_capability
    if capability < kernel.min_compute_capability or (kernel.architecture == "90a" and capability[0] != 9):
        pytest.skip("the kernel is not made for this compute capability")
    result = measured(kernel, *sizes, device)
    assert result.verified
    assert len(result.launched) == (2 if kernel is SPLIT_K else 1)


def test_a_kernel_with_leading_dimensions_gets_strided_matrices(device: Device) -> None:
    result = measured(BF16_PANEL, 33, 50, 40, device, lda=50, ldb=60, ldc=51)
    assert result.strided
    assert result.verified


def test_dynamic_shared_memory_goes_above_48_kilobytes_and_no_further_than_the_device(device: Device) -> None:
    assert measured(BF16_PANEL, 1, 8, 780, device).shared_bytes == 49_920
    sentence = "256000 bytes of dynamic shared memory; the device allows 232448"
    with pytest.raises(ConstraintViolation, match=sentence):
        measured(BF16_PANEL, 1, 8, 4000, device)


@pytest.mark.parametrize("kernel", [TENSOR_MAP, PANELS[0]], ids=lambda kernel: kernel.name)
def test_check_is_silent_over_bulk_copies_and_clusters(kernel: Kernel) -> None:
    found = check_cell(Cell(kernel.name, 16, 12, 16, device="emulator"), Emulator(), kernel)
    assert found.violations == ()
    assert found.warnings == ()

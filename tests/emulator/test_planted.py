"""Seven modern kernels: the hazards that a check reports with and without planted faults."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from mmcore import Kernel
from mmcore.cell import Cell
from mmcore.devices.violations import Violation
from mmcore.measure import measure
from mmcore_emulator.adapter.check import check_cell
from mmcore_emulator.adapter.device import Emulator
from tests.emulator.planted.faults import FAULTS, HARMLESS, Fault
from tests.emulator.planted.kernels import mmcore_kernels

pytestmark = pytest.mark.slow

KERNELS = {kernel.name.partition(".")[2]: kernel for kernel in mmcore_kernels()}
# m, n, k: several blocks, and at least two rounds of every ring.
SIZES = {
    "cp_async_ring": (128, 128, 192),
    "cp_async_mbarrier": (128, 64, 256),
    "tma_ring": (256, 128, 448),
    "wgmma_registers": (128, 128, 512),
    "cluster_multicast": (256, 128, 448),
    "cluster_split_k": (64, 64, 128),
    "tma_store": (128, 192, 320),
}


def findings(kernel: Kernel) -> list[Violation]:
    """Violations, then warnings."""
    sizes = SIZES[kernel.name.partition(".")[2]]
    found = check_cell(Cell(kernel.name, *sizes, device="emulator"), Emulator(), kernel)
    return [*found.violations, *found.warnings]


def edited(fault: Fault, folder: Path) -> Kernel:
    kernel = KERNELS[fault.kernel]
    source = kernel.source_text()
    assert source.count(fault.old) == 1
    (folder / kernel.source.name).write_text(source.replace(fault.old, fault.new))
    return replace(kernel, source=folder / kernel.source.name)


def test_every_kernel_has_a_size() -> None:
    assert set(SIZES) == set(KERNELS)


@pytest.mark.parametrize("name", KERNELS)
def test_nothing_is_wrong_with_a_kernel_as_it_is(name: str) -> None:
    kernel = KERNELS[name]
    assert measure(Cell(kernel.name, *SIZES[name], device="emulator"), Emulator(), kernel).verified
    assert findings(kernel) == []


@pytest.mark.parametrize("fault", HARMLESS, ids=lambda fault: f"{fault.kernel}: {fault.name}")
def test_a_harmless_edit_is_none(fault: Fault, tmp_path: Path) -> None:
    assert findings(edited(fault, tmp_path)) == []


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: f"{fault.kernel}: {fault.name}")
def test_a_fault_is_found_on_its_line(fault: Fault, tmp_path: Path) -> None:
    kernel = edited(fault, tmp_path)
    expected = {
        number
        for number, line in enumerate(kernel.source_text().splitlines(), 1)
        if fault.expected & set(re.findall(r"#[a-z][a-z0-9-]*", line.partition("//")[2]))
    }
    found = findings(kernel)
    named = {
        *(each.line for each in found if each.source == kernel.source.name),
        *(int(line) for each in found for line in re.findall(rf"\b{kernel.source.name}:(\d+)", each.message)),
    }
    assert expected & named, found

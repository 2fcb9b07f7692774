"""Seven modern kernels: the hazards that a check reports with and without planted faults."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from mmcore import Kernel, TensorMap
from mmcore.cell import Cell
from mmcore.devices.violations import Violation
from mmcore.measure import measure
from mmcore_emulator.adapter.check import check_cell
from mmcore_emulator.adapter.device import Emulator
from tests.emulator.marked_source import marked_lines
from tests.emulator.planted.faults import FAULTS, HARMLESS, Fault
from tests.emulator.planted.kernels import KERNELS, SIZES

pytestmark = pytest.mark.slow


def findings(kernel: Kernel) -> list[Violation]:
    """Return the violations of a kernel, then the warnings."""
    sizes = SIZES[kernel.name.removeprefix("planted.")]
    found = check_cell(Cell(kernel.name, *sizes, device="emulator"), Emulator(), kernel)
    return [*found.violations, *found.warnings]


@pytest.mark.parametrize("name", KERNELS)
def test_a_kernel_without_a_fault_is_right(name: str) -> None:
    kernel = KERNELS[name]
    assert measure(Cell(kernel.name, *SIZES[name], device="emulator"), Emulator(), kernel).verified
    assert findings(kernel) == []


@pytest.mark.parametrize("fault", HARMLESS, ids=lambda fault: f"{fault.kernel}: {fault.name}")
def test_a_harmless_edit_has_no_finding(fault: Fault, tmp_path: Path) -> None:
    assert findings(fault.planted(tmp_path)) == []


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: f"{fault.kernel}: {fault.name}")
def test_a_fault_is_found_on_its_line(fault: Fault, tmp_path: Path) -> None:
    kernel = fault.planted(tmp_path)
    found = findings(kernel)
    named = {each.line for each in found if each.source == kernel.source.name}
    for each in found:
        named |= set(map(int, re.findall(rf"\b{kernel.source.name}:(\d+)", each.message)))
    lines = marked_lines(kernel.source_text())
    assert named & set().union(*(lines[mark] for mark in fault.expected)), found


@pytest.mark.parametrize(
    ("kernel", "field"),
    [
        ("tma_ring", "swizzle is wrong (128 would be right)"),
        ("cluster_multicast", "stride byte offset is wrong (1024 would be right)"),
        ("tma_store", "start address is wrong"),
    ],
)
def test_the_field_of_a_descriptor_that_is_wrong_is_named(kernel: str, field: str, tmp_path: Path) -> None:
    (fault,) = (each for each in FAULTS if (each.kernel, each.kind) == (kernel, "descriptor"))
    first = findings(fault.planted(tmp_path))[0]
    assert first.kind == "descriptor-mismatch"
    assert f"the descriptor's {field} (at " in first.message


@pytest.mark.parametrize(
    ("constants", "name"),
    [("1, 1, 1, 1, 0;", "imm-trans-a, the last but one"), ("1, 1, 1, 0, 1;", "imm-trans-b, the last one")],
)
def test_a_wrong_constant_of_the_instruction_is_named_before_its_descriptor(
    constants: str, name: str, tmp_path: Path
) -> None:
    fault = Fault("tma_ring", "descriptor", "wrong order", f"`1, 1, 1, 0, 0;` -> `{constants}`", set())
    first = findings(fault.planted(tmp_path))[0]
    assert first.kind == "descriptor-mismatch"
    text = f"; the wgmma's constant {name}, is 1 for an MN-major matrix, and the copy is K-major (0 would be right)"
    assert text in first.message


def test_the_swizzle_of_a_tensor_map_is_named_with_the_one_that_fits() -> None:
    kernel = KERNELS["tma_ring"]
    unswizzled = [replace(each, swizzle=0) if isinstance(each, TensorMap) else each for each in kernel.arguments]
    first = findings(replace(kernel, arguments=tuple(unswizzled)))[0]
    text = "; the tensor map of A has no swizzle (CU_TENSOR_MAP_SWIZZLE_128B would fit the descriptor)"
    assert (first.kind, text in first.message) == ("descriptor-mismatch", True)


def test_a_copy_of_a_box_outside_its_tensor_is_a_warning_with_its_line(tmp_path: Path) -> None:
    swapped = "`a_map, step * BK, row0` -> `a_map, row0, step * BK`"
    kernel = Fault("tma_ring", "coordinates", "exchanged", swapped, set()).planted(tmp_path)
    (found,) = (each for each in findings(kernel) if each.kind == "copy-outside")
    assert found.line in marked_lines(kernel.source_text())["#load-a"]
    assert (
        "copies a box of A that begins at (0, 256), fastest axis first, outside the tensor of (448, 256)"
        in found.message
    )


@pytest.mark.parametrize(("bounds", "kinds"), [("* 32)", {"ignored-setmaxnreg"}), ("* 32, 1)", set())])
def test_a_count_of_registers_that_the_assembler_leaves_out_is_a_warning(
    bounds: str, kinds: set[str], tmp_path: Path
) -> None:
    before = "const int warpgroup = warp / 4;"
    count = f'`{before}` -> `{before} asm volatile("setmaxnreg.inc.sync.aligned.u32 96;");`'
    kernel = Fault("tma_ring", "registers", "counted", count, set()).planted(tmp_path)
    kernel.source.write_text(kernel.source_text().replace("* 32)\n", f"{bounds}\n", 1))
    assert {each.kind for each in findings(kernel)} == kinds

"""What a check finds in launches that may begin before the one in front of them ends."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from mmcore import Config, DeviceProperties, Kernel, Launch, Problem, Workspace, ceil_div
from mmcore.cell import Cell
from mmcore_emulator.adapter.check import check_cell
from mmcore_emulator.adapter.device import Emulator
from tests.modern import PANELS

WAIT = 'asm volatile("griddepcontrol.wait;" ::: "memory");'
SOURCE = """
extern "C" __global__ void products(const float* A, const float* B, float* sums, int m, int n, int k) {
    const int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    if (threadIdx.x == 0) FIRST
    __syncthreads();
    if (x >= n || y >= m) return;
    float sum = 0;
    for (int p = 0; p < k; ++p) sum += A[y * k + p] * B[p * n + x];  // A and B
    STORING
    sums[y * n + x] = sum;  // sums
}
extern "C" __global__ void copies(const float* A, const float* sums, float* C, int m, int n, int k) {
    const int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    if (x >= n || y >= m) return;
    const float known = A[y * k];  // A alone
    SECOND
    const float sum = sums[y * n + x];  // sums again
    LATE
    C[y * n + x] = sum + 0 * known;  // C
}"""


def kernel(folder: Path, *waits: str, dependent: bool = True) -> Kernel:
    """The kernel that waits where it is said."""

    def launch(problem: Problem, config: Config, device: DeviceProperties) -> list[Launch]:
        grid = ceil_div(problem.n, 16), ceil_div(problem.m, 16)
        sums = Workspace("sums", 4 * problem.m * problem.n)
        first = Launch(grid, (16, 16), entry="products", arguments=("A", "B", sums, "m", "n", "k"), dependent=dependent)
        second = Launch(grid, (16, 16), entry="copies", arguments=("A", sums, "C", "m", "n", "k"), dependent=dependent)
        return [first, second]

    text = SOURCE
    for place in ("FIRST", "STORING", "SECOND", "LATE"):
        text = text.replace(place, WAIT if place in waits else ";")
    (folder / "sums.cu").write_text(text)
    return Kernel(
        name="tests.sums",
        source=folder / "sums.cu",
        entry="products",
        arguments=("A", "B", "C", "m", "n", "k"),
        configs=[{"block": (16, 16)}],
        launch=launch,
        min_compute_capability=(9, 0),
    )


def early(found: Kernel) -> list[tuple[str, str]]:
    """Kind and comment of the line of each finding."""
    checked = check_cell(Cell(found.name, 20, 18, 5, device="emulator", seed=1), Emulator(), found)
    lines = Path(str(found.source)).read_text().splitlines()
    every = (*checked.violations, *checked.warnings)
    return [(each.kind, lines[(each.line or 0) - 1].partition("// ")[2]) for each in every]


@pytest.mark.parametrize(
    ("waits", "found"),
    [
        (("FIRST", "SECOND"), []),
        (("STORING", "SECOND"), ["A and B", "A and B"]),
        (("FIRST", "LATE"), ["sums again"]),
        (("FIRST",), ["sums again", "C"]),
        (("SECOND",), ["A and B", "A and B", "sums"]),
    ],
    ids=" and ".join,
)
def test_what_is_accessed_before_the_launch_in_front_is_over(
    waits: tuple[str, ...], found: list[str], tmp_path: Path
) -> None:
    assert early(kernel(tmp_path, *waits)) == [("early-access", each) for each in found]


def test_a_launch_that_begins_behind_the_other_need_not_wait(tmp_path: Path) -> None:
    assert early(kernel(tmp_path, dependent=False)) == []


@pytest.mark.parametrize("panels", PANELS[:2], ids=lambda panels: panels.name)
def test_bulk_copies_wait_too(panels: Kernel, tmp_path: Path) -> None:
    source = Path(str(panels.source)).read_text()
    assert source.count(WAIT) == 1
    path = tmp_path / "panels.cu"
    path.write_text(source.replace(WAIT, ""))
    checked = check_cell(Cell(panels.name, 16, 12, 16, device="emulator"), Emulator(), replace(panels, source=path))
    lines = source.splitlines()
    assert {(each.kind, lines[(each.line or 0) - 1].split()[0]) for each in checked.violations} == {
        ("early-access", "asm"),
        ("early-access", "C[row"),
    }

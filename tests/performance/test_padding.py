"""Rows are padded by bytes that lower the conflicts of all accesses to the array, or not at all."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mmcore.cell import Cell
from mmcore.executor.choose_device import open_device
from mmcore.measure import Phases
from mmcore.registry import registry
from mmcore_performance.cards import cards
from mmcore_performance.observation import ObservedLaunch, observe
from mmcore_performance.reasons import shared_memory
from tests.kernel_sources import kernel_sources

TILES = kernel_sources("slow")["bank conflicts: slow"]
FRAGMENTS = kernel_sources("fragments")["from shared memory"]


def advice(path: Path, text: str, array: str) -> tuple[str, int, ObservedLaunch]:
    """Return what to try against the conflicts of an array, the conflicts, and the launch."""
    file = path / "mm.cu"
    file.write_text(text)
    kernel = registry().kernel({"file": str(file)})
    cell = Cell(kernel.name, 128, 128, 128, device="emulator")
    observation = observe(cell, open_device("emulator"), kernel, Phases(), cards()["H200"])
    (launch,) = observation.launches
    reasons = [
        each
        for each in shared_memory.find(observation, launch)
        if re.search(rf" of {array}(?:,.*,)? takes", each.sentence)
    ]
    conflicts = sum(site.conflicts for site in launch.sites if site.place.array == array)
    return reasons[0].advice if reasons else "", conflicts, launch


def test_rows_that_are_padded_already_get_no_padding_that_adds_conflicts(tmp_path: Path) -> None:
    said, before, _ = advice(tmp_path, FRAGMENTS, "as")
    assert before > 0
    assert "pad the rows" not in said
    wider = FRAGMENTS.replace("as[64][40]", "as[64][48]").replace("[k], 40)", "[k], 48)")
    said, more, _ = advice(tmp_path, wider, "as")
    assert more > before
    assert said.startswith("pad the rows of as by 16 bytes")
    followed = wider.replace("as[64][48]", "as[64][56]").replace("[k], 48)", "[k], 56)")
    assert advice(tmp_path, followed, "as")[1] < more


EVERY_OTHER_ROW = """
__global__ void product(const float *A, const float *B, float *C, int m, int n, int k)
{
    __shared__ __align__(16) float a[8][64];
    int t = threadIdx.x, row = t / 4, column = t % 4 * 2, x = t % 16, y = t / 16;
    float sum[4][4] = {};
    for (int p = 0; p < k; p += 8) {
        for (int i = 0; i < 2; i++) a[column + i][row] = A[(blockIdx.y * 64 + row) * k + p + column + i];
        __syncthreads();
        for (int q = 0; q < 8; q++)
            for (int i = 0; i < 4; i++)
                for (int j = 0; j < 4; j++) sum[i][j] += a[q][y * 4 + i] * B[(p + q) * n + blockIdx.x * 64 + x * 4 + j];
        __syncthreads();
    }
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) C[(blockIdx.y * 64 + y * 4 + i) * n + blockIdx.x * 64 + x * 4 + j] = sum[i][j];
}
void f(float *a, float *b, float *c, int m, int n, int k) { product<<<dim3(n / 64, m / 64), 256>>>(a, b, c, m, n, k); }
"""


def test_rows_between_those_that_a_warp_accesses_at_once_are_padded_too(tmp_path: Path) -> None:
    said, before, _ = advice(tmp_path, EVERY_OTHER_ROW, "a")
    assert before > 0
    assert said.startswith("pad the rows of a by 16 bytes")
    assert advice(tmp_path, EVERY_OTHER_ROW.replace("a[8][64]", "a[8][68]"), "a")[1] == 0


@pytest.mark.parametrize(("columns", "pads"), [(32, True), (36, False)])
def test_rows_in_the_same_banks_are_padded(columns: int, pads: bool, tmp_path: Path) -> None:
    said, conflicts, launch = advice(tmp_path, TILES.replace("b[32][32]", f"b[32][{columns}]"), "b")
    assert ("pad the rows of b by 16 bytes" in said) == pads
    padding = launch.shared["b"].padding(4)
    assert (padding > 0) == pads
    if pads:
        followed = TILES.replace("b[32][32]", f"b[32][{columns + padding // 4}]")
        assert advice(tmp_path, followed, "b")[1] < conflicts / 2


TURNED = """
__global__ void product(const float *A, const float *B, float *C, int n)
{
    __shared__ float b[32][32];
    int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 32 + y, column = blockIdx.x * 32 + x;
    float sum = 0;
    for (int p = 0; p < n; p += 32) {
        b[y][x] = B[(blockIdx.x * 32 + y) * n + p + x];
        __syncthreads();
        for (int q = 0; q < 32; q++) sum += A[row * n + p + q] * b[x][q];
        __syncthreads();
    }
    C[row * n + column] = sum;
}
"""


def test_the_padding_of_joined_loads_is_said_with_the_alignment_that_keeps_them_joined(tmp_path: Path) -> None:
    said, before, _ = advice(tmp_path, TURNED, "b")
    padding = "pad the rows of b by 16 bytes and declare it __align__(16), which keeps loads of neighbours joined"
    assert said == f"{padding}, or swizzle them"
    _, conflicts, launch = advice(tmp_path, TURNED.replace("float b[32][32]", "__align__(16) float b[32][36]"), "b")
    assert conflicts < before
    assert {site.place.nbytes for site in launch.sites if site.place[2:5] == ("load", "shared", "b")} == {16}

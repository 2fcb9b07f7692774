"""Kernels with a constant grid, whose blocks count the tiles of C themselves."""

from __future__ import annotations

from pathlib import Path

import pytest

from mmcore.kernel.launch import known_tile
from tests.command_line import mmcore
from tests.sources.test_source_file import kernel

PERSISTENT = """
__global__ void persistent(const float *A, const float *B, float *C, int M, int N, int K)
{
    const int along = N / COLUMNS, tiles = along * (M / ROWS);
    for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x)
        for (int i = threadIdx.x; i < ROWS * COLUMNS; i += blockDim.x) {
            int row = tile / along * ROWS + i / COLUMNS, column = tile % along * COLUMNS + i % COLUMNS;
            float sum = 0;
            for (int p = 0; p < K; ++p) sum += A[row * K + p] * B[p * N + column];
            C[row * N + column] = sum;
        }
}
void run(const float *A, const float *B, float *C, int M, int N, int K)
{
    persistent<<<6, 256>>>(A, B, C, M, N, K);
}
"""
CONSTANTS = "constexpr int ROWS = 48, COLUMNS = 32;" + PERSISTENT


@pytest.mark.parametrize(
    ("quotients", "changed", "tile"),
    [
        ("", "", (48, 32)),
        ("N / COLUMNS", "(N + COLUMNS - 1) / COLUMNS", (48, 32)),
        ("(M / ROWS)", "ceil_div(M, ROWS)", (48, 32)),
        ("persistent<<<6, 256>>>", "persistent<<<N / 32 * (M / 48), 256>>>", None),
        ("(M / ROWS)", "1", None),
    ],
)
def test_the_tiles_of_a_constant_grid_are_those_that_the_kernel_counts(
    quotients: str, changed: str, tile: tuple[int, int] | None
) -> None:
    assert known_tile(kernel(CONSTANTS.replace(quotients, changed) if quotients else CONSTANTS).launch) == tile


def test_whole_tiles_of_a_constant_grid_are_named() -> None:
    Path("persistent.cu").write_text(CONSTANTS)
    said = mmcore("run", "persistent.cu", "--device", "emulator", "--seed", "1").output
    assert "hint: without a remainder, at 96×64×96, the product is right" in said


def test_no_hint_names_remainders_where_a_second_pass_of_the_grid_is_wrong() -> None:
    text = CONSTANTS.replace("float sum = 0;", "float sum = tile < gridDim.x ? 0 : 1;").replace("<<<6,", "<<<24,")
    Path("persistent.cu").write_text(text.replace("ROWS = 48", "ROWS = 32"))
    output = mmcore("run", "persistent.cu", "--device", "emulator", "-q").output
    assert "(more than one pass of the grid)" in output
    assert "hint: without a remainder" not in output

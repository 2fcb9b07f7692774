"""Loops of a kernel that index an array behind its end."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.command_line import mmcore

KERNEL = """
template <int T>
__global__ void mm(const float *A, const float *B, float *C, int M, int N, int K) {
    float sums[SIZE] = {0};
    const int row = blockIdx.y * 8, col = blockIdx.x * 32 + threadIdx.x;
    for (int k = 0; k < K; k++)
        GUARD for (int i = 0; i < T; ++i) BODY
            sums[i] += row + i < M && col < N ? A[(row + i) * K + k] * B[k * N + col] : 0;
    for (int i = 0; i < T; ++i)
        if (row + i < M && col < N) C[(row + i) * N + col] = sums[SUM];
}
void launch(const float *A, const float *B, float *C, int M, int N, int K) {
    mm<8><<<dim3((N + 31) / 32, (M + 7) / 8), 32>>>(A, B, C, M, N, K);
}
"""


def shown(folder: Path, size: str, guard: str = "", body: str = "", total: str = "i") -> str:
    file = folder / "mm.cu"
    text = KERNEL.replace("SIZE", size).replace("GUARD", guard).replace("BODY", body).replace("SUM", total)
    file.write_text(text)
    return mmcore("run", str(file), "--device", "emulator").stdout


def test_a_loop_behind_the_end_of_an_array_is_named(tmp_path: Path) -> None:
    output = shown(tmp_path, "2")
    assert (
        "warning: short-array at mm.cu:8: sums has 2 elements, and the loop in line 7 goes on to element 7\n" in output
    )


@pytest.mark.parametrize(
    ("size", "guard", "body", "total"),
    [
        ("8", "", "", "i"),
        ("T", "", "", "i"),
        ("T / 2", "if (T < 8)", "", "i & 3"),
        ("T / 2", "", "if (i < 4)", "i & 3"),
    ],
)
def test_a_loop_within_an_array_is_not(size: str, guard: str, body: str, total: str, tmp_path: Path) -> None:
    assert "short-array" not in shown(tmp_path, size, guard, body, total)

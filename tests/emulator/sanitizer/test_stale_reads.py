"""An element of a tile that keeps the value of an earlier step is named where it makes the product wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.command_line import mmcore

TILED = """\
#define T 16
__global__ void mm(const float *A, const float *B, float *C, int M, int N, int K)
{
    __shared__ float a[T][T], b[T][T];
    int y = threadIdx.y, x = threadIdx.x, row = blockIdx.y * T + y, col = blockIdx.x * T + x;
    float sum = 0;
    for (int t = 0; t < K; t += T) {
        if (row < M && t + x < K) a[y][x] = A[row * K + t + x];
        if (col < N && t + y < K) b[y][x] = B[(t + y) * N + col];
        __syncthreads();
        for (int k = 0; k < T; k++) sum += a[y][k] * b[k][x];
        __syncthreads();
    }
    if (row < M && col < N) C[row * N + col] = sum;
}
"""
ZEROS = (("+ x];", "+ x]; else a[y][x] = 0;"), ("+ col];", "+ col]; else b[y][x] = 0;"))


def checked(folder: Path, *changes: tuple[str, str]) -> str:
    """Return what a check of the changed source prints."""
    source = TILED
    for old, new in changes:
        assert old in source
        source = source.replace(old, new)
    (folder / "mm.cu").write_text(source)
    return mmcore("check", str(folder / "mm.cu")).stdout


@pytest.mark.parametrize("change", [("T 16", "T 8"), ("int k = 0;", "volatile int k = 0;"), ("float", "double")])
def test_both_arrays_are_named_with_the_line_that_leaves_elements_out(change: tuple[str, str], tmp_path: Path) -> None:
    output = checked(tmp_path, change)
    for name, line in (("a", 8), ("b", 9)):
        assert f"stale-read of {name} at mm.cu:11" in output
        assert f"of {name}, which line {line} wrote in an earlier step" in " ".join(output.split())
    assert "uninitialized-read" not in output  # only threads outside of C read what no step has written


def test_tiles_with_zeros_are_right(tmp_path: Path) -> None:
    assert "CHECK PASS" in checked(tmp_path, *ZEROS)


@pytest.mark.parametrize(
    "changes",
    [(*ZEROS, ("t < K;", "t + T <= K;")), (*ZEROS, ("a[y][k] * b", "a[k][y] * b")), (ZEROS[0],), (ZEROS[1],)],
    ids=["a step lacks", "exchanged", "zeros in a", "zeros in b"],
)
def test_other_mistakes_are_no_stale_reads(changes: tuple[tuple[str, str], ...], tmp_path: Path) -> None:
    output = checked(tmp_path, *changes)
    assert "CHECK FAIL" in output
    assert "stale-read" not in output

"""Blocks of kernels whose threads compute several elements of a tile in loops."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.command_line import mmcore
from tests.sources.test_source_file import block_and_grid, guesses, kernel

TILED = """
__global__ void looped(const float *A, const float *B, float *C, int m, int n, int k)
{{
    __shared__ float a[{height}][16], b[16][{width}];
    const int top = blockIdx.y * {height}, left = blockIdx.x * {width};
    float sum[{many}] = {{}};
    for (int step = 0; step < k; step += 16) {{
        for (int e = {thread}; e < {height} * 16; e += {threads})
            a[e / 16][e % 16] = A[(top + e / 16) * k + step + e % 16];
        for (int e = {thread}; e < 16 * {width}; e += {threads})
            b[e / {width}][e % {width}] = B[(step + e / {width}) * n + left + e % {width}];
        __syncthreads();
        for (int p = 0; p < 16; ++p)
            for (int i = 0; i < {many}; ++i)
                sum[i] += a[{row}][p] * b[p][{column}];
        __syncthreads();
    }}
    for (int i = 0; i < {many}; ++i)
        C[(top + {row}) * n + left + {column}] = sum[i];
}}
"""
FLAT, BOTH = "threadIdx.x", "threadIdx.y * 32 + threadIdx.x"


def tiled(height: int, width: int, threads: int, row: str, column: str, thread: str = FLAT) -> str:
    """Return a kernel of tiles of C, whose threads compute the elements at these rows and columns."""
    many = height * width // threads
    return TILED.format(**locals())


@pytest.mark.parametrize(
    ("text", "block"),
    [
        (tiled(16, 64, 256, "threadIdx.x / 16", "threadIdx.x % 16 + 16 * i"), "b256x1"),
        (tiled(16, 64, 64, "i", "threadIdx.x"), "b64x1"),
        (tiled(16, 32, 128, "threadIdx.x / 8", "threadIdx.x % 8 * 4 + i"), "b128x1"),
        (tiled(32, 32, 256, "threadIdx.y + 8 * i", "threadIdx.x", BOTH), "b32x8"),
        (tiled(32, 64, 1024, "threadIdx.y", "threadIdx.x + i * 32", BOTH), "b32"),
    ],
)
def test_the_step_of_a_loop_over_elements_is_the_number_of_threads(text: str, block: str) -> None:
    assert block_and_grid(kernel(text))[0] == block
    assert "block" not in guesses(text)


def test_the_block_is_a_guess_if_a_loop_over_elements_does_not_show_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = tiled(16, 32, 128, "threadIdx.x / 8", "threadIdx.x % 8 * 4 + i").replace("e += 128", "e = e + 128")
    assert block_and_grid(kernel(text))[0] == "b512x1"
    assert "block" in guesses(text)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "looped.cu").write_text(text)
    output = mmcore("run", "looped.cu", "--size", "64", "--device", "emulator").stdout
    assert "guessed: block 512×1 (--block)" in output
    assert "hint: with --block 128x1 the product is right at 64×128×192" in output


PAIRS = """#include <cuda_fp16.h>
__global__ void pairs(const half *A, const half2 *B, half2 *C, int M, int N, int K)
{
    int r = blockIdx.y * blockDim.y + threadIdx.y, c = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= M || c >= N / 2) return;
    float2 s = make_float2(0, 0);
    for (int k = 0; k < K; k++) {
        float2 b = __half22float2(B[k * (N / 2) + c]);
        s.x += __half2float(A[r * K + k]) * b.x;
        s.y += __half2float(A[r * K + k]) * b.y;
    }
    C[r * (N / 2) + c] = __float22half2_rn(s);
}
"""


def test_no_block_is_suggested_where_the_guessed_one_is_right_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pairs.cu").write_text(PAIRS)
    output = mmcore("run", "pairs.cu", "--device", "emulator").stdout
    assert "guessed: sums in float32 (--accumulator); block 16×16 (--block)" in output
    assert "hint: with --block" not in output


FRAGMENTS = """
__global__ void gemm(const double *A, const double *B, double *C, int m, int n, int k)
{
    int g = LANE / 4, t = LANE % 4, row = blockIdx.y * 8 + g, column = blockIdx.x * 8 + 2 * t;
    double sum[2] = {};
    for (int p = 0; p < k; p += 4)
        asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
                     : "+d"(sum[0]), "+d"(sum[1]) : "d"(A[row * k + p + t]),
                       "d"(B[(p + t) * n + blockIdx.x * 8 + g]));
    C[row * n + column] = sum[0];
    C[row * n + column + 1] = sum[1];
}
"""


def test_fragments_of_a_tile_belong_to_one_warp() -> None:
    text = FRAGMENTS.replace("LANE", "threadIdx.x")
    assert block_and_grid(kernel(text)) == ("b32x1", "ceil(n / 8), ceil(m / 8)")
    assert "block" in guesses(text)


SINGLE = """
#include <mma.h>
using namespace nvcuda;
const int SIDE = 16;
__global__ void one(const half *p, const half *q, float *r)
{
    wmma::fragment<wmma::matrix_a, SIDE, SIDE, SIDE, half, wmma::col_major> a;
    wmma::fragment<wmma::matrix_b, SIDE, SIDE, SIDE, half, wmma::row_major> b;
    wmma::fragment<wmma::accumulator, SIDE, SIDE, SIDE, float> c;
    wmma::fill_fragment(c, 0.0f);
    wmma::load_matrix_sync(a, p, SIDE);
    wmma::load_matrix_sync(b, q, SIDE);
    wmma::mma_sync(c, a, b, c);
    wmma::store_matrix_sync(r, c, SIDE, wmma::mem_row_major);
}
int main() { half *p, *q; float *r; one<<<1, 32>>>(p, q, r); }
"""


def test_the_sizes_of_a_kernel_with_one_fragment_are_those_of_the_fragment(tmp_path: Path) -> None:
    (tmp_path / "one.cu").write_text(SINGLE)
    result = mmcore("run", str(tmp_path / "one.cu"), "--device", "emulator", "-q")
    assert result.stdout.splitlines()[-1].startswith("TEST PASS at 16×16×16; not tried at other sizes: ")
    found = kernel(SINGLE)
    assert (found.column_major, found.square_problem(128).n) == ("A", 16)

"""Blocks that follow from a kernel's shared arrays and from the constants of its tiles."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.command_line import mmcore
from tests.sources.test_source_file import block_and_grid, changed, guesses, kernel

TILED = """
CONSTANTS
__global__ void tiled(const float *A, const float *B, float *C, int M, int N, int K)
{
    __shared__ float a[SIZE], b[SIZE];
    int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    int tx = threadIdx.x, ty = threadIdx.y;
    float sum = 0;
    for (int first = 0; first < K; first += EDGE) {
        a[AT] = A[row * K + first + tx];
        b[AT] = B[(first + ty) * N + column];
        __syncthreads();
        sum += a[0] * b[0];
        __syncthreads();
    }
    C[row * N + column] = sum;
}
void call(float *A, float *B, float *C, int n, int width, int height) {
    dim3 block(width, height), blocks((n + width - 1) / width, (n + height - 1) / height);
    tiled<<<blocks, block>>>(A, B, C, n, n, n);
}
"""


@pytest.mark.parametrize(
    ("size", "at", "block"),
    [
        ("EDGE][EDGE", "ty][tx", "b8"),
        ("EDGE][EDGE + 1", "ty][tx", "b8"),
        ("8][9", "ty][tx", "b8"),
        ("8][32", "ty][tx", "b32x8"),
        ("ROWS][EDGE", "ty][tx", "b8x4"),
        ("ROWS * EDGE", "ty * EDGE + tx", "b8x4"),
        ("EDGE * EDGE", "tx + ty * EDGE", "b8"),
        ("EDGE][EDGE", "tx][ty", "b8"),
        ("8][ROWS", "tx][ty", "b8x4"),
        ("EDGE", "tx", "b16"),
    ],
)
def test_threads_that_have_an_element_each_of_a_shared_array_are_its_block(size: str, at: str, block: str) -> None:
    text = changed(TILED, {"CONSTANTS": "#define EDGE 8\nconst int ROWS = 4;", "SIZE": size, "AT": at})
    assert block_and_grid(kernel(text)) == (block, "ceil(n / bx), ceil(m / by)")


BLOCKS_OF_THREADS = """
CONSTANTS
__global__ void blocked(int M, int N, int K, const float *A, const float *B, float *C)
{
    const int column = threadIdx.x % (BN / TN), row = threadIdx.x / (BN / TN);
    A += blockIdx.y * BM * K;
    B += blockIdx.x * BN;
    C += blockIdx.y * BM * N + blockIdx.x * BN;
    float sums[TM * TN] = {0};
    for (int k = 0; k < K; k++)
        for (int i = 0; i < TM * TN; i++)
            sums[i] += A[(row * TM + i / TN) * K + k] * B[k * N + column * TN + i % TN];
    for (int i = 0; i < TM * TN; i++)
        C[(row * TM + i / TN) * N + column * TN + i % TN] = sums[i];
}
"""


@pytest.mark.parametrize(
    "constants",
    ["#define BM 64\n#define BN 32\n#define TM 8\n#define TN 4", "constexpr int BM = 64, BN = 32, TM = 8, TN = 4;"],
)
def test_constants_of_a_threads_tile_make_the_block_smaller(constants: str) -> None:
    text = BLOCKS_OF_THREADS.replace("CONSTANTS", constants)
    assert block_and_grid(kernel(text)) == ("b64x1", "ceil(n / 32), ceil(m / 64)")


FLAT = """
#define EDGE 8
__global__ void flat(const float *A, const float *B, float *C, int m, int n, int k)
{
    __shared__ float a[EDGE][EDGE], b[EDGE][EDGE];
    int x = threadIdx.x % EDGE, y = threadIdx.x / EDGE, across = (n + EDGE - 1) / EDGE;
    int i = blockIdx.x / across * EDGE + y, j = blockIdx.x % across * EDGE + x;
    float sum = 0;
    for (int t = 0; t < k; t += EDGE) {
        a[y][x] = i < m && t + x < k ? A[i * k + t + x] : 0;
        b[y][x] = j < n && t + y < k ? B[(t + y) * n + j] : 0;
        __syncthreads();
        for (int p = 0; p < EDGE; ++p)
            sum += a[y][p] * b[p][x];
        __syncthreads();
    }
    if (i < m && j < n)
        C[i * n + j] = sum;
}
"""


def test_threads_along_x_compute_a_square_tile_by_whose_edge_they_are_divided() -> None:
    assert block_and_grid(kernel(FLAT)) == ("b64x1", "ceil(n / 8) * ceil(m / 8)")
    other = FLAT.replace("blockIdx.x / across", "blockIdx.y").replace("blockIdx.x % across", "blockIdx.x")
    assert block_and_grid(kernel(other))[1] != "ceil(n / 8) * ceil(m / 8)"


DYNAMIC = """extern __shared__ float tiles[];
__global__ void product(const float *A, const float *B, float *C, int m, int n, int k)
{
    int edge = blockDim.x, x = threadIdx.x, y = threadIdx.y;
    float *a = tiles, *b = tiles + edge * edge, sum = 0;
    int row = blockIdx.y * edge + y, column = blockIdx.x * edge + x;
    for (int p = 0; p < k; p += edge) {
        a[y * edge + x] = row < m && p + x < k ? A[row * k + p + x] : 0;
        b[y * edge + x] = p + y < k && column < n ? B[(p + y) * n + column] : 0;
        __syncthreads();
        for (int i = 0; i < edge; i++) sum += a[y * edge + i] * b[i * edge + x];
        __syncthreads();
    }
    if (row < m && column < n) C[row * n + column] = sum;
}
void launch(const float *A, const float *B, float *C, int m, int n, int k)
{
    int edge = 16;
    dim3 block(edge, edge), grid((n + edge - 1) / edge, (m + edge - 1) / edge);
    product<<<grid, block, edge * edge * sizeof(float)>>>(A, B, C, m, n, k);
}
"""


def test_dynamic_shared_memory_of_one_tile_instead_of_two_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tiles.cu").write_text(DYNAMIC)
    output = mmcore("run", "tiles.cu", "--size", "40", "--device", "emulator").stdout
    assert "hint: with --shared 2048 the product is right at 40×40×40, not with 16 * 16 * 4, as launched\n" in output
    assert mmcore("run", "tiles.cu", "--shared", "2048", "--device", "emulator").exit_code == 0


MOVED = """
// column major
__global__ __launch_bounds__(64) void mul(int M, int N, int K, const float *A, const float *B, float *C)
{
    int tx = threadIdx.x, ty = threadIdx.y, bx = blockIdx.x, by = blockIdx.y;
    A = &A[bx << 3]; B = &B[(by << 3) * K]; C = &C[(bx << 3) + (by << 3) * M];
    float sum = 0;
    for (int k = 0; k < K; k++) sum += A[tx + k * M] * B[k + ty * K];
    C[tx + ty * M] = sum;
}
"""


def test_a_shift_by_a_number_is_the_edge_of_a_tile() -> None:
    assert block_and_grid(kernel(MOVED)) == ("b8", "ceil(m / 8), ceil(n / 8)")
    assert block_and_grid(kernel(MOVED.replace("<< 3", "* edge(3)"))) == ("b8", "ceil(n / bx), ceil(m / by)")
    assert {"block", "grid"} <= {*guesses(MOVED.replace("<< 3", "* edge(3)"))}


WARP_ROWS = """
#include <mma.h>
using namespace nvcuda;
__global__ void hgemm(const half *A, const half *B, float *C, int M, int N, int K)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = COLUMN;
    if (row * 16 >= M || column * 16 >= N) return;
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> b;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> c;
    wmma::fill_fragment(c, 0.0f);
    for (int k = 0; k < K; k += 16) {
        wmma::load_matrix_sync(a, A + row * 16 * K + k, K);
        wmma::load_matrix_sync(b, B + k * N + column * 16, N);
        wmma::mma_sync(c, a, b, c);
    }
    wmma::store_matrix_sync(C + row * 16 * N + column * 16, c, N, wmma::mem_row_major);
}
"""


@pytest.mark.parametrize(
    "column",
    [
        "(blockIdx.x * blockDim.x + threadIdx.x) / 32",
        "(threadIdx.x + blockDim.x * blockIdx.x) / warpSize",
        "blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32",
    ],
)
def test_rows_of_warps_have_the_usual_block(column: str) -> None:
    text = WARP_ROWS.replace("COLUMN", column)
    assert block_and_grid(kernel(text)) == ("b128x4", "ceil(n / (bx // 32 * 16)), ceil(m / (by * 16))")
    Path("warps.cu").write_text(text)
    said = mmcore("run", "warps.cu", "--device", "emulator", "--seed", "1", "--quiet").output
    assert "guessed: block 128×4 (--block)" in said
    assert "hint: without a remainder, at 128×192×64, the product is right" in said


@pytest.mark.parametrize(
    ("row", "block"), [("blockIdx.y", "b32x1"), ("blockIdx.y * blockDim.y + threadIdx.y + threadIdx.z", "b16")]
)
def test_flat_blocks_of_warps_stay_flat(row: str, block: str) -> None:
    column = "(blockIdx.x * blockDim.x + threadIdx.x) / 32"
    text = WARP_ROWS.replace("blockIdx.y * blockDim.y + threadIdx.y", row).replace("COLUMN", column)
    assert block_and_grid(kernel(text))[0] == block


def test_the_block_suggested_for_a_kernel_that_uses_x_alone_is_flat() -> None:
    Path("flat.cu").write_text(
        """
        __global__ void flat(const float *A, const float *B, float *C, int M, int N, int K) {
            const int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
            const int first_row = blockIdx.y * 64, first_column = blockIdx.x * 64;
            for (int i = 0; i < 4; ++i)
                for (int j = 0; j < 4; ++j) {
                    float sum = 0;
                    for (int k = 0; k < K; ++k)
                        sum += A[(first_row + ty * 4 + i) * K + k] * B[k * N + first_column + tx + 16 * j];
                    C[(first_row + ty * 4 + i) * N + first_column + tx + 16 * j] = sum;
                }
        }
        """
    )
    said = mmcore("run", "flat.cu", "--device", "emulator").output
    assert "mmcore run flat.cu --device emulator --block 256" in said


def test_fewer_threads_than_launch_bounds_are_a_hint(folder: Path) -> None:
    """A thread of 64 computes a row; the launch has 32."""
    text = """
__global__ void __launch_bounds__(64) rows(const float *A, const float *B, float *C, int m, int n, int k) {
    int i = blockIdx.x * 64 + threadIdx.x;
    for (int j = 0; i < m && j < n; j++) {
        float sum = 0;
        for (int p = 0; p < k; p++) sum += A[i * k + p] * B[p * n + j];
        C[i * n + j] = sum;
    }
}
void call(float *A, float *B, float *C, int m, int n, int k) { rows<<<(m + 63) / 64, 32>>>(A, B, C, m, n, k); }
"""
    (folder / "rows.cu").write_text(text)
    output = mmcore("run", "rows.cu", "-q", "--device", "emulator").stdout
    assert "hint: with --block 64, the number in its __launch_bounds__, the product is right at" in output

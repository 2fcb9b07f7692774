"""Kernels whose threads compute as many elements of C in loops as the launch passes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.command_line import mmcore as command
from tests.sources.test_source_file import kernel

COARSE = """
__global__ void coarse(int ni, int nj, int nk, const float *a, const float *b, float *c, int along_x, int along_y)
{
    int j = (blockIdx.x * along_x) * blockDim.x + threadIdx.x * along_x;
    int i = (blockIdx.y * along_y) * blockDim.y + threadIdx.y * along_y;
    for (int x = 0; x < along_x; x++)
        for (int y = 0; y < along_y; y++)
            if ((i + y) < ni && (j + x) < nj) {
                float sum = 0;
                for (int k = 0; k < nk; k++) sum += a[(i + y) * nk + k] * b[k * nj + (j + x)];
                c[(i + y) * nj + (j + x)] = sum;
            }
}
void product(int m, int n, int k, const float *a, const float *b, float *c)
{
    dim3 block(32, 8), grid((n + 31) / 32, (m + 15) / 16);
    coarse<<<grid, block>>>(m, n, k, a, b, c, 1, 2);
}
"""


def run(text: str, *options: str) -> tuple[int, str]:
    Path("coarse.cu").write_text(text)
    result = command("run", "coarse.cu", "--device", "emulator", "--seed", "1", "--quiet", *options)
    return result.exit_code, result.output


def test_numbers_that_the_launch_passes_beside_three_sizes_are_no_sizes() -> None:
    roles = [str(getattr(each, "value", each)) for each in kernel(COARSE).arguments]
    assert roles == ["m", "n", "k", "A", "B", "C", "1", "2"]
    status, said = run(COARSE)
    assert (status, said.rstrip().endswith("TEST PASS")) == (0, True)


@pytest.mark.parametrize(
    ("grid", "square"), [("(m + 31) / 32, (n + 15) / 16", True), ("(m + 15) / 16, (n + 31) / 32", False)]
)
def test_the_hint_exchanges_the_sizes_of_a_grid_whose_tiles_are_right(grid: str, square: bool) -> None:
    wrong = COARSE.replace("(n + 31) / 32, (m + 15) / 16", grid)
    status, said = run(wrong)
    assert (status, "hint: with --grid 'ceil(n / 32), ceil(m / 16)' the product is right" in said) == (1, True)
    assert ("; without it, it is right where m = n, as at 64×64×64" in said) == square


def test_a_grid_rather_than_the_kernel_is_changed_where_the_user_says_how_matrices_are_stored() -> None:
    status, said = run(
        COARSE.replace("(n + 31) / 32, (m + 15) / 16", "(m + 31) / 32, (n + 15) / 16"), "--column-major="
    )
    assert (status, "hint: with --grid 'ceil(n / 32), ceil(m / 16)' the product is right" in said) == (1, True)


def test_an_integer_that_the_kernel_does_not_use_is_no_size_if_the_others_are_enough() -> None:
    text = COARSE.replace("int nk,", "int nk, int rows_of_b,").replace(", int along_x, int along_y", "")
    text = text.replace("along_x", "1").replace("along_y", "2").replace("n, k, a, b, c, 1, 2", "n, k, k, a, b, c")
    for names in (("ni", "nj", "nk"), ("p", "q", "r")):
        other = text
        for name, new in zip(("ni", "nj", "nk"), names, strict=True):
            other = other.replace(name, new)
        roles = [str(getattr(each, "value", each)) for each in kernel(other).arguments]
        assert roles == ["m", "n", "k", "1", "A", "B", "C"]


WIDE = """
#define EDGE 16
#define EACH 2
__global__ void strips(const float *a, const float *b, float *c, int n)
{
    int row = blockIdx.y * EDGE + threadIdx.y, first = blockIdx.x * EDGE * EACH + threadIdx.x;
    float sum[EACH] = {};
    for (int p = 0; p < n; p++)
        for (int e = 0; e < EACH; e++) sum[e] += a[row * n + p] * b[p * n + first + e * EDGE];
    for (int e = 0; e < EACH; e++) c[row * n + first + e * EDGE] = sum[e];
}
int main() { int n = 512; strips<<<dim3(n / EDGE, n / EDGE), dim3(EDGE, EDGE)>>>(a, b, c, n); }
"""


def test_a_grid_for_threads_of_one_element_each_has_the_right_grid_as_a_hint() -> None:
    status, said = run(WIDE)
    assert status == 1
    assert "hint: with --grid 'ceil(n / (16 * 2)), ceil(m / 16)' the product is right at 128×128×128, not with" in said


FRAGMENTS = """
#include <mma.h>
using namespace nvcuda;
__global__ void fragments(const half *a, const half *b, float *c, int M, int N, int K, float alpha, float beta)
{
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32 * 16, col = (blockIdx.y * blockDim.y + threadIdx.y) * 16;
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::col_major> x;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> y;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum, old;
    wmma::fill_fragment(sum, 0.0f);
    if (row >= M || col >= N) return;
    for (int p = 0; p < K; p += 16) {
        wmma::load_matrix_sync(x, a + row + p * M, M);
        wmma::load_matrix_sync(y, b + p + col * K, K);
        wmma::mma_sync(sum, x, y, sum);
    }
    wmma::load_matrix_sync(old, c + row + col * M, M, wmma::mem_col_major);
    for (int i = 0; i < old.num_elements; i++) old.x[i] = alpha * sum.x[i] + beta * old.x[i];
    wmma::store_matrix_sync(c + row + col * M, old, M, wmma::mem_col_major);
}
void product(int m, int n, int k, const half *a, const half *b, float *c)
{
    dim3 block(128, 4), grid((m + 16 * block.x - 1) / (16 * block.x), (n + 16 * block.y - 1) / (16 * block.y));
    fragments<<<grid, block>>>(a, b, c, m, n, k, 2.0f, 2.0f);
}
"""
FLAT = """
__global__ void flat(int m, int n, int k, float alpha, const float *a, const float *b, float beta, float *c)
{
    int row = blockIdx.x * 32 + threadIdx.x / 32, col = blockIdx.y * 32 + threadIdx.x % 32;
    float sum = 0;
    if (row >= m || col >= n) return;
    for (int p = 0; p < k; p++) sum += a[row * k + p] * b[p * n + col];
    c[row * n + col] = alpha * sum + beta * c[row * n + col];
}
void product(int m, int n, int k, const float *a, const float *b, float *c)
{
    flat<<<dim3((m + 31) / 32, (n + 31) / 32), dim3(32, 32)>>>(m, n, k, 2.0f, a, b, 2.0f, c);
}
"""


@pytest.mark.parametrize(
    ("text", "options"),
    [(FRAGMENTS, "--grid 'ceil(m / (bx // 32 * 16)), ceil(n / (by * 16))'"), (FLAT, "--block 1024")],
)
def test_missing_sums_of_a_product_and_old_values_are_named_with_the_right_launch(text: str, options: str) -> None:
    status, said = run(text)
    assert status == 1
    assert "of C: the product is not complete" in said
    assert f"hint: with {options} the product is right at " in said
    assert ", as launched in line " in said

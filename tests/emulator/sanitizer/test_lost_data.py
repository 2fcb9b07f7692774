"""Wrong products: stores to shared memory that are lost, and elements of A that no thread reads."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.command_line import mmcore

KERNEL = """
__global__ void mm(const float *A, const float *B, float *C, int m, int n, int k) {
    extern __shared__ float memory[];
    float *a = memory, *b = memory + OFFSET;
    const int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 16 + y, col = blockIdx.x * 16 + x;
    float sum = 0;
    for (int p = 0; p < k; p += 16) {
        CLEAR
        a[y * 16 + x] = row < m && p + x < k ? A[row * k + p + x] : 0;
        b[y * 16 + x] = p + y < k && col < n ? B[(p + y) * n + col] : 0;
        __syncthreads();
        for (int q = 0; q < 16; q++) sum += a[y * 16 + q ORDER] * b[q * 16 + x];
        __syncthreads();
    }
    if (row < m && col < n) C[row * n + col] = sum;
}
void launch(const float *A, const float *B, float *C, int m, int n, int k) {
    mm<<<dim3((n + 15) / 16, (m + 15) / 16), dim3(16, 16), 2048>>>(A, B, C, m, n, k);
}
"""
NAIVE = """
__global__ void mm(const float *A, const float *B, float *C, int m, int n, int k) {
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    float sum = 0;
    for (int p = 0; p < k; p++) sum += A[p] * B[p * n + (x < n ? x : 0)];
    if (x < n && y < m) C[y * n + x] = sum;
}
"""


def shown(folder: Path, source: str) -> str:
    file = folder / "mm.cu"
    file.write_text(source)
    return mmcore("run", str(file), "--device", "emulator").stdout


def tiles(offset: str = "256", clear: str = "", order: str = "") -> str:
    return KERNEL.replace("OFFSET", offset).replace("CLEAR", clear).replace("ORDER", order)


def test_a_tile_that_another_one_replaces_is_named_with_both_lines(tmp_path: Path) -> None:
    output = shown(tmp_path, tiles(offset="0"))
    assert output.splitlines()[-1] == "TEST FAIL"
    assert "warning: lost-store at mm.cu:9: " in output
    assert "element 0 of memory, which line 10 writes again before any thread has read it" in output


@pytest.mark.parametrize(
    ("changes", "answer"),
    [
        ({}, "TEST PASS"),
        ({"clear": "a[y * 16 + x] = 0;"}, "TEST PASS"),
        ({"clear": "a[y * 16 + x] = 0;", "order": "^ 1"}, "TEST FAIL"),
    ],
)
def test_a_tile_that_is_read_is_not_lost(changes: dict[str, str], answer: str, tmp_path: Path) -> None:
    output = shown(tmp_path, tiles(**changes))
    assert output.splitlines()[-1] == answer
    assert "lost-store" not in output
    assert "unread-input" not in output


def test_elements_that_no_thread_reads_are_counted(tmp_path: Path) -> None:
    output = shown(tmp_path, NAIVE)
    assert output.splitlines()[-1] == "TEST FAIL"
    assert "warning: unread-input: no thread reads element (1, 0) of A, nor " in output


FRAGMENTS = """#include <mma.h>
using namespace nvcuda::wmma;
__global__ void mm(const float *A, const float *B, float *C, int m, int n, int k) {
    __shared__ float tile[128];
    fragment<matrix_a, 16, 16, 8, precision::tf32, row_major> a;
    fragment<matrix_b, 16, 16, 8, precision::tf32, row_major> b;
    fragment<accumulator, 16, 16, 8, float> c;
    fill_fragment(c, 0.0f);
    for (int p = 0; p < k; p += 8) {
        for (int i = threadIdx.x; i < 128; i += 32) tile[i] = A[(blockIdx.y * 16 + i / 8) * k + p + i % 8];
        __syncthreads();
        load_matrix_sync(a, tile, 8);
        load_matrix_sync(b, B + p * n + blockIdx.x * 16, n);
        mma_sync(c, a, b, c);
        __syncthreads();
        for (int i = threadIdx.x; i < 128; i += 32) tile[i] = 1;
        __syncthreads();
        c.x[0] += tile[threadIdx.x];
        __syncthreads();
    }
    store_matrix_sync(C + blockIdx.y * 16 * n + blockIdx.x * 16, c, n, mem_row_major);
}
void launch(const float *A, const float *B, float *C, int m, int n, int k) {
    mm<<<dim3(n / 16, m / 16), 32>>>(A, B, C, m, n, k);
}
"""


def test_what_fragments_load_is_read(tmp_path: Path) -> None:
    output = shown(tmp_path, FRAGMENTS)
    assert output.splitlines()[-1] == "TEST FAIL"
    assert "lost-store" not in output
    assert "unread-input" not in output

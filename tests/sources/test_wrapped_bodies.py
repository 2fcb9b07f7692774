"""Kernels that only call a device function, and are read with its body."""

from __future__ import annotations

import pytest

from mmcore_cuda.cuda_source.program import read_program
from mmcore_cuda.cuda_source.tree import text_of, walk
from tests.sources.test_source_file import block_and_grid, guesses, kernel

TILED = """
template <int EDGE, typename Number = int> __device__ void tile(float *c, float *a, float *b, Number w) {
    __shared__ float s[EDGE][EDGE], t[EDGE][EDGE];
    Number row = blockIdx.y * EDGE + threadIdx.y, column = blockIdx.x * EDGE + threadIdx.x;
    float sum = 0;
    for (Number i = 0; i < w; i += EDGE) {
        s[threadIdx.y][threadIdx.x] = a[row * w + i + threadIdx.x];
        t[threadIdx.y][threadIdx.x] = b[(i + threadIdx.y) * w + column];
        __syncthreads();
        for (int j = 0; j < EDGE; j++) sum += s[threadIdx.y][j] * t[j][threadIdx.x];
        __syncthreads();
    }
    c[row * w + column] = sum;
}
"""
SMALL = "__global__ void small(float *C, float *A, float *B, int N) { tile<8>(C, A, B, N); }\n"
LARGE = "__global__ void large(float *C, float *A, float *B, long N) {\n  tile<32, long>(C, A, B, N);  // wide\n}\n"


@pytest.mark.parametrize(("name", "edge"), [("small", 8), ("large", 32)])
def test_a_kernel_has_the_block_of_the_instance_that_it_calls(name: str, edge: int) -> None:
    text = TILED + {"small": SMALL, "large": LARGE}[name]
    assert block_and_grid(kernel(text)) == (f"b{edge}", f"ceil(n / {edge}), ceil(m / {edge})")
    assert guesses(text) == ()


def test_the_body_keeps_its_lines_and_has_the_calls_arguments() -> None:
    (small,) = read_program(TILED + SMALL).functions
    stores = [each for each in walk(small.body) if text_of(each) == "C[row * N + column] = sum;"]
    assert [each.start_point.row for each in stores] == [TILED[: TILED.index("c[row")].count("\n")]


@pytest.mark.parametrize(
    "body",
    [
        "tile<8>(C, A, B, N); __syncthreads();",  # not its only statement
        "if (N) tile<8>(C, A, B, N);",
        "other(C, A, B, N);",
    ],
)
def test_other_bodies_stay_as_they_are(body: str) -> None:
    (function,) = read_program(f"{TILED}__global__ void f(float *C, float *A, float *B, int N) {{ {body} }}").functions
    assert text_of(function.body) == f"{{ {body} }}"


def test_an_argument_that_a_local_variable_would_hide_is_not_replaced() -> None:
    text = "__global__ void f(float *C, float *A, float *sum, int N) { tile<8>(C, A, sum, N); }"
    assert "tile<8>" in text_of(read_program(TILED + text).functions[0].body)


def test_a_kernel_of_a_batch_may_move_the_pointers_that_it_passes() -> None:
    moved = "int z = blockIdx.z; tile<16>(C + z * N * N, A + (size_t)z * N * N, B + z * N * N, N);"
    text = f"{TILED}__global__ void batch(float *C, const float *A, const float *B, int N) {{ {moved} }}"
    found = kernel(text + "void f(int n) { batch<<<dim3(n / 16, n / 16, 8), dim3(16, 16)>>>(c, a, b, n); }")
    assert block_and_grid(found) == ("b16", "n // 16, n // 16")
    assert [str(each) for each in found.arguments] == ["C", "A", "B", "n"]


BRANCHES = """
__device__ void whole(const float *a, const float *b, float *c, int n) {
    for (int i = 0; i < 4; i++) {
        float sum = 0;
        int row = blockIdx.y * 64 + threadIdx.y * 4 + i, column = blockIdx.x * 16 + threadIdx.x;
        for (int k = 0; k < n; k++) sum += a[row * n + k] * b[k * n + column];
        c[row * n + column] = sum;
    }
}
__device__ void guarded(const float *a, const float *b, float *c, int n) {
    for (int i = 0; i < 4; i++) {
        float sum = 0;
        int row = blockIdx.y * 64 + threadIdx.y * 4 + i, column = blockIdx.x * 16 + threadIdx.x;
        for (int k = 0; k < n && row < n && column < n; k++) sum += a[row * n + k] * b[k * n + column];
        if (row < n && column < n) c[row * n + column] = sum;
    }
}
__global__ void mul(const float *A, const float *B, float *C, int N)
"""


@pytest.mark.parametrize(
    "body",
    [
        "{ if (N % 64 == 0) whole(A, B, C, N); else guarded(A, B, C, N); }",
        "{\n    if (N % 64) {\n        guarded(A, B, C, N);\n    } else {\n        whole(A, B, C, N);\n    }\n}",
    ],
)
def test_a_kernel_that_calls_one_of_two_functions_has_the_tile_that_they_store(body: str) -> None:
    text = BRANCHES + body
    assert block_and_grid(kernel(text)) == ("b16", "ceil(n / 16), ceil(m / 64)")
    (function,) = read_program(text).functions
    stores = [each.start_point.row for each in walk(function.body) if text_of(each) == "C[row * N + column] = sum;"]
    assert stores == [6, 14]

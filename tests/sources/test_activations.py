"""Kernels that store a function of their sums are refused, unless a flag decides about it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.command_line import mmcore as command

KERNEL = """
__device__ float relu(float x) { return x > 0 ? x : 0; }
__global__ void dense(const float *A, const float *B, float *C, int m, int n, int k, bool active)
{
    int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    if (row >= m || column >= n) return;
    float sum = 0;
    for (int i = 0; i < k; i++) sum += A[row * k + i] * B[i * n + column];
    STORE
}
"""


@pytest.mark.parametrize(
    ("store", "name"),
    [
        ("C[row * n + column] = fmaxf(sum, 0.0f);", "fmaxf"),
        ("C[row * n + column] = sum > 0.0f ? sum : 0.0f;", "ReLU"),
        ("float value = relu(sum); C[row * n + column] = value;", "relu"),
        ("C[row * n + column] = 1.0f / (1.0f + __expf(-sum));", "__expf"),
        ("C[row * n + column] = tanhf(sum);", "tanhf"),
        ("C[row * n + column] = active ? fmaxf(sum, 0.0f) : sum;", ""),
        ("if (active) sum = fmaxf(sum, 0.0f); C[row * n + column] = sum;", ""),
        ("C[row * n + column] = fmaxf(sum, -INFINITY);", ""),
        ("C[row * n + column] = sum;", ""),
    ],
)
def test_a_function_of_the_sum_is_no_product(store: str, name: str) -> None:
    Path("my.cu").write_text(KERNEL.replace("STORE", store))
    result = command("run", "my.cu", "--device", "emulator", "--block", "16x16", "--size", "20")
    says = f"Error: line 9 applies {name} before dense stores to C, so that C is no product of A and B"
    assert (result.exit_code == 2 and result.stderr.startswith(says)) == bool(name)
    assert name or result.exit_code == 0

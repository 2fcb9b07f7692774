"""Guessed values of a template's parameters, with which no quotient in the kernel is 0."""

from __future__ import annotations

import pytest

from tests.sources.test_source_file import guesses, kernel

KERNEL = """
template <int BM, int BK, int TM>
__global__ void mul(const float *A, const float *B, float *C, int M, int N, int K) {
    const int row = blockIdx.y * BM + threadIdx.y, column = blockIdx.x * BM + threadIdx.x;
    const int wide = 16, threads = BK / wide;
    float sum = 0;
    for (int i = threadIdx.x % threads; i < K; i++) sum += A[row * K + i] * B[i * N + column] / TM;
    C[row * N + column] = sum;
}
"""


@pytest.mark.parametrize(("changes", "value"), [(("", ""), 16), (("wide = 16", "wide = 8"), 8), (("16", "100"), 128)])
def test_a_guessed_value_is_large_enough_for_the_quotients_of_the_kernel(changes: tuple[str, str], value: int) -> None:
    text = KERNEL.replace(*changes) if changes[0] else KERNEL
    assert kernel(text).usual_configs[0]["BK"] == value
    assert "BK" in guesses(text)


def test_a_given_value_and_one_that_the_source_launches_are_kept() -> None:
    launch = "void run(float *a) { mul<32, 8, 4><<<dim3(2, 2), dim3(32, 32)>>>(a, a, a, 64, 64, 64); }"
    assert kernel(KERNEL, parameters={"BK": 8}).usual_configs[0]["BK"] == 8
    assert kernel(KERNEL + launch).usual_configs[0]["BK"] == 8

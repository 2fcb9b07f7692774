"""Kernels whose assertions refuse the usual sizes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.command_line import mmcore as command

ASSERTED = """#include <cassert>
__global__ void asserted(const float *A, const float *B, float *C, int m, int n, int k)
{
    assert(gridDim.x % 32 == 0);
    int j = blockIdx.x * 8 + threadIdx.x, i = blockIdx.y * 8 + threadIdx.y;
    float sum = 0;
    for (int p = 0; p < k; ++p) sum += A[i * k + p] * B[p * n + j];
    C[i * n + j] = sum;
}
void f(int m, int n, int k) { asserted<<<dim3(n / 8, m / 8), dim3(8, 8)>>>(a, b, c, m, n, k); }
"""


@pytest.mark.parametrize(("sum", "known"), [("sum", "is right"), ("sum + 1", "is wrong, too")])
def test_a_hint_names_a_size_that_they_allow(sum: str, known: str) -> None:
    Path("my.cu").write_text(ASSERTED.replace("= sum;", f"= {sum};"))
    shown = command("run", "my.cu", "--device", "emulator", "--seed", "1", "--quiet").stdout
    size = "-m 256 -n 256 -k 64"
    assert f"hint: the assertion in line 4 holds at 256×256×64, where the product {known}\n" in shown
    assert f"  mmcore run my.cu {size} --device emulator\n" in shown
    named = command("run", "my.cu", *size.split(), "--device", "emulator", "--seed", "1", "--quiet")
    assert named.exit_code == (known != "is right")

"""Sizes that count vectors: a kernel of ``float4*`` that gets n / 4."""

from __future__ import annotations

from pathlib import Path

from mmcore import Multiple, Scalar
from mmcore.kernel.arguments import scalar_value
from mmcore.kernel.problem import Problem
from tests.command_line import mmcore
from tests.sources.test_source_file import kernel

TEXT = """\
__global__ void mm(const float *A, const float4 *B, float4 *C, int M, int N4, int K)
{
    int row = blockIdx.y * 8 + threadIdx.y, column = blockIdx.x * 8 + threadIdx.x;
    if (row >= M || column >= N4) return;
    float4 sum = make_float4(0, 0, 0, 0);
    for (int p = 0; p < K; p++) {
        float a = A[row * K + p];
        float4 b = B[p * N4 + column];
        sum.x += a * b.x, sum.y += a * b.y, sum.z += a * b.z, sum.w += a * b.w;
    }
    C[row * N4 + column] = sum;
}
"""


def test_a_size_in_vectors_is_a_hint_and_right_at_all_sizes() -> None:
    Path("my.cu").write_text(TEXT)
    command = ("run", "my.cu", "--block", "8x8", "--device", "emulator")
    assert "hint: with --args A,B,C,m,n/4,k the product is right at " in mmcore(*command).stdout
    assert mmcore(*command, "--args", "A,B,C,m,n/4,k").stdout.endswith("TEST PASS\n")


def test_a_size_in_vectors_is_a_quotient_of_multiples() -> None:
    found = kernel(TEXT, args=["A", "B", "C", "m", "n/4", "k"], block=(8, 8))
    assert found.arguments == ("A", "B", "C", "m", Scalar("n/4"), "k")
    assert Multiple("n", 4) in found.constraints
    assert scalar_value(Scalar("n/4"), Problem(3, 20, 5), found.usual_configs[0]) == 5


def test_a_grid_of_vectors_that_rounds_down_is_named_with_what_the_vectors_need() -> None:
    text = TEXT.replace("float4 *", "float *").replace("N4", "N").replace("= blockIdx.x * 8 + threadIdx.x", "= COLUMN")
    text = text.replace("COLUMN", "(blockIdx.x * 8 + threadIdx.x) * 4")
    text = text.replace("B[p * N + column]", "*(const float4 *)&B[p * N + column]").replace(
        "C[row", "*(float4 *)&C[row"
    )
    launch = "mm<<<dim3((n / 4) / 8, (m + 7) / 8), dim3(8, 8)>>>(A, B, C, m, n, k);"
    host = f"int main() {{ int m = 51, n = 52, k = 30; float *A, *B, *C; {launch} }}\n"
    Path("my.cu").write_text(text + host)
    output = mmcore("run", "my.cu", "--device", "emulator").stdout
    assert (
        "with the grid ceil(n // 4 / 8), ceil(m / 8) instead of n // 4 // 8, ceil(m / 8), which rounds down" in output
    )
    assert "vectors of 4 elements need multiples of 4 for n" in output
    assert "TEST FAIL" in output

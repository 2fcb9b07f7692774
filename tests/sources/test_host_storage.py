"""Loops of host code that say how A or B is stored: a transposition, or the program's own product."""

from __future__ import annotations

from pathlib import Path

import pytest

from mmcore_sources.cuda_file.inference.infer import infer

KERNEL = """
__global__ void product(const float *A, const float *B, float *C, int M, int N, int K)
{
    int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
    if (row >= M || col >= N) return;
    float sum = 0;
    for (int p = 0; p < K; p++) sum += ELEMENTS;
    C[row * N + col] = sum;
}
void turn(const float *from, float *to, int rows, int length)
{
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < length; c++) to[c * rows + r] = from[r * length + c];
}
int main()
{
    const int M = 48, N = 32, K = 64;
    static float x[M * K], y[K * N], z[N * K], result[M * N];
    float *dX, *dY, *dC;
    HOST
    cudaMemcpy(dX, x, sizeof x, cudaMemcpyHostToDevice);
    cudaMemcpy(dY, z, sizeof z, cudaMemcpyHostToDevice);
    product<<<dim3(N / 16, M / 16), dim3(16, 16)>>>(dX, dY, dC, M, N, K);
}
"""
B_BY_COLUMNS = "A[row * K + p] * B[col * K + p]"
A_BY_COLUMNS = "A[p * M + row] * B[p * N + col]"
LOOPS = "for (int j = 0; j < N; j++) for (int p = 0; p < K; p++) "
CHECK = "for (int i = 0; i < M; i++) " + LOOPS + "result[i * N + j] += "


def evidence(elements: str, host: str) -> list[str]:
    text = KERNEL.replace("ELEMENTS", elements).replace("HOST", host)
    return [each.evidence for each in infer(Path("my.cu"), text, {}).unusual]


@pytest.mark.parametrize(
    ("elements", "host", "shown"),
    [
        (B_BY_COLUMNS, LOOPS + "z[j * K + p] = y[p * N + j];", "z[j * K + p]"),
        (B_BY_COLUMNS, LOOPS + "z[p + j * K] = (float)y[N * p + j];", "z[p + j * K]"),
        (B_BY_COLUMNS, "static float own[N][K]; memcpy(z, own, 4 * N * K); " + LOOPS + "own[j][p] = other[p][j];",
         "own[j][p]"),
        (B_BY_COLUMNS, CHECK + "x[i * K + p] * z[j * K + p];", "z[j * K + p]"),
        (A_BY_COLUMNS, CHECK + "x[p * M + i] * y[p * N + j];", "x[p * M + i]"),
    ],
    ids=["transposition", "other order", "rows of arrays", "product by B", "product by A"],
)  # fmt: skip
def test_a_loop_of_the_host_shows_that_a_matrix_is_stored_by_columns(elements: str, host: str, shown: str) -> None:
    assert evidence(elements, host) == [f"line 20, which has {shown}"]


def test_a_function_that_the_host_calls_transposes_b() -> None:
    assert evidence(B_BY_COLUMNS, "turn(y, z, K, N);") == ["line 13, which has to[c * rows + r]"]


@pytest.mark.parametrize(
    "host",
    [
        "",
        LOOPS + "z[j * K + p] = y[j * K + p];",
        LOOPS + "z[j * K + p] = p % 7;",
        "for (int i = 0; i < M; i++) for (int p = 0; p < K; p++) other[p * M + i] = x[i * K + p];",
        "turn(x, other, M, K);",
        CHECK + "x[i * K + p] * z[p * N + j];",
        CHECK + "x[i * K + p] * other[j * K + p];",
    ],
    ids=["none", "copy", "values", "transposed A", "called for A", "product by rows", "another array"],
)
def test_other_loops_show_nothing(host: str) -> None:
    assert evidence(B_BY_COLUMNS, host) == [""]

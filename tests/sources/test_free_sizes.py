"""Kernels that use a constant for a size that their launch passes them, too."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.command_line import mmcore as command

TILED = """#define N 16384
#define TILE 8
__global__ void tiled(const float *a, const float *b, float *c, int n)
{
    __shared__ float as[TILE][TILE], bs[TILE][TILE];
    int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * TILE + y, column = blockIdx.x * TILE + x;
    float sum = 0;
    for (int i = 0; i < n; i += TILE) {
        as[y][x] = a[row * N + i + x];
        bs[y][x] = b[(i + y) * N + column];
        __syncthreads();
        for (int k = 0; k < TILE; k++) sum += as[y][k] * bs[k][x];
        __syncthreads();
    }
    c[row * N + column] = sum;
}
int main() { int size = N; tiled<<<dim3(N / TILE, N / TILE), dim3(TILE, TILE)>>>(a, b, c, size); }
"""
DEEP = """#define M 4096
#define K 2048
__global__ void deep(const float *a, const float *b, float *c, int rows, int columns, int depth)
{
    int row = blockIdx.y * 8 + threadIdx.y, column = blockIdx.x * 8 + threadIdx.x;
    float sum = 0;
    for (int i = 0; i < K; i++) sum += a[row * depth + i] * b[i * columns + column];
    c[row * columns + column] = sum;
}
int main() { deep<<<dim3(M / 8, M / 8), dim3(8, 8)>>>(a, b, c, M, M, K); }
"""


def run(text: str, *words: str) -> tuple[int, str]:
    Path("my.cu").write_text(text)
    result = command("run", "my.cu", "--device", "emulator", "--seed", "1", *words)
    return result.exit_code, result.output


@pytest.mark.parametrize(
    ("text", "constants", "sizes"), [(TILED, "constants N=n", [24] * 3), (DEEP, "constants K=k", [16, 24, 40])]
)
def test_a_constant_that_is_passed_as_a_size_is_redefined_with_it(text: str, constants: str, sizes: list[int]) -> None:
    words = [word for pair in zip(("-m", "-n", "-k"), map(str, sizes), strict=True) for word in pair]
    status, said = run(text, *words)
    assert (status, constants in said) == (0, True)


def test_a_constant_with_another_value_than_the_size_is_kept() -> None:
    status, said = run(TILED.replace("size = N", "size = 512"), "-m", "24", "-n", "24", "-k", "24")
    assert (status, "constants N" in said, "out-of-bounds-read at my.cu:9" in said) == (1, False, True)


def test_a_constant_that_is_the_edge_of_a_tile_is_kept() -> None:
    text = TILED.replace("TILE", "N").replace("#define N 8\n", "").replace("16384", "8")
    status, said = run(text, "-m", "8", "-n", "8", "-k", "8")
    assert (status, "constants N" in said) == (0, False)

"""Kernels that get some sizes, while constants are the lengths of A's rows, or of C's."""

from __future__ import annotations

import re
from pathlib import Path

from mmcore.registry import referenced_kernel
from mmcore_emulator.adapter.candidate_sizes import CodeSizes
from mmcore_emulator.adapter.conversions import capability_properties
from tests.command_line import mmcore as command

STRIP = """#define DEPTH 24
__global__ void strip(const float *a, const float *b, float *c, int n)
{
    __shared__ float rows[8][DEPTH];
    int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 8 + y, column = blockIdx.x * 8 + x;
    for (int i = x; i < DEPTH; i += 8) rows[y][i] = a[row * DEPTH + i];
    __syncthreads();
    float sum = 0;
    for (int i = 0; i < DEPTH; i++) sum += rows[y][i] * b[i * n + column];
    c[row * n + column] = sum;
}
int main() { int M = 256, N = 512; strip<<<dim3(N / 8, M / 8), dim3(8, 8)>>>(a, b, c, N); }
"""


def run(text: str, *words: str) -> tuple[int, str]:
    Path("strip.cu").write_text(text)
    result = command("run", "strip.cu", "--device", "emulator", "--seed", "1", "--quiet", *words)
    return result.exit_code, result.output


def test_its_k_is_the_constant_and_m_and_n_are_free() -> None:
    assert run(STRIP, "-m", "40", "-n", "72", "-k", "24")[0] == 0
    status, said = run(STRIP, "-m", "40", "-n", "72", "-k", "32")
    assert (status, "k is 32, but the source fixes it as 24" in said) == (2, True)


def test_the_verdict_names_the_multiples_of_the_sizes_that_are_free() -> None:
    status, said = run(STRIP)
    assert (status, said.rstrip().splitlines()[-1]) == (0, "TEST PASS if m and n are multiples of 8")


def test_a_wrong_step_is_found() -> None:
    status, said = run(STRIP.replace("i += 8", "i += 16"))
    assert (status, "uninitialized-read at strip.cu:9" in said) == (1, True)


def test_a_grid_that_rounds_up_and_then_down_has_tiles_of_both() -> None:
    Path("strip.cu").write_text(STRIP.replace("N / 8, M / 8", "(N + 7) / 8 / 4, (M + 7) / 8 / 4"))
    kernel = referenced_kernel("strip.cu")
    device = capability_properties((9, 0))
    sizes = CodeSizes(kernel, kernel.usual_configs[0], device, lambda planned: {}, 1.0, on_tensor_cores=False)
    assert sizes.tile == (32, 32)


TALL = """constexpr int WIDTH = 8, DEPTH = 24;
__global__ void tall(const float *a, const float *b, float *c, int rows)
{
    __shared__ float all[DEPTH][WIDTH];
    int x = threadIdx.x, row = blockIdx.x * 4 + threadIdx.y;
    for (int i = threadIdx.y * WIDTH + x; i < DEPTH * WIDTH; i += 4 * WIDTH) all[i / WIDTH][i % WIDTH] = b[i];
    __syncthreads();
    if (row >= rows) return;
    float sum = 0;
    for (int i = 0; i < DEPTH; i++) sum += a[row * DEPTH + i] * all[i][x];
    c[row * WIDTH + x] = sum;
}
int main() { int rows = 999; tall<<<(rows + 3) / 4, dim3(WIDTH, 4)>>>(a, b, c, rows); }
"""


def test_its_n_and_k_are_constants_and_m_is_free() -> None:
    status, said = run(TALL, "-m", "45", "-n", "8", "-k", "24")
    assert (status, "TEST PASS" in said) == (0, True)
    status, said = run(TALL, "-m", "45", "-n", "9", "-k", "24")
    assert (status, "n is 9, but the source fixes it as 8" in said) == (2, True)
    status, said = run(TALL.replace("row >= rows", "row > rows"))
    assert (status, "out-of-bounds" in said) == (1, True)


def test_its_n_is_a_constant_beside_a_length_of_rows_of_a_that_is_passed() -> None:
    deep = TALL.replace("int rows)", "int rows, int k)").replace("c, rows)", "c, rows, 50)")
    deep = re.sub(r"__shared__.*|    for \(int i = thr.*", "", deep)
    deep = re.sub("i < DEPTH; i.*", "i < k; i++) sum += a[row * k + i] * b[i * WIDTH + x];", deep)
    assert run(deep, "-m", "45", "-n", "8", "-k", "19")[0] == 0
    assert run(deep)[0] == 0


def test_a_package_declares_the_sizes_that_constants_fix() -> None:
    Path("tall.cu").write_text(TALL)
    result = command("new-plugin", "acme.tall", "--from", "tall.cu", "--dir", "made")
    assert result.exit_code == 0, result.output
    text = Path("made/acme_tall/tall.py").read_text()
    assert "fits = problem.n == 8 and problem.k == 24" in text
    assert "FixedSides()" in text

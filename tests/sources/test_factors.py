"""Constant factors of A·B and of C's old value, and sizes that the source fixes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mmcore.kernel.arguments import Scalar
from tests.command_line import mmcore as command
from tests.sources.test_source_file import grid, inferred, kernel

SCALED = """
__global__ void scaled(const float *A, const float *B, float *C, int n)
{
    int i = blockIdx.y * blockDim.y + threadIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n || j >= n) return;
    float sum = 0.0f;
    for (int p = 0; p < n; p++)
        sum += A[i * n + p] * B[p * n + j];
    STORE
}
"""
CONSTANTS = "#define ALPHA 32412.0f\nstatic const float beta_c = 0.25f;\n#define SCALE 3\n"


@pytest.mark.parametrize(
    ("store", "alpha", "beta"),
    [
        ("C[i * n + j] = ALPHA * sum + beta_c * C[i * n + j];", 32412, 0.25),
        ("float old = C[i * n + j]; sum *= 1; C[i * n + j] = sum * ALPHA + old * beta_c;", 32412, 0.25),
        ("C[i * n + j] *= beta_c; C[i * n + j] += ALPHA * sum;", 32412, 0.25),
        ("C[i * n + j] = beta_c * C[i * n + j]; C[i * n + j] += sum;", 1, 0.25),
        ("C[i * n + j] = ALPHA * (float)sum;", 32412, 0),
        ("C[i * n + j] = SCALE * sum;", 1, 0),
        ("C[i * n + j] = 2.5f * sum + 0.5f * C[i * n + j];", 1, 1),
        ("if (n > 9) C[i * n + j] = ALPHA * sum; else C[i * n + j] = sum;", 1, 0),
    ],
)
def test_a_constant_factor_counts_if_the_source_names_it_alpha_or_beta(store: str, alpha: float, beta: float) -> None:
    found = kernel(CONSTANTS + SCALED.replace("STORE", store))
    assert (found.alpha, found.beta) == (alpha, beta)


def test_named_factors_are_no_unusual_reading_and_can_be_overridden() -> None:
    text = CONSTANTS + SCALED.replace("STORE", "C[i * n + j] = ALPHA * sum + beta_c * C[i * n + j];")
    assert not inferred(text).unusual
    notes = {note.what: note for note in inferred(text).notes}
    assert notes["operation"].value == "C = 0.25·C + 32412·A·B"
    assert (kernel(text, alpha=1.0).alpha, kernel(text, beta=0.0).beta) == (1, 0)
    integers = changed_to_integers(text)
    assert (kernel(integers).alpha, kernel(integers).beta) == (1, 1)


def changed_to_integers(text: str) -> str:
    return text.replace("const float *", "const int *").replace("float *C", "int *C").replace("float sum", "int sum")


def test_a_hint_gives_factors_that_the_source_does_not_name(tmp_path: Path) -> None:
    file = tmp_path / "scaled.cu"
    file.write_text(SCALED.replace("STORE", "C[i * n + j] = 2.5f * sum + 0.5f * C[i * n + j];"))
    output = command("run", str(file), "--size", "32", "--device", "emulator").output
    assert "hint: with --alpha 2.5 --beta 0.5 the product is right" in output
    assert "--alpha=2.5 --beta=0.5 -m 32" in output


def test_a_beta_that_the_body_does_not_use_adds_nothing() -> None:
    text = SCALED.replace("int n)", "int n, float beta)")
    assert kernel(text.replace("STORE", "C[i * n + j] = sum;")).beta == 0
    assert kernel(text.replace("STORE", "C[i * n + j] = sum + beta * C[i * n + j];")).beta == 0.5


PASSED = SCALED.replace("int n)", "int n, float alpha, float beta)")
LAUNCH = "void run(int n) { scaled<<<dim3((n + 7) / 8, (n + 7) / 8), dim3(8, 8)>>>(a, b, c, n, ALPHA, BETA); }"


@pytest.mark.parametrize(
    ("store", "fault"),
    [
        ("C[i * n + j] = alpha * sum + beta * C[i * n + j];", ""),
        ("C[i * n + j] = beta * sum + alpha * C[i * n + j];", "expected "),
        ("C[i * n + j] = sum + beta * C[i * n + j];", "a product without the parameter alpha"),
        ("C[i * n + j] = alpha * sum;", "a product without the parameter beta"),
        ("C[i * n + j] += alpha * sum;", "a product without the parameter beta"),
    ],
)
def test_factors_that_a_kernel_gets_are_neither_exchanged_nor_left_out(store: str, fault: str) -> None:
    Path("my.cu").write_text(PASSED.replace("STORE", store))
    for name in ("run", "check"):
        result = command(name, "my.cu", "--device", "emulator", "--quiet")
        assert (result.exit_code, fault in result.stdout) == (1 if fault else 0, True), result.stdout
    for option in re.findall("try (--.*?) if this is meant", result.stdout):
        assert command("run", "my.cu", *option.split(), "--device", "emulator").exit_code == 0


@pytest.mark.parametrize(("alpha", "beta", "is_right"), [("1.0f", "0", True), ("1", "0.5f", False), ("s", "t", False)])
def test_a_factor_may_be_left_out_if_the_launch_passes_the_one_that_changes_nothing(
    alpha: str, beta: str, is_right: bool
) -> None:
    text = PASSED.replace("STORE", "C[i * n + j] = sum;") + LAUNCH.replace("ALPHA", alpha).replace("BETA", beta)
    assert all(each.evidence for each in inferred(text).unusual) == is_right
    Path("my.cu").write_text(text)
    result = command("run", "my.cu", "--device", "emulator")
    assert ("right only if read as a product without the parameter beta" in result.stdout) != is_right
    assert result.exit_code == (0 if is_right else 1)


FIXED = """
#define ROWS 64
#define COLUMNS 96
#define INNER 32
#define EDGE 8
#define NUMBER float
__global__ void fixed(int rows_, int columns_, NUMBER alpha, NUMBER *x, NUMBER *y, NUMBER *z)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < ROWS && j < COLUMNS) {
        z[i * COLUMNS + j] = 0;
        for (int p = 0; p < INNER; p++)
            z[i * COLUMNS + j] += alpha * x[i * INNER + p] * y[p * COLUMNS + j];
    }
}
void call(float *x, float *y, float *z) {
    dim3 block(EDGE, EDGE), blocks((COLUMNS + EDGE - 1) / EDGE, (ROWS + EDGE - 1) / EDGE);
    fixed<<<blocks, block>>>(ROWS, COLUMNS, 1.0f, x, y, z);
}
"""


def test_a_guard_shows_the_rows_that_a_source_fixes_and_parameters_may_be_unused() -> None:
    found = kernel(FIXED)
    usual = found.square_problem(640)
    assert (usual.m, usual.n, usual.k) == (64, 96, 32)
    assert found.arguments == (Scalar(64, "int32"), Scalar(96, "int32"), Scalar("alpha", "float32"), "A", "B", "C")
    assert grid(found) == "ceil(n / 8), ceil(m / 8)"


def test_the_edge_of_a_tile_is_no_size_of_the_grid() -> None:
    text = FIXED.replace("i < ROWS && ", "").replace("(ROWS + EDGE - 1) / EDGE", "60 / EDGE")
    assert "ceil(m / by)" in grid(kernel(text))

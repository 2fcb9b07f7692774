"""Kernels of a batch of products along x or y of the grid, in one block, and in a loop."""

from __future__ import annotations

from pathlib import Path

import pytest

from mmcore.errors import LacksOption
from mmcore_sources.cuda_file.inference.infer import Inferred, infer
from tests.command_line import mmcore as command

OFFSETS = "A += b * m * k; B += b * k * n; C += b * m * n;"
SUM = "float s = 0; for (int i = 0; i < k; i++) s += A[row * k + i] * B[i * n + col]; C[row * n + col] = s;"
TILES = "row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;"
ONE_BLOCK = f"int b = blockIdx.x, row = threadIdx.y, col = threadIdx.x; {OFFSETS} {SUM}"
ROWS = f"int b = blockIdx.y, row = blockIdx.x, col = threadIdx.x; {OFFSETS} if (col < n) {{ {SUM} }}"
THREE_AXES = "int b = blockIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y, "
THREE_AXES += f"col = blockIdx.z * blockDim.x + threadIdx.x; {OFFSETS} if (row < m && col < n) {{ {SUM} }}"
FLAT = "int b = blockIdx.y, id = blockIdx.x * blockDim.x + threadIdx.x, row = id / n, col = id % n; "
FLAT += f"if (id >= m * n) return; {OFFSETS} {SUM}"
LOOP = f"int {TILES} if (row >= m || col >= n) return; for (int b = 0; b < batch; b++) {{ float s = 0; "
LOOP += "for (int i = 0; i < k; i++) s += A[b * m * k + row * k + i] * B[b * k * n + i * n + col]; "
LOOP += "C[b * m * n + row * n + col] = s; }"
GRID = "dim3((n + 15) / 16, (m + 15) / 16)"


def program(body: str, launch: str) -> str:
    """Return a program that multiplies fifty pairs of matrices."""
    parameters = "const float *A, const float *B, float *C, int m, int n, int k, int batch"
    sizes = "float *a, *b, *c; int m = 16, n = 16, k = 32, batch = 50;"
    return (
        f"__global__ void mul({parameters}) {{ {body} }}\n"
        f"int main() {{ {sizes} mul<<<{launch}>>>(a, b, c, m, n, k, batch); }}\n"
    )


def inferred(body: str, launch: str) -> Inferred:
    return infer(Path("/folder/my.cu"), program(body, launch), {})


@pytest.mark.parametrize(
    ("body", "launch", "grid"),
    [
        (ONE_BLOCK, "batch, dim3(16, 16)", "1"),
        (ONE_BLOCK, "batch, dim3(n, m)", "1"),
        (ONE_BLOCK.replace("blockIdx.x", "blockIdx.z"), "dim3(1, 1, batch), dim3(16, 16)", "1"),
        (ROWS, "dim3(m, batch), n", "m"),
        (THREE_AXES, "dim3(batch, (m + 15) / 16, (n + 15) / 16), dim3(16, 16)", "1, ceil(m / 16), ceil(n / 16)"),
        (FLAT, "dim3((m * n + 127) / 128, batch), 128", "ceil(m * n / 128)"),
        (LOOP, f"{GRID}, dim3(16, 16)", "ceil(n / 16), ceil(m / 16)"),
    ],
)
def test_the_first_product_of_a_batch_is_run(body: str, launch: str, grid: str, folder: Path) -> None:
    found = inferred(body, launch)
    assert (found.attributes["launch"].grid, found.attributes["column_major"]) == (grid, "")
    assert found.warnings == ("not run: all products of the batch but the first",)
    (folder / "my.cu").write_text(program(body, launch))
    result = command("run", "my.cu", "--device", "emulator", "--no-hazards", "--seed", "1", "--quiet")
    assert result.exit_code == 0, result.output


def test_a_wrong_step_between_products_along_x_is_found() -> None:
    found = inferred(ONE_BLOCK.replace("C += b * m * n", "C += b * m * k"), "batch, dim3(16, 16)")
    elements = "goes k·m = 512 elements from one C of the batch to the next"
    assert found.batch_faults == ((1, f"{elements}; a matrix C of the program has m·n = 256"),)


def test_a_number_of_rows_that_is_called_batch_is_no_count_of_products() -> None:
    body = f"int {TILES} if (row >= batch || col >= n) return; float s = 0; "
    body += "for (int i = 0; i < k; i++) s += A[row * k + i] * B[i * n + col]; C[row * n + col] = s;"
    text = f"__global__ void mul(const float *A, const float *B, float *C, int batch, int n, int k) {{ {body} }}"
    assert infer(Path("/folder/my.cu"), text, {}).attributes["arguments"] == ("A", "B", "C", "m", "n", "k")


def test_the_height_of_a_tile_that_is_passed_is_no_size_of_a_product() -> None:
    body = "int first = blockIdx.y * rows, col = blockIdx.x * blockDim.x + threadIdx.x; if (col >= n) return; "
    body += f"for (int row = first; row < min(first + rows, m); row++) {{ {SUM} }}"
    text = f"__global__ void mul(const float *A, const float *B, float *C, int m, int n, int k, int rows) {{ {body} }}"
    with pytest.raises(LacksOption, match="the role of rows in mul is unknown"):  # not: it stores parts of its sums
        infer(Path("/folder/my.cu"), text, {})
    launch = "mul<<<dim3((n + 63) / 64, (m + 7) / 8), 64>>>(a, b, c, m, n, k, 8);"
    found = infer(Path("/folder/my.cu"), f"{text} void f(int m, int n, int k) {{ {launch} }}", {})
    assert (found.attributes["launch"].grid, found.warnings) == ("ceil(n / 64), ceil(m / 8)", ())

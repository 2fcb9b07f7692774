"""Hints that name the line which fixes the length of rows in a kernel that is passed sizes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from mmcore_sources.cuda_file.hints.fixed_rows import fixed_rows
from tests.command_line import mmcore as command
from tests.sources.test_source_file import kernel

FIXED = """
#define ROW 96
#define COLUMNS 64
__global__ void mul(const float *A, const float *B, float *C, int rows)
{
    int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
    float sum = 0;
    for (int i = 0; i < DEPTH; i++)
        sum += A[row * ROW + i] * B[i * COLUMNS + col];
    if (row < rows && col < COLUMNS)
        C[row * COLUMNS + col] = sum;
}
"""
SIZES = FIXED.replace("int rows", "int m, int n, int k").replace("DEPTH", "k").replace("< rows", "< m")


def hints(text: str) -> tuple[str, str]:
    """Return the hint and the line after it."""
    Path("my.cu").write_text(text)
    lines = command("run", "my.cu", "--device", "emulator", "-q", "--block", "16x16").stdout.splitlines()
    assert lines[-1] == "TEST FAIL"
    first = next((number for number, line in enumerate(lines) if line.startswith("hint")), len(lines) - 2)
    return lines[first], lines[first + 1]


def test_rows_of_a_constant_length_are_named_with_a_size_that_is_right() -> None:
    said = "hint: line 9 gives A and B rows of 96 and 64 elements, whatever the sizes are"
    pasted = "  mmcore run my.cu -m 32 -n 64 -k 96 --block 16x16 --device emulator"
    assert hints(SIZES) == (f"{said}: at 32×64×96 the product is right", pasted)


def test_a_square_is_right_where_rows_are_as_long_as_the_only_size() -> None:
    text = FIXED.replace("DEPTH", "rows").replace("96", "48").replace("64", "48").replace("col < COLUMNS", "col < rows")
    hint, _ = hints(text)
    assert hint.endswith("rows of 48 elements, whatever the sizes are: at 48×48×48 the product is right")


@pytest.mark.parametrize(
    ("old", "new"), [("i * COLUMNS", "i * n"), ("row * ROW", "row * k"), ("ROW 96", "ROW 8"), ("= sum", "= sum + 1")]
)
def test_rows_of_a_passed_length_are_not_fixed(old: str, new: str) -> None:
    text = SIZES.replace(old, new)
    found = fixed_rows(replace(kernel(text, block="16x16"), text=text))
    assert (found is None) == (old != "= sum")


def test_a_product_that_is_wrong_with_its_rows_gets_no_such_hint() -> None:
    Path("my.cu").write_text(SIZES.replace("= sum", "= sum + sum * sum"))
    assert "whatever the sizes" not in command("run", "my.cu", "--device", "emulator", "-q", "--block", "16x16").stdout

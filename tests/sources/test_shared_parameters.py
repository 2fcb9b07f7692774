"""Kernels that get one parameter for two sizes, which are equal, while the third one is free."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mmcore.kernel.constraints import EqualSizes, Square
from tests.command_line import mmcore as command
from tests.sources.test_source_file import kernel

KERNEL = """__global__ void product(const float *A, const float *B, float *C, int {0}, int {1})
{{
    int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
    if (row >= {2} || col >= {3}) return;
    float sum = 0;
    for (int i = 0; i < {4}; i++) sum += A[row * {4} + i] * B[i * {3} + col];
    C[row * {3} + col] = sum;
}}
int main()
{{
    product<<<dim3(({3} + 15) / 16, ({2} + 15) / 16), dim3(16, 16)>>>(A, B, C, {0}, {1});
}}
"""
ROWS_ARE_COLUMNS = KERNEL.format("N", "K", "N", "N", "K")
SQUARE_A = KERNEL.format("M", "N", "M", "N", "M")
SQUARE_B = KERNEL.format("M", "N", "M", "N", "N")
PAIRS = [(ROWS_ARE_COLUMNS, "mn"), (SQUARE_A, "mk"), (SQUARE_B, "nk")]


def run(text: str, *words: str) -> tuple[int, str]:
    Path("my.cu").write_text(text)
    result = command("run", "my.cu", "--device", "emulator", "--seed", "1", *words)
    return result.exit_code, result.output


@pytest.mark.parametrize(("text", "pair"), PAIRS)
def test_its_two_sizes_are_equal_and_the_third_one_is_free(text: str, pair: str) -> None:
    assert EqualSizes(pair) in kernel(text).constraints
    status, said = run(text)
    assert (status, f"sizes {pair[0]} = {pair[1]} (" in said) == (0, True), said
    tried = [tuple(map(int, each)) for each in re.findall(r"(\d+)×(\d+)×(\d+): ", said)]
    assert any(len({*each}) > 1 and each[0] % 16 for each in tried)
    free = ({*"mnk"} - {*pair}).pop()
    assert run(text, f"-{free}", "21", f"-{pair[0]}", "40", f"-{pair[1]}", "40", "--quiet")[0] == 0
    status, said = run(text, "-m", "20", "-n", "21", "-k", "22")
    assert (status, f"it takes {pair[0]} = {pair[1]} only" in said) == (2, True)


@pytest.mark.parametrize(
    ("text", "old", "new"),
    [
        (ROWS_ARE_COLUMNS, "A[row * K", "A[row * N"),
        (ROWS_ARE_COLUMNS, "B[i * N", "B[i * K"),
        (SQUARE_A, "B[i * N", "B[i * M"),
        (SQUARE_B, "A[row * N", "A[row * M"),
    ],
)
def test_a_length_of_other_rows_is_wrong(text: str, old: str, new: str) -> None:
    status, said = run(text.replace(old, new))
    assert (status, "TEST FAIL" in said, "--grid=" in said) == (1, True, False)


@pytest.mark.parametrize("given", ["A,B,C,m,k", "A,B,C,n,k"])
def test_a_user_may_give_either_role(given: str) -> None:
    assert run(ROWS_ARE_COLUMNS, "--args", given, "-m", "40", "-n", "40", "-k", "21")[0] == 0
    assert run(ROWS_ARE_COLUMNS.replace("A[row * K", "A[row * N"), "--args", given, "--quiet")[0] == 1


def test_a_constant_may_be_the_third_size() -> None:
    text = ROWS_ARE_COLUMNS.replace(", int K", "").replace(", N, K)", ", N)")
    status, said = run(f"#define K 24\n{text}")
    assert (status, "sizes m = n (N is both)" in said, "size k 24" in said) == (0, True, True)


def test_a_grid_shows_the_rows_if_nothing_limits_them() -> None:
    text = re.sub("    if .*", "", ROWS_ARE_COLUMNS)
    assert EqualSizes("mn") in kernel(text).constraints
    constraints = kernel(text.replace("((N + 15) / 16, (N", "((N + 15) / 16, (M")).constraints
    assert not any(isinstance(each, EqualSizes | Square) for each in constraints)


def test_a_package_declares_them() -> None:
    Path("my.cu").write_text(ROWS_ARE_COLUMNS)
    assert command("new-plugin", "acme.my", "--from", "my.cu", "--dir", "made").exit_code == 0
    assert 'EqualSizes("mn")' in Path("made/acme_my/my.py").read_text()

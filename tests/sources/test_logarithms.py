"""Kernels whose rows are powers of two, and whose parameter is the logarithm."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mmcore import Scalar
from mmcore_cuda.cuda_source.program import read_program
from mmcore_sources.cuda_file.inference.body import Body
from mmcore_sources.cuda_file.inference.infer import infer
from mmcore_sources.cuda_file.inference.logarithms import logarithms_of
from mmcore_sources.cuda_file.package import declaration
from mmcore_sources.cuda_file.packaged_source import PackagedSource
from tests.command_line import mmcore
from tests.sources.test_source_file import block_and_grid, kernel

SHIFTED = """
#define X threadIdx.x
#define Y threadIdx.y
#define AT(array, shift, i, j) array[((i) << (shift)) + (j)]
__global__ void powers(const float *a, const float *b, float *c, PARAMETERS)
{
    int i = blockIdx.y * 8 + Y, j = blockIdx.x * 16 + X;
    float sum = 0;
    for (int half = 0; half < (1 << (INNER - 1)); ++half)
        for (int p = 2 * half; p < 2 * half + 2; ++p)
            sum += AT(a, INNER, i, p) * AT(b, WIDTH, p, j);
    AT(c, WIDTH, i, j) = sum;
}
"""


def source(parameters: str, inner: str, width: str) -> str:
    return SHIFTED.replace("PARAMETERS", parameters).replace("INNER", inner).replace("WIDTH", width)


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        (source("int e", "e", "e"), [Scalar("log2(n)")]),
        (source("const int m, const int n", "m", "m"), [Scalar("log2(n)"), "n"]),
        (source("int n, unsigned m", "m", "m"), ["n", Scalar("log2(n)", "uint32")]),
        (source("int m, int log_n, int log_k", "log_k", "log_n"), ["m", Scalar("log2(n)"), Scalar("log2(k)")]),
        (source("int height, int x, int y", "x", "y"), ["m", Scalar("log2(k)"), Scalar("log2(n)")]),
    ],
)
def test_a_number_of_bits_that_rows_are_shifted_by_is_the_logarithm_of_their_length(
    text: str, arguments: list[Any]
) -> None:
    found = kernel(text)
    assert list(found.arguments) == ["A", "B", "C", *arguments]
    assert block_and_grid(found) == ("b16x8", "ceil(n / 16), ceil(m / 8)")


@pytest.mark.parametrize("use", ["s >> e", "(s << e) + e", "s << 2", "s * e"])
def test_other_numbers_are_no_logarithm(use: str) -> None:
    (function,) = read_program(f"__global__ void f(int *s, int e) {{ s[0] = {use}; }}").functions
    assert not logarithms_of(Body(function), ["e"])


def test_sizes_of_a_logarithm_are_powers_of_two(tmp_path: Path) -> None:
    (tmp_path / "my.cu").write_text(source("int e", "e", "e"))
    run = ("run", "my.cu", "--device", "emulator", "--no-hazards")
    assert "TEST PASS" in mmcore(*run, "--size", "64").output
    assert "TEST PASS" in mmcore(*run, "--size", "32", "--args", "A,B,C,log2(n)").output
    refused = mmcore(*run, "--size", "48")
    assert refused.exit_code == 2
    assert "n = 48 is no power of two" in refused.output


RACING = """
__global__ void racing(const float *a, const float *b, float *c, int e)
{
    __shared__ float row[16][16];
    int i = blockIdx.y * 16 + threadIdx.y, j = blockIdx.x * 16 + threadIdx.x;
    float sum = 0;
    for (int first = 0; first < 1 << e; first += 16) {
        row[threadIdx.y][threadIdx.x] = a[(i << e) + first + threadIdx.x];
        __syncthreads();
        for (int p = 0; p < 16; ++p)
            sum += row[threadIdx.y][p] * b[((first + p) << e) + j];
        BARRIER
    }
    c[(i << e) + j] = sum;
}
"""


@pytest.mark.parametrize(("barrier", "races"), [("__syncthreads();", False), ("", True)])
def test_hazards_are_looked_for_at_powers_of_two(barrier: str, races: bool, tmp_path: Path) -> None:
    (tmp_path / "my.cu").write_text(RACING.replace("BARRIER", barrier))
    output = mmcore("run", "my.cu", "--device", "emulator", "--size", "64").output
    assert "not looked for" not in output
    assert ("-race at my.cu:8" in output) == races, output
    assert "is a power of two" in mmcore("show", "my.cu").output
    packaged = PackagedSource("my.cu", {"my.cu": RACING}, (), ())
    package = declaration(infer(tmp_path / "my.cu", RACING, {}), "acme.racing", packaged, {})
    assert 'Scalar("log2(n)", "int32")' in package

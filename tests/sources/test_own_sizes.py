"""Hints of the size with which a program launches a kernel that is wrong at others."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.command_line import mmcore as command

# The threads of a block are elements of one row at 96 columns alone.
PROGRAM = """
__global__ void mul(const float *A, const float *B, float *C, int N)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int row = i / 96, col = i % 96;
    float sum = 0;
    for (int p = 0; p < N; p++)
        sum += A[row * N + p] * B[p * N + col];
    C[row * N + col] = sum;
}
int main()
{
    int size = 96;
    float *a, *b, *c;
    cudaMalloc(&a, size * size * sizeof(float));
    cudaMalloc(&b, size * size * sizeof(float));
    cudaMalloc(&c, size * size * sizeof(float));
    mul<<<size * size / 96, 96>>>(a, b, c, size);
    cudaDeviceSynchronize();
}
"""


@pytest.mark.parametrize(("text", "launched"), [(PROGRAM, "96"), (PROGRAM.replace("size = 96", "size = 192"), "")])
def test_a_wrong_kernel_that_is_right_at_its_programs_size_has_that_as_a_hint(text: str, launched: str) -> None:
    Path("my.cu").write_text(text)
    lines = command("run", "my.cu", "--device", "emulator", "-q").stdout.splitlines()
    assert lines[-1] == "TEST FAIL"
    hints = [(line, lines[number + 1]) for number, line in enumerate(lines) if line.startswith("hint")]
    said = "hint: at 96×96×96, the size with which the program launches it, the product is right"
    pasted = "  mmcore run my.cu -m 96 -n 96 -k 96 --device emulator"
    assert hints == ([(said, pasted)] if launched else [])
    if launched:
        right = command(*pasted.split()[1:])
        assert right.exit_code == 0
        assert right.stdout.splitlines()[-1].startswith("TEST PASS at 96×96×96; wrong at "), "no condition of sizes"


@pytest.mark.parametrize(
    ("depth", "hint"), [("K", "at 512×512×512, m = n = k, as in the program's launch"), ("96", "")]
)
def test_a_small_product_alone_says_nothing_of_its_programs_size(depth: str, hint: str) -> None:
    strides = {"int N)": "int M, int K, int N)", "row * N + p": "row * M + p", "p < N": f"p < K && p < {depth}"}
    text = PROGRAM.replace("i / 96, col = i % 96", "i / N, col = i % N").replace("size = 96", "size = 1024")
    for old, new in strides.items():
        text = text.replace(old, new)
    Path("my.cu").write_text(text.replace("c, size)", "c, size, size, size)").replace("size / 96, 96", "size / 64, 64"))
    output = command("run", "my.cu", "-m", "64", "-n", "64", "-k", "32", "--device", "emulator").stdout
    assert "TEST FAIL" in output
    assert "in the program's launch" not in output if not hint else f"hint: {hint}, the product is right" in output


def test_a_right_square_product_is_not_the_cause_where_the_grid_makes_more_passes_at_others() -> None:
    own = "int i = blockIdx.x * blockDim.x + threadIdx.x;\n    int row = i / 96, col = i % 96;\n    float sum = 0;"
    strided = """float sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < M * N; i += gridDim.x * blockDim.x) {
    int row = i / N, col = i % N;"""
    text = PROGRAM.replace(own, strided).replace("= sum;", "= sum;\n    }").replace("int N)", "int M, int N, int K)")
    text = text.replace("p < N", "p < K").replace("row * N + p", "row * K + p").replace("size = 96", "size = 1024")
    Path("my.cu").write_text(
        text.replace("size * size / 96, 96", "1024, 256").replace("c, size)", "c, size, size, size)")
    )
    output = command("run", "my.cu", "--device", "emulator", "-q").stdout
    assert "(more than one pass of the grid)" in output
    assert "hint: at 512×512×512, where the grid makes one pass, the product is right" in output


STEPS = """
#define T 128
#define S 8
__global__ void mul(const float *A, const float *B, float *C, int M, int N, int K)
{
    int row = blockIdx.y * T + threadIdx.y * 8, column = blockIdx.x * T + threadIdx.x * 8;
    float sums[8][8] = {};
    for (int p = 0; p < K; p += S) {
        for (int i = 0; i < S; i++)
            for (int y = 0; y < 8; y++)
                for (int x = 0; x < 8; x++) sums[y][x] += A[(row + y) * K + p + i] * B[i * N + column + x];
        B += S * N;
    }
    for (int y = 0; y < 8; y++)
        for (int x = 0; x < 8; x++) C[(row + y) * N + column + x] = sums[y][x];
}
int main()
{
    for (int s : {128, 256}) mul<<<dim3(s / T, s / T), dim3(16, 16)>>>(a, b, c, s, s, s);
}
"""
EQUAL = "hint: the product is right where n = k, as at "


@pytest.mark.parametrize(
    ("length", "verdict", "hints"),
    [("N", "TEST PASS if m and n are multiples of 128 and k is a multiple of 8", False), ("K", "TEST FAIL", True)],
)
def test_a_kernel_of_squares_is_run_with_different_sides_of_its_multiples(
    length: str, verdict: str, hints: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mmcore_sources.cuda_file.repairs.trial.ALL_SECONDS", 0.1)
    text = STEPS.replace("S * N", f"S * {length}").replace("B[i * N", f"B[i * {length}")
    Path("my.cu").write_text(text)
    output = command("run", "my.cu", "--device", "emulator").stdout
    assert (output.splitlines()[-1], EQUAL in output) == (verdict, hints), output
    assert "whole tiles of different sides" in output


@pytest.mark.parametrize("sizes", ["1x1x101", "64x48x150"])
def test_a_product_that_is_wrong_from_some_k_on_is_not_said_to_need_equal_sizes(
    sizes: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mmcore_sources.cuda_file.repairs.trial.ALL_SECONDS", 0.1)
    Path("my.cu").write_text("""
__global__ void mul(const float *A, const float *B, float *C, int M, int N, int K)
{
    int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x, terms = K >= 100 ? K / 2 : K;
    float sum = 0;
    if (row >= M || column >= N) return;
    for (int p = 0; p < terms; p++) sum += A[row * K + p] * B[p * N + column];
    C[row * N + column] = sum;
}
""")
    output = command("run", "my.cu", "--block", "16x16", "--size", sizes, "--device", "emulator").stdout
    assert "the product is right where" not in output
    assert output.endswith("TEST FAIL\n")


SKIPPING = """
__global__ void mul(const float *A, const float *B, float *C, int M, int N, int K)
{
    int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    float sum = 0;
    for (int p = 0; p < K; p++) {
        float x = row < M ? A[row * K + p] : 0;
        if (!__syncthreads_or(x > 1e-6f)) continue;
        if (column < N) sum += x * B[p * N + column];
    }
    if (row < M && column < N) C[row * N + column] = sum;
}
"""


def test_a_product_that_values_decide_about_is_said_to_be_right_at_no_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mmcore_sources.cuda_file.repairs.trial.ALL_SECONDS", 0.1)
    Path("my.cu").write_text(SKIPPING)
    sizes = ("-m", "129", "-n", "5", "-k", "3", "--block", "16x16")
    output = command("run", "my.cu", *sizes, "--device", "emulator", "--seed", "2").stdout
    assert "branches by a value of a matrix" in output
    assert "TEST FAIL" in output
    assert "is right" not in output

"""Commands that follow a refusal or a verdict: a pasted one gives the verdict that the first lacked."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from mmcore_cuda.cuda_source.program import read_program
from mmcore_sources.cuda_file.inference.body import Body
from mmcore_sources.cuda_file.inference.flags import flags_of
from tests.command_line import mmcore as command
from tests.kernel_sources import kernel_source
from tests.sources.test_source_file import NAIVE, block_and_grid, kernel

pytestmark = pytest.mark.usefixtures("folder")

LINEAR = """
__global__ void linear(const float *x, const float *w, const float *bias, float *y, int m, int n, int k, int relu)
{
    int i = blockIdx.y * blockDim.y + threadIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= m || j >= n)
        return;
    float sum = bias[j];
    for (int p = 0; p < k; ++p)
        sum += x[i * k + p] * w[p * n + j];
    if (relu && sum < 0)
        sum = 0;
    y[i * n + j] = sum;
}
"""
ALONE = """
__global__ void alone(const double *A, const double *B, double *C, int n)
{
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) {
            double sum = 0;
            for (int k = 0; k < n; ++k)
                sum += A[i * n + k] * B[k * n + j];
            C[i * n + j] = sum;
        }
}
void run(double *A, double *B, double *C, int n) { LAUNCH; }
"""
NAIVE_ROWS_OF_N = """
__global__ void product(const float *A, const float *B, float *C, int m, int n, int k)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || col >= n)
        return;
    float sum = 0;
    for (int p = 0; p < k; ++p)
        sum += A[row * k + p] * B[col * n + p];
    C[row * n + col] = sum;
}
"""
WMMA = """
#include <mma.h>
using namespace nvcuda;
__global__ void whole(const half *A, const half *B, half *C, int n)
{
    int row = (blockIdx.y * 4 + threadIdx.y) * 16, column = (blockIdx.x * blockDim.x + threadIdx.x) / 32 * 16;
    wmma::fragment<wmma::accumulator, 16, 16, 16, half> sum;
    wmma::fill_fragment(sum, 0);
    for (int k = 0; k < n; k += 16) {
        wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a;
        wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> b;
        wmma::load_matrix_sync(a, A + row * n + k, n);
        wmma::load_matrix_sync(b, B + k * n + column, n);
        wmma::mma_sync(sum, a, b, sum);
    }
    wmma::store_matrix_sync(C + row * n + column, sum, n, wmma::mem_row_major);
}
void run(half *A, half *B, half *C, int n) { whole<<<dim3((n + 63) / 64, (n + 63) / 64), dim3(128, 4)>>>(A, B, C, n); }
"""


def ran() -> str:
    """Return the output of a run of my.cu."""
    return command(*shlex.split("run my.cu --device emulator")).output


def pasted(output: str) -> str:
    """Return the output of the command that an output suggests."""
    suggested = next(each for each in output.splitlines() if each.startswith("  mmcore "))
    return command(*shlex.split(suggested)[1:], "--no-hazards").output


@pytest.mark.parametrize("size", ["int n = 128;", "int n = atoi(text);"])
@pytest.mark.parametrize("grid", ["(n + 15) / 16, (n + 15) / 16", "n / 16, n / 16"])
def test_an_exchange_of_grid_and_block_is_named(size: str, grid: str, folder: Path) -> None:
    launch = f"dim3 block(16, 16), grid({grid}); mul<<<block, grid>>>(A, B, C, n);"
    (folder / "my.cu").write_text(f"{NAIVE}void run(char *text, float *A, float *B, float *C) {{ {size} {launch} }}\n")
    output = ran()
    assert "exchanges grid and block" in output
    assert "TEST PASS" in pasted(output)


def test_an_exchange_of_grid_and_block_is_named_in_the_words_of_the_file(folder: Path) -> None:
    sizes = "dim3 block(16, 16), grid((columns + 15) / 16, (rows + 15) / 16);"
    launch = f"void run(int rows, int columns, int k) {{ {sizes} mul<<<block, grid>>>(A, B, C, rows, columns, k); }}"
    (folder / "my.cu").write_text(f"{kernel_source('tiled_16')}{launch}\n")
    assert "are 16×16 and ceil(columns / 16)×ceil(rows / 16)\n" in ran()


@pytest.mark.parametrize("launch", ["mul<<<n / 16, 256>>>", "mul<<<16, 256>>>", "mul<<<dim3(n, n), 1>>>"])
def test_other_launches_exchange_nothing(launch: str) -> None:
    assert kernel(f"{NAIVE}void run(float *A, float *B, float *C, int n) {{ {launch}(A, B, C, n); }}\n").launch


@pytest.mark.parametrize(
    ("main", "others", "named"),
    [
        (
            '#include "a.cuh"\nint main() { mul<<<1, 9>>>(A, B, C, 9); }\n',
            {"a.cuh": NAIVE.replace("mul(", "other("), "b.cu": NAIVE},
            ["b.cu"],
        ),
        ("int main() { launch_mul(); mul(); }\n", {"a.cu": NAIVE, "b.cu": NAIVE.replace("mul(", "other(")}, ["a.cu"]),
        ("int main() {}\n", {"a.cu": NAIVE, "b.cu": "__global__ void fill(float *x) { x[0] = 0; }\n"}, ["a.cu"]),
        ("int main() {}\n", {"a.cu": "__global__ void fill(float *x) { x[0] = 0; }\n"}, []),
    ],
)
def test_a_file_without_kernels_names_those_of_its_project(
    main: str, others: dict[str, str], named: list[str], folder: Path
) -> None:
    for name, text in {"main.cu": main, **others}.items():
        (folder / name).write_text(text)
    output = command(*shlex.split("run main.cu --device emulator")).output
    assert [each.split()[2] for each in output.splitlines() if each.startswith("  mmcore")] == named, output
    assert not named or "TEST PASS" in pasted(output)


def test_a_product_of_a_header_is_run_in_place_of_those_of_other_files(folder: Path) -> None:
    (folder / "my.cu").write_text('#include "product.cuh"\nint main() {}\n')
    (folder / "product.cuh").write_text(NAIVE)
    (folder / "wrong.cu").write_text(NAIVE.replace("sum;", "sum + 1;"))
    assert "TEST PASS" in ran()


def test_a_launched_function_without_global_is_named(folder: Path) -> None:
    (folder / "my.cu").write_text(f"{NAIVE.replace('__global__ ', '')}\nint main() {{ mul<<<1, 9>>>(A, B, C, 9); }}\n")
    (folder / "other.cu").write_text(NAIVE)
    result = command(*shlex.split("run my.cu --device emulator"))
    assert re.search(r"line \d+ launches mul, which line 1 of my.cu defines without __global__", result.output)
    assert (result.exit_code, "other.cu" in result.output) == (2, False)


def test_zeros_are_passed_for_a_bias_and_for_a_flag_that_a_kernel_only_tests(folder: Path) -> None:
    (folder / "my.cu").write_text(LINEAR)
    output = command(*shlex.split("run my.cu --device emulator --size 32")).output
    assert "bias=zeros" in output
    assert "a guess: of 4 pointers" in " ".join(output.split())
    assert "TEST PASS" in output


@pytest.mark.parametrize(
    ("test", "flags"),
    [("if (!flag) return;", True), ("if (flag == 1 && i < n) return;", True), ("int x = flag ? 1 : 2;", True),
     ("if (flag < i) return;", False), ("int x = flag + 1;", False), ("if (flag == n) return;", False)],
)  # fmt: skip
def test_a_number_is_a_flag_where_it_is_a_condition_alone(test: str, flags: bool) -> None:
    (function,) = read_program(LINEAR.replace("if (relu && sum < 0)", test)).functions
    assert flags_of(Body(function), ["flag", "n"]) == ["flag"] * flags


@pytest.mark.parametrize("launch", ["alone<<<1, 1>>>", "dim3 one(1, 1, 1); alone<<<one, one>>>"])
def test_a_thread_that_computes_the_whole_product_is_launched_alone(launch: str) -> None:
    assert block_and_grid(kernel(ALONE.replace("LAUNCH", f"{launch}(A, B, C, n)"))) == ("b1", "1")


def test_less_work_is_suggested_where_the_time_ends(folder: Path) -> None:
    (folder / "my.cu").write_text(ALONE.replace("LAUNCH", "alone<<<1, 1>>>(A, B, C, n)"))
    output = command(*shlex.split("run my.cu --device emulator --size 64 --timeout 1")).output
    assert "16×16×16 is less work" in output
    assert "TEST PASS" in pasted(output)


def test_whole_tiles_are_suggested_under_whatever_reason_they_were_tried(folder: Path) -> None:
    (folder / "my.cu").write_text(WMMA)
    output = ran()
    assert "TEST FAIL" in output
    assert "hint: without a remainder" in output
    assert "TEST PASS" in pasted(output)


REST = """
__global__ void rest(const float *A, const float *B, float *C, int first, int m, int n, int k)
{
    int i = ROW, j = COLUMN;
    if (i < m && j < n) {
        float sum = 0;
        for (int p = 0; p < k; ++p)
            sum += A[i * k + p] * B[p * n + j];
        C[i * n + j] = sum;
    }
}
void run(const float *A, const float *B, float *C, int m, int n, int k)
{
    rest<<<GRID, dim3(16, 16)>>>(A, B, C, FIRST / 16 * 16, m, n, k);
}
"""
ROW, COLUMN = "blockIdx.y * blockDim.y + threadIdx.y", "blockIdx.x * blockDim.x + threadIdx.x"


@pytest.mark.parametrize(
    ("row", "column", "launched", "first"),
    [
        (f"first + {ROW}", COLUMN, "dim3((n + 15) / 16, 1)", "m"),
        (ROW, f"first + {COLUMN}", "dim3(1, (m + 15) / 16)", "n"),
    ],
)
def test_a_kernel_for_the_rest_of_c_is_right_with_a_whole_grid(
    row: str, column: str, launched: str, first: str, folder: Path
) -> None:
    text = REST.replace("ROW", row).replace("COLUMN", column).replace("GRID", launched).replace("FIRST", first)
    (folder / "my.cu").write_text(text)
    output = ran()
    assert "guessed: arguments" in output
    assert "hint: with --grid 'ceil(n / bx), ceil(m / by)'" in output
    assert "TEST PASS" in pasted(output)


TRANSPOSED_NAMES = """
__device__ float dot(const float *row, const float *column, int count, int step)
{
    float sum = 0;
    for (int p = 0; p < count; ++p)
        sum += row[p] * column[p * step];
    return sum;
}
__global__ void named(int n, int m, int k, const float *A, const float *B, float *C)
{
    int i = blockIdx.y * 16 + threadIdx.y, j = blockIdx.x * 16 + threadIdx.x;
    if (i < n && j < m)
        C[i * m + j] = dot(A + i * k, B + j, k, m);
}
void run(int n, int m, int k, const float *A, const float *B, float *C)
{
    named<<<dim3((m + 15) / 16, (n + 15) / 16), dim3(16, 16)>>>(n, m, k, A, B, C);
}
"""


def test_exchanged_names_of_sizes_are_a_hint(folder: Path) -> None:
    (folder / "my.cu").write_text(TRANSPOSED_NAMES)
    output = ran()
    assert "TEST PASS" in output or "TEST PASS" in pasted(output), output
    assert "--args m,n,k,A,B,C" in output or "m=n" in output


def test_a_wrong_length_of_rows_is_no_exchange_of_sizes(folder: Path) -> None:
    (folder / "my.cu").write_text(TRANSPOSED_NAMES.replace("C[i * m", "C[i * k"))
    output = ran()
    assert "TEST FAIL" in output
    assert "hint: with --args" not in output


def test_all_products_are_judged_where_another_file_launches_one(folder: Path) -> None:
    (folder / "my.cu").write_text(NAIVE + NAIVE.replace("mul(", "other("))
    launch = (
        "void run(float *A, float *B, float *C, int n) { mul<<<dim3(n / 16, n / 16), dim3(16, 16)>>>(A, B, C, n); }\n"
    )
    (folder / "main.cu").write_text(f'#include "my.h"\n{launch}')
    output = command(*shlex.split("run my.cu --device emulator --size 32 --no-hazards")).output
    assert output.count("TEST PASS") == 4  # a verdict each, and a table


def test_a_size_that_is_compared_for_another_is_no_remainder(folder: Path) -> None:
    text = """__global__ void mul(const float *A, const float *B, float *C, int widthA, int widthB) {
    int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    float sum = 0;
    if (row < widthA && column < widthB) {
        for (int i = 0; i < widthA; i++) sum += A[row * widthA + i] * B[i * widthB + column];
        C[row * widthB + column] = sum;
    }
}"""
    (folder / "my.cu").write_text(text)
    output = command(*shlex.split("run my.cu --block 16x16 --device emulator")).output
    both = "hint: the product is right at 32×48×64 and wrong at 128×48×64, without a remainder"
    assert f"{both}: it depends on which of m and k is greater" in output


def test_a_size_that_must_be_a_multiple_is_no_order_of_sizes(folder: Path) -> None:
    text = """__global__ void mul(const float *A, const float *B, float *C, int M, int N, int K) {
    __shared__ float a[16][16], b[16][16];
    int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
    float sum = 0;
    for (int part = 0; part < 4; part++) {
        int begin = part * ((K + 3) / 4), end = min(begin + (K + 3) / 4, K);
        for (int p = begin; p < end; p += 16) {
            a[threadIdx.y][threadIdx.x] = row < M && p + threadIdx.x < K ? A[row * K + p + threadIdx.x] : 0;
            b[threadIdx.y][threadIdx.x] = p + threadIdx.y < K && col < N ? B[(p + threadIdx.y) * N + col] : 0;
            __syncthreads();
            for (int i = 0; i < 16; i++) sum += a[threadIdx.y][i] * b[i][threadIdx.x];
            __syncthreads();
        }
    }
    if (row < M && col < N) C[row * N + col] = sum;
}"""
    (folder / "my.cu").write_text(text)
    output = command(*shlex.split("run my.cu --block 16x16 --device emulator")).output
    assert "with end instead of K in lines 8 and 9:" in output
    both = "hint: the product is right at 32×48×64 and wrong at 32×48×32, without a remainder"
    assert f"{both}: k must be a multiple of 64: 32 and 96 are wrong" in output
    assert "hint: without a remainder" not in output


def test_a_storage_that_is_right_in_squares_alone_is_not_suggested(folder: Path) -> None:
    (folder / "my.cu").write_text(NAIVE_ROWS_OF_N)
    result = command(*shlex.split("run my.cu --device emulator --column-major '' -q"))
    assert (result.exit_code, "with --column-major" in result.output) == (1, False)


def test_sizes_that_a_call_exchanges_are_exchanged_there() -> None:
    host = "int main() { int m = 500, n = 250, k = 125; BODY<<<dim3((n + 15) / 16, (m + 15) / 16), dim3(16, 16)>>>"
    text = NAIVE_ROWS_OF_N.replace("B[col * n + p]", "B[p * n + col]")
    Path("my.cu").write_text(text + host.replace("BODY", "product") + "(a, b, c, n, m, k); }")
    result = command("run", "my.cu", "--device", "emulator")
    line = len(text.splitlines()) + 1
    hints = re.findall("^hint: (.*)", result.stdout, re.M)
    assert hints == [f"with the sizes exchanged in the call of line {line}, the product is right at 64×128×192"]


def test_gaps_between_rows_are_no_cause_of_an_unusual_reading() -> None:
    text = NAIVE_ROWS_OF_N.replace("B[col * n + p]", "B[p * n + col]").replace("col] = sum", "col] += sum")
    Path("my.cu").write_text(text)
    result = command("run", "my.cu", "--device", "emulator")
    assert "hint: this says that the unusual reading is meant" in result.stdout


def test_parameters_that_a_function_does_not_use_are_no_missing_ones() -> None:
    Path("my.py").write_text("from numba import cuda\n@cuda.jit\ndef mul(A, B, C):\n    pass\n")
    message = "Error: mul uses none of its parameters as an array, so that it has no product\n"
    assert command("run", "my.py", "--device", "emulator").stderr == message


def test_a_hazard_of_large_products_alone_is_named() -> None:
    text = NAIVE_ROWS_OF_N.replace("B[col * n + p]", "B[p * n + col]")
    Path("my.cu").write_text(text.replace("] = sum;", "] = sum;\n    if (n > 96)\n        C[0] = row + col + 1;"))
    result = command("run", "my.cu", "--size", "128", "--device", "emulator", "--no-hints")
    assert "global-race at my.cu:12: " in result.stdout, result.stdout

"""A file's whole program: launches in other files of the project, and the kind of sizes that the program uses."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from click.testing import Result

import mmcore
from mmcore.kernel.constraints import Multiple
from mmcore_sources.cuda_file.files import inferred_of
from mmcore_sources.cuda_file.inference.expressions import LaunchText
from tests.command_line import mmcore as command
from tests.sources.test_source_file import inferred

KERNEL = """
__global__ void mul(const float *A, const float *B, float *C, int N)
{
    int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
    float sum = 0;
    GUARD
    for (int k = 0; k < N; k++)
        sum += A[row * N + k] * B[k * N + col];
    C[row * N + col] = sum;
}
"""
MAIN = """
int main(int argc, char **argv)
{
    SIZE;
    float *a, *b, *c;
    dim3 block(16, 16), grid((N + 15) / 16, (N + 15) / 16);
    mul<<<grid, block>>>(a, b, c, N);
}
"""
COUNTED = """
int main()
{
    int tiles = 40, N = tiles * 16;
    float *a, *b, *c;
    dim3 block(16, 16), grid(tiles, tiles);
    mul<<<grid, block>>>(a, b, c, N);
}
"""
ELEMENTS = """
__global__ void mul(const float *A, const float *B, float *C, int N)
{
    int at = blockIdx.x * blockDim.x + threadIdx.x, row = at / N, col = at % N;
    float sum = 0;
    for (int k = 0; k < N; k++)
        sum += A[row * N + k] * B[k * N + col];
    C[at] = sum;
}
int main()
{
    int N = 1 << 10, threads = THREADS, blocks = N * N / threads;
    mul<<<blocks, threads>>>(a, b, c, N);
}
"""
WRONG_GUARD = "if (row > N || col > N) return;"


def run(options: str = "") -> Result:
    return command("run", "my.cu", "--device", "emulator", *options.split())


@pytest.mark.parametrize(
    ("size", "guard", "options", "answer"),
    [
        ("int N = 640", "", "", "TEST PASS if m, n and k are multiples of 16"),
        ("int N = 640", "", "-q", "TEST PASS if m, n and k are multiples of 16"),
        ("int N = 640", "", "--size 65", "TEST FAIL"),
        ("int N = pow(2, 10)", "", "", "TEST PASS if m, n and k are multiples of 16"),
        ("int N = 650", "", "", "TEST FAIL"),
        ("int N = 640", WRONG_GUARD, "", "TEST FAIL"),
        ("int N = atoi(argv[1])", "", "", "TEST FAIL"),
        ("int N = atoi(argv[1]); assert((N % 16) == 0)", "", "", "TEST PASS if m, n and k are multiples of 16"),
        ("int N = atoi(argv[1]); assert_throw(N % 16 == 0, 1)", "", "", "TEST PASS if m, n and k are multiples of 16"),
        ("int N = atoi(argv[1]); assert(N > 0 && !(N % 16))", "", "", "TEST PASS if m, n and k are multiples of 16"),
        ("int N = atoi(argv[1]); if (N < 1 || N % 16 != 0) { return 1; }", "", "",
         "TEST PASS if m, n and k are multiples of 16"),
        ("int N = atoi(argv[1]); if (N % 16) exit(1)", "", "", "TEST PASS if m, n and k are multiples of 16"),
        ("int N = atoi(argv[1]); assert(N % 16 == 0 || N == 9)", "", "", "TEST FAIL"),
        ("int N = atoi(argv[1]); assert(N % 8 == 0)", "", "", "TEST FAIL"),
        ("int N = atoi(argv[1]); if (N % 16 == 0) return 1", "", "", "TEST FAIL"),
        ("int N = atoi(argv[1]); if (N % 16) N += 16 - N % 16", "", "", "TEST FAIL"),
        ("int N; scanf(\"%d\", &N)", "", "", "TEST FAIL"),
        ("for (int N = 16; N < 99; N++)", "", "", "TEST FAIL"),
    ],
)  # fmt: skip
def test_an_unguarded_kernel_is_judged_at_the_sizes_of_its_program(
    size: str, guard: str, options: str, answer: str, folder: Path
) -> None:
    text = (KERNEL + MAIN).replace("SIZE", size).replace("GUARD", guard)
    (folder / "my.cu").write_text(text.replace(";;", ";"))
    result = run(options)
    assert result.stdout.splitlines()[-1] == answer
    passed = answer.startswith("TEST PASS")
    assert ("warning: wrong at sizes that its program does not use: out-of-bounds" in result.stdout) == passed
    assert ("hint: " in result.stdout) != passed


@pytest.mark.parametrize(
    ("text", "multiple"),
    [
        ((KERNEL + COUNTED).replace("GUARD", ""), 16),
        (ELEMENTS.replace("THREADS", "256"), 16),
        (ELEMENTS.replace("THREADS", "512"), 32),
    ],
    ids=["a number of tiles", "elements", "elements that are no square"],
)
def test_a_number_of_blocks_is_that_of_the_program(text: str, multiple: int, folder: Path) -> None:
    (folder / "my.cu").write_text(text)
    result = run()
    assert result.stdout.splitlines()[-1] == f"TEST PASS if m, n and k are multiples of {multiple}", result.stdout


@pytest.mark.parametrize(
    "size",
    [
        "int N = argc > 1 ? atoi(argv[1]) : 512",
        "int N = (argc < 2) ? 512 : std::stoi(argv[1])",
        "int size = argc > 1 ? strtol(argv[1], nullptr, 10) : 512; const int N = size",
        'const char *text = getenv("N"); int N = text ? atoi(text) : 512',
        "int N = 512; if (argc > 1) { N = atoi(argv[1]); } if (N > 4096) N = 4096",
        'int N = sscanf(argv[1], "%d", &argc) ? argc : 512',
    ],
)
def test_a_size_that_the_user_may_give_has_remainders(size: str) -> None:
    text = (KERNEL + MAIN).replace("SIZE", size).replace("GUARD", "")
    assert not inferred(text).attributes["program_sizes"]
    assert inferred(text.replace(size, "int N = argc ? 512 : unknown()")).attributes["program_sizes"]


@pytest.mark.parametrize(
    ("size", "whole"),
    [
        ("int S = argc > 1 ? atoi(argv[1]) : 100, N = (S + 15) / 16 * 16", True),
        ("int N = 100; if (argc > 1) N = std::stoi(argv[1]); N = up(N)", True),
        ("int S = argc == 2 ? atoi(argv[1]) : 512, N = S * 48", True),
        ("int N = 8 * atoi(argv[1])", False),
        ("int N = std::min(atoi(argv[1]), 32)", False),
    ],
)
def test_a_size_that_the_program_makes_of_input_may_be_whole_tiles(size: str, whole: bool) -> None:
    text = (KERNEL + MAIN).replace("SIZE", size).replace("GUARD", "")
    up = "int up(int number) { return (number + 31) / 32 * 32; }\n"
    assert inferred(up + text).attributes["program_sizes"] == (Multiple(("m", "n", "k"), 16),) * whole


@pytest.mark.parametrize(
    ("first", "statement", "whole"),
    [
        ("static int N = 640;", "", True),
        ("int N;", "N = 640;", True),
        ("int N = 0;", "N = (atoi(argv[1]) + 15) / 16 * 16;", True),
        ("int N;", "N = 650;", False),
        ("int N = 640;", 'scanf("%d", &N);', False),
        ("int N = 640;", "if (argc > 1) N = atoi(argv[1]);", False),
        ("int N;", "for (N = 64; N < 100; N++)", False),
        ("int N;", "N = 640; host(); N = 650;", False),
    ],
)
def test_a_size_may_be_a_variable_of_the_file(first: str, statement: str, whole: bool) -> None:
    host = MAIN.replace("main(int argc, char **argv)", "host()").replace("SIZE;", "")
    text = f"{first}\n{KERNEL.replace('GUARD', '')}{host}int main(int argc, char **argv) {{ {statement} host(); }}\n"
    assert inferred(text).attributes["program_sizes"] == (Multiple(("m", "n", "k"), 16),) * whole


def test_a_program_with_a_wrong_size_of_its_own_is_not_said_to_be_right(folder: Path) -> None:
    text = (KERNEL + MAIN).replace("SIZE", "int N = 640").replace("GUARD", "")
    (folder / "my.cu").write_text(text.replace("C[row", "if (N == 48) sum = 0;\n    C[row"))
    shown = run().stdout
    assert "warning: wrong at further sizes: out-of-bounds" in shown
    assert "its program does not use" not in shown


def test_a_kernel_wrong_where_rows_exceed_columns_fails_at_whole_tiles_too(folder: Path) -> None:
    text = (KERNEL + MAIN).replace("SIZE", "int N = 640").replace("GUARD", "if (row >= N || col >= N) return;")
    text = text.replace("int N)", "int M, int N, int K)").replace("k < N", "k < K").replace("A[row * N", "A[row * K")
    text = text.replace("(N + 15) / 16", "N / 16").replace("c, N)", "c, N, N, N)")
    (folder / "my.cu").write_text(text)
    shown = run("-q").stdout
    assert "at 144×16×16 (a column of tiles)" in shown
    assert shown.endswith("TEST FAIL\n"), shown


def test_the_steps_of_loops_are_whole_too(folder: Path) -> None:
    loop = "for (int j = 0; j < N; j += 2 * 16) for (int k = j; k < j + 32; k++)"
    text = (KERNEL + MAIN).replace("SIZE", "int N = 640").replace("GUARD", "")
    assert text.count("for (int k = 0; k < N; k++)") == 1
    (folder / "my.cu").write_text(text.replace("for (int k = 0; k < N; k++)", loop))
    assert run().stdout.splitlines()[-1] == "TEST PASS if m, n and k are multiples of 32"


STRUCTURES = """
struct Matrix { int width, height; float *elements; };
__global__ void mul(Matrix A, Matrix B, Matrix C)
{
    int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < A.width; k++) sum += A.elements[row * A.width + k] * B.elements[k * B.width + col];
    C.elements[row * C.width + col] = sum;
}
void product(const Matrix A, const Matrix B, Matrix C)
{
    Matrix a, b, c;
    a.width = A.width; a.height = A.height;
    b.width = B.width; b.height = B.height;
    c.width = C.width; c.height = C.height;
    mul<<<dim3(B.width / 16, A.height / 16), dim3(16, 16)>>>(a, b, c);
}
int main()
{
    Matrix A, B, C;
    A.height = C.height = 640; A.width = 320; B.height = A.width; B.width = C.width = SIZE;
    product(A, B, C);
}
"""


@pytest.mark.parametrize(
    ("size", "answer"),
    [("32 * 8", "TEST PASS if m and n are multiples of 16"), ("8 * 25", "TEST FAIL"), ("read()", "TEST FAIL")],
)
def test_the_sizes_of_a_program_may_be_members_of_structures(size: str, answer: str, folder: Path) -> None:
    (folder / "my.cu").write_text(STRUCTURES.replace("SIZE", size))
    assert run().stdout.splitlines()[-1].startswith(answer)


@pytest.mark.parametrize(
    ("compared", "answer"),
    [("i < 1", "TEST PASS if m, n and k are multiples of 16"), ("i < 1 && col < n", "TEST FAIL")],
)
def test_a_called_function_guards_only_if_it_compares_the_size(compared: str, answer: str, folder: Path) -> None:
    load = "__device__ float load(const float *x, int n, int row, int col)\n{\n    float sum = 0;\n"
    load += f"    for (int i = 0; {compared}; i++) sum += x[row * n + col];\n    return sum;\n}}\n"
    text = load + (KERNEL + MAIN).replace("SIZE", "int N = 640").replace("GUARD", "")
    assert text.count("A[row * N + k]") == 1
    (folder / "my.cu").write_text(text.replace("A[row * N + k]", "load(A, N, row, k)"))
    assert run().stdout.splitlines()[-1] == answer


GUARDED_FRAGMENTS = """\
#include <mma.h>
using namespace nvcuda;
__global__ void mul(const half *a, const half *b, float *c, int m, int n, int k)
{
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> x;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> y;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
    int row = (blockIdx.y * 2 + threadIdx.x / 32) * 16, col = blockIdx.x * 16;
    wmma::fill_fragment(sum, 0.0f);
    if (row < m && col < n) {
        for (int i = 0; i < k; i += 16) {
            wmma::load_matrix_sync(x, a + row * k + i, k);
            wmma::load_matrix_sync(y, b + i * n + col, n);
            wmma::mma_sync(sum, x, y, sum);
        }
        wmma::store_matrix_sync(c + row * n + col, sum, n, wmma::mem_row_major);
    }
}
int main() { int m = 64, n = 96, k = SIZE; mul<<<dim3((n + 15) / 16, (m + 31) / 32), 64>>>(a, b, c, m, n, k); }
"""


@pytest.mark.parametrize(
    ("size", "answer"), [("32", "TEST PASS if m, n and k are multiples of 16"), ("read()", "TEST FAIL")]
)
def test_a_guard_of_fragments_guards_no_remainder(size: str, answer: str, folder: Path) -> None:
    (folder / "my.cu").write_text(GUARDED_FRAGMENTS.replace("SIZE", size))
    assert run().stdout.splitlines()[-1] == answer


def test_more_warps_are_a_hint_where_the_block_is_a_guess(folder: Path) -> None:
    text = GUARDED_FRAGMENTS.partition("int main")[0].replace("row < m && col < n", "true")
    (folder / "my.cu").write_text(text)
    output = run("--size 64x64x32").stdout
    assert "hint: with --block 64 the product is right at " in output


GUARDED_VECTORS = """\
#include <cassert>
__global__ void mul(const float *A, const float *B, float *C, int m, int n, int k)
{
    int row = blockIdx.y * 8 + threadIdx.y, col = (blockIdx.x * 8 + threadIdx.x) * 4;
    if (row >= m || col >= n) return;
    float4 sum = make_float4(0, 0, 0, 0);
    for (int p = 0; p < k; p++) {
        float a = A[row * k + p];
        float4 b = *reinterpret_cast<const float4 *>(&B[p * n + col]);
        sum.x += a * b.x, sum.y += a * b.y, sum.z += a * b.z, sum.w += a * b.w;
    }
    *reinterpret_cast<float4 *>(&C[row * n + col]) = sum;
}
int main() { SIZES; dim3 grid((n + 31) / 32, (m + 7) / 8); mul<<<grid, dim3(8, 8)>>>(a, b, c, m, n, k); }
"""


@pytest.mark.parametrize(
    ("sizes", "answer"),
    [
        ("int m = 33, n = 36, k = 37", "TEST PASS if n is a multiple of 4"),
        ("int m = read(), n = read(), k = read(); assert(n % 4 == 0)", "TEST PASS if n is a multiple of 4"),
        ("int m = 33, n = 37, k = 36", "TEST FAIL"),
        ("int m = read(), n = read(), k = read()", "TEST FAIL"),
    ],
)
def test_a_guard_of_vectors_guards_no_remainder(sizes: str, answer: str, folder: Path) -> None:
    (folder / "my.cu").write_text(GUARDED_VECTORS.replace("SIZES", sizes))
    assert run("--no-hints").stdout.splitlines()[-1] == answer


@pytest.mark.parametrize(("depth", "answer"), [(128, "TEST PASS if k is a multiple of 4"), (126, "TEST FAIL")])
def test_words_of_small_elements_divide_the_rows_that_they_are_read_from(depth: int, answer: str, folder: Path) -> None:
    text = """
__global__ void mm(const int8_t *A, const int8_t *Bt, int *C, int M, int N, int K)
{
    int row = blockIdx.y * 8 + threadIdx.y, column = blockIdx.x * 8 + threadIdx.x, sum = 0;
    if (row >= M || column >= N) return;
    const int *a = reinterpret_cast<const int *>(A + row * K), *b = (const int *)(Bt + column * K);
    for (int p = 0; p < K / 4; p++) sum = __dp4a(a[p], b[p], sum);
    C[row * N + column] = sum;
}
int main()
{
    const int M = 64, N = 96, K = DEPTH;
    mm<<<dim3((N - 1) / 8 + 1, (M - 1) / 8 + 1), dim3(8, 8)>>>(A, B, C, M, N, K);
}
"""
    (folder / "my.cu").write_text(text.replace("DEPTH", str(depth)))
    assert run("--no-hints").stdout.splitlines()[-1] == answer


def test_the_lines_that_leave_remainders_out_are_named(folder: Path) -> None:
    tiled = """__global__ void mm(const float *A, const float *B, float *C, int n)
{
    int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
    float sum = 0;
    for (int t = 0; t < n / 16; t++)
        for (int k = 16 * t; k < 16 * t + 16; k++) sum += A[row * n + k] * B[k * n + col];
    C[row * n + col] = sum;
}
int main()
{
    int n = 640;
    float *A, *B, *C;
    mm<<<dim3(n / 16, n / 16), dim3(16, 16)>>>(A, B, C, n);
}
"""
    (folder / "my.cu").write_text(tiled)
    steps, grid = (
        "line 5 counts n / 16 whole steps",
        "the grid n // 16, n // 16 (as launched in line 13) is rounded down",
    )
    for options, named in (("", True), ("--size 64", True), ("--size 64 --no-hazards", False)):
        shown = run(options).stdout
        assert (f"remainders are left out: {steps} and leaves the rest of k out, and {grid}\n" in shown) == named


@pytest.mark.parametrize(
    ("grid", "rounds_down", "vectors"),
    [
        ("n // 16, m", True, {}),
        ("ceil(m / (16 * bx // 32)), ceil(n / 16)", False, {}),
        ("max(1, m // 16)", True, {}),
        ("ceil(n // 4 / 16), ceil(m / 16)", False, {"n": 4}),
        ("(n - 1) // bx + 1, 1 + m // by", False, {}),
        ("(n - 1) // bx + 1, (m - 16) // 16 + 1", True, {}),
    ],
)
def test_a_quotient_of_a_size_alone_rounds_a_grid_down(grid: str, rounds_down: bool, vectors: dict[str, int]) -> None:
    assert (LaunchText(grid).rounds_down, LaunchText(grid).vectors) == (rounds_down, vectors)


STEPS = """__global__ void mm(const float *A, const float *B, float *C, int m, int n, int k)
{
    __shared__ float a[3][16][8], b[3][8][16];
    int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 16 + y, col = blockIdx.x * 16 + x;
    float sum = 0;
    for (int s = 0; s < FILLED; s++) {
        if (x < 8) a[s][y][x] = A[row * k + s * 8 + x];
        if (y < 8) b[s][y][x] = B[(s * 8 + y) * n + col];
    }
    for (int t = 0; t < k / 8; t++) {
        int s = (t + FILLED) % 3;
        if (t + FILLED < k / 8) {
            if (x < 8) a[s][y][x] = A[row * k + (t + FILLED) * 8 + x];
            if (y < 8) b[s][y][x] = B[((t + FILLED) * 8 + y) * n + col];
        }
        __syncthreads();
        for (int i = 0; i < 8; i++) sum += a[t % 3][y][i] * b[t % 3][i][x];
        __syncthreads();
    }
    C[row * n + col] = sum;
}
int main()
{
    int m = 512, n = 512, k = 512;
    float *A, *B, *C;
    mm<<<dim3(n / 16, m / 16), dim3(16, 16)>>>(A, B, C, m, n, k);
}
"""


@pytest.mark.parametrize(
    ("filled", "options", "answer"),
    [
        (1, "--size 16x16x8", "TEST PASS if m and n are multiples of 16 and k is a multiple of 8"),
        (1, "--size 16x16x24", "TEST PASS if m and n are multiples of 16 and k is a multiple of 8"),
        (
            2,
            "--size 16x16x24",
            "TEST PASS if m and n are multiples of 16 and k is a multiple of 8 and k is at least 16",
        ),
        (2, "--size 16x16x8", "TEST FAIL"),
    ],
)
def test_a_loop_says_what_k_is_a_multiple_of(filled: int, options: str, answer: str, folder: Path) -> None:
    (folder / "my.cu").write_text(STEPS.replace("FILLED", str(filled)))
    assert run(options).stdout.splitlines()[-1] == answer


def test_products_of_fewer_steps_say_what_k_is_a_multiple_of(folder: Path) -> None:
    text = STEPS.replace("FILLED", "1").replace("t < k / 8", "t < (k + STEP - 1) / STEP")
    text = text.replace("float sum = 0;", "const int STEP = 8;\n    float sum = 0;")
    assert text.count("STEP") == 3
    (folder / "my.cu").write_text(text)
    assert run().stdout.splitlines()[-1] == "TEST PASS if m and n are multiples of 16 and k is a multiple of 8"


@pytest.mark.parametrize(
    ("guard", "store", "declared"),
    [
        ("", "", 'constraints=(Multiple(("n",), 16), Multiple(("m",), 16), Multiple(("k",), 4)),'),
        ("if (row >= m || col >= n) return;", "", 'constraints=(Multiple(("k",), 4),),'),
        (
            "bool inside = row < m && col < n;",
            "if (inside) ",
            'constraints=(Multiple(("m", "n"), 16), Multiple(("k",), 4)),',
        ),
    ],
)
def test_a_package_of_an_unguarded_kernel_declares_its_whole_tiles(
    guard: str, store: str, declared: str, folder: Path
) -> None:
    text = KERNEL.replace("int N", "int m, int n, int k").replace("GUARD", guard)
    loop = "for (int i = 0; i < k; i += 4) for (int j = i; j < i + 4; j++)"
    text = text.replace("for (int k = 0; k < N; k++)", loop).replace("row * N + k", "row * k + j")
    text = text.replace("B[k * N + col]", "B[j * n + col]").replace("C[row * N", f"{store}C[row * n")
    (folder / "my.cu").write_text(text)
    assert command("new-plugin", "acme.whole", "--from", "my.cu").exit_code == 0
    (module,) = folder.rglob("whole.py")
    lines = module.read_text().splitlines()
    assert [each.strip() for each in lines if "constraints" in each] == [declared]


def test_a_fault_of_remainders_ends_with_a_command_for_whole_tiles(folder: Path) -> None:
    (folder / "my.cu").write_text(KERNEL.replace("GUARD", ""))
    assert run().stdout.splitlines()[-2].startswith("  mmcore run my.cu -m 32 -n 32 -k 32")
    assert run("-m 32 -n 32 -k 32").exit_code == 0


def test_a_launch_is_found_in_another_file_of_the_project(folder: Path) -> None:
    (folder / "my.cu").write_text(KERNEL.replace("GUARD", "").replace("16", "EDGE"))
    (folder / "main.cu").write_text(
        '#include "my.cu"\n#define EDGE 8\n' + MAIN.replace("16", "EDGE").replace("SIZE", "int N = 64")
    )
    result = run()
    assert "block            8×8 (64 threads)" in result.stdout, result.output
    assert "EDGE 8 (as defined in line 2 of main.cu)" in result.stderr
    assert "as launched in line 9 of main.cu" in " ".join(result.stderr.split())


def test_another_file_launches_a_kernel_of_its_own_with_the_same_name(folder: Path) -> None:
    (folder / "my.cu").write_text(KERNEL.replace("GUARD", ""))
    (folder / "main.cu").write_text((KERNEL + MAIN).replace("16", "8").replace("SIZE", "int N = 64"))
    assert "main.cu" not in run().stderr


def test_a_comment_in_another_file_launches_nothing(folder: Path) -> None:
    (folder / "my.cu").write_text(KERNEL.replace("GUARD", ""))
    other = "// faster than mul\n#define EDGE 4\n" + (KERNEL + MAIN).replace("mul", "other").replace("16", "EDGE")
    (folder / "other.cu").write_text(other.replace("GUARD", "").replace("SIZE", 'int N = 64; puts("mul")'))
    assert "16×16" in run().stderr


def test_an_instance_in_the_file_gives_the_values_of_a_template(folder: Path) -> None:
    template = "template <int EDGE>" + KERNEL.replace("GUARD", "").replace("16", "EDGE")
    instance = "template __global__ void mul<8>(const float *, const float *, float *, int);"
    (folder / "my.cu").write_text(f"{template}{instance}\n")
    assert "EDGE 8 (as instantiated in line 11)" in run().stderr


def test_a_comment_may_be_in_any_encoding(folder: Path) -> None:
    (folder / "my.cu").write_bytes(b"// \xb0\xa1\n" + KERNEL.replace("GUARD", "").encode())
    assert run("--size 32").exit_code == 0


@pytest.mark.parametrize(("array", "status"), [("", 0), ("extern __shared__ float tile[];\n", 2)])
def test_shared_memory_that_is_not_read_need_not_be_given(array: str, status: int, folder: Path) -> None:
    """Another kernel may use the shared memory that a host function gets as its argument."""
    other = "__global__ void warm(float *x) { extern __shared__ float own[]; own[0] = x[0]; }\n"
    launch = "mul<<<dim3((N + 15) / 16, (N + 15) / 16), dim3(16, 16), bytes>>>(a, b, c, N);"
    host = f"void call(float *a, float *b, float *c, int N, size_t bytes) {{ {launch} }}\n"
    (folder / "my.cu").write_text(array + other + KERNEL.replace("GUARD", "") + host)
    result = run("--entry mul --size 64")
    assert (result.exit_code, "--shared 49152" in result.stderr) == (status, status == 2), result.output
    assert run("--entry mul --size 64 --shared 0").exit_code == 0


def test_a_device_function_is_found_in_another_file_of_the_project(folder: Path) -> None:
    (folder / "place.cuh").write_text("__device__ int place(int row, int column, int length);\n")
    text = '#include "place.cuh"\n' + KERNEL.replace("row * N + col", "place(row, col, N)")
    (folder / "my.cu").write_text(text.replace("GUARD", ""))
    refused = "calls the device function place, which is declared, but which no source of its project defines"
    assert refused in run().stderr
    (folder / "place.cu").write_text("__device__ int place(int r, int c, int length) { return r * length + c; }\n")
    assert run("--size 32").exit_code == 0


VIEW = """
template <typename T> class View {
public:
    T *host_data, *device_data;
    size_t rows, cols, stride;
    static const int most = 4;
    __device__ T &operator()(int row, int col) const { return device_data[row * stride + col]; }
};
__global__ void mul(View<const float> A, const View<const float> B, View<float> C)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < A.cols; k++)
        sum += A(row, k) * B(k, col);
    if (row < C.rows && col < C.cols)
        C(row, col) = sum;
}
"""


def test_matrices_may_be_instances_of_a_class_template(folder: Path) -> None:
    (folder / "my.cu").write_text(VIEW.replace("row < C.rows && col < C.cols", "true"))
    assert run("--size 32 --block 16x16").exit_code == 0


ADD = "__global__ void add(int *a, int *b, int *c, int n) { c[n] = a[n] + b[n]; }\n"
PRODUCT_OF_A_VECTOR = """
__global__ void other(const float *A, const float *x, float *y, int M, int N)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int j = 0; j < N; j++)
        sum += A[row * N + j] * x[j];
    if (row < M) y[row] = sum;
}
"""
SCALAR_PRODUCT = """
__global__ void dot(const float *a, const float *b, float *y, int n)
{
    float sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        sum += a[i] * b[i];
    atomicAdd(y, sum);
}
"""
SUM_OF_VECTORS = """
__device__ float plus(float a, float b) { return a + b; }
__global__ void each(const float *a, const float *b, float *c, int n)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i < n) c[i] = plus(a[i], b[i]);
}
"""


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        (SCALAR_PRODUCT, "dot is not a matrix product: it indexes a and b as vectors"),
        (SUM_OF_VECTORS, "each is not a matrix product: it indexes a and b as vectors"),
        (SCALAR_PRODUCT + SUM_OF_VECTORS + KERNEL, "function mul"),
        (PRODUCT_OF_A_VECTOR, "other is not a matrix product: it indexes y and x as vectors"),
        (PRODUCT_OF_A_VECTOR + KERNEL, "function mul"),
        (ADD + ADD.replace("add", "second"), "no matrix product: none of its 2 __global__ functions has a loop"),
        (KERNEL.replace("mul(", "conv2d(") + KERNEL, "function mul"),
        (KERNEL.replace("mul(", "conv2d("), "function conv2d"),
    ],
)
def test_only_matrix_products_are_judged(text: str, answer: str, folder: Path) -> None:
    (folder / "my.cu").write_text(text.replace("GUARD", ""))
    assert answer in run("--size 32 --no-hazards").stderr


def test_a_block_that_loads_both_tiles_by_one_index_multiplies_matrices(folder: Path) -> None:
    (folder / "my.cu").write_text("""
__global__ void tile(const float *A, const float *B, float *C)
{
    __shared__ float a[256], b[256];
    int i = threadIdx.x;
    a[i] = A[i];
    b[i] = B[i];
    __syncthreads();
    float sum = 0;
    for (int k = 0; k < 16; k++) sum += a[i / 16 * 16 + k] * b[k * 16 + i % 16];
    C[i] = sum;
}
""")
    assert "vectors" not in run("--size 16 --block 256 --grid 1 --no-hazards").output


@pytest.mark.parametrize("value", ["mul<8>", "debug ? mul<4> : mul<8>"])
def test_a_variable_may_name_the_kernel_of_a_launch(value: str, folder: Path) -> None:
    template = "template <int EDGE>" + KERNEL.replace("GUARD", "").replace("16", "EDGE")
    program = MAIN.replace("SIZE", f"int N = 64; auto f = {value}").replace("mul<<<", "f<<<").replace("16", "8")
    (folder / "my.cu").write_text(template + program)
    assert "EDGE 8 (as launched in line 17)" in run("--size 32 --no-hazards").stderr


def test_the_stores_decide_which_size_is_which(folder: Path) -> None:
    text = KERNEL.replace("int N", "int N, int M, int K").replace("k < N", "k < K").replace("GUARD", "")
    text = (
        text.replace("row * N + k", "row * K + k").replace("k * N", "k * K").replace("row * N + col", "row * M + col")
    )
    (folder / "my.cu").write_text(text)
    result = run()
    assert "N=m, M=n, K=k" in " ".join(result.stderr.split())
    assert "with M instead of K in line 8" in result.stdout


@pytest.mark.parametrize(("passed", "value"), [("8", 8), ("atoi(argv[1])", 16)])
def test_a_tile_may_be_a_parameter(passed: str, value: int, folder: Path) -> None:
    text = KERNEL.replace("int N", "int N, int tile").replace("16", "tile").replace("GUARD", "")
    program = MAIN.replace("SIZE", f"int N = 64, tile = {passed}").replace("c, N", "c, N, tile").replace("16", "8")
    (folder / "my.cu").write_text(text + program)
    assert f"N=n, tile={value}" in " ".join(run("--size 32 --no-hazards").stderr.split())


def test_an_unusual_reading_ends_with_a_command_that_says_it_is_meant(folder: Path) -> None:
    (folder / "my.cu").write_text(
        KERNEL.replace("k * N + col", "col * N + k").replace("GUARD", "if (row >= N || col >= N) return;")
    )
    result = run()
    assert (result.exit_code, "unusual-reading" in result.stdout) == (1, True)
    assert "mmcore run my.cu --column-major=B -m 128" in result.stdout
    assert run("--column-major B").exit_code == 0
    unsearched = run("--size 32 --no-hazards --no-hints")
    assert (unsearched.exit_code, "unusual-reading" in unsearched.stdout) == (1, True)
    assert not mmcore.run("my.cu", 32, device="emulator", hazards=False).verified


def test_an_instruction_in_a_macro_supports_that_b_is_stored_by_columns(folder: Path) -> None:
    macro = '#define MMA(x) asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 %0;" : "=r"(x))\n'
    (folder / "mma.h").write_text(macro)
    text = KERNEL.replace("k * N + col", "col * N + k").replace("GUARD", "if (N < 0) { int x; MMA(x); }")
    (folder / "my.cu").write_text('#include <mma.h>\n#include "mma.h"\n' + text)
    assert 'because of the word "row.col"' in run("--size 32 --no-hazards").stdout


def test_a_kernel_of_an_included_file_may_take_structures(folder: Path) -> None:
    kernel = """struct Matrix { int width, height; float *elements; };
__global__ void mul(Matrix a, Matrix b, Matrix c)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= a.height || column >= b.width) return;
    float sum = 0;
    for (int i = 0; i < a.width; i++) sum += a.elements[row * a.width + i] * b.elements[i * b.width + column];
    c.elements[row * c.width + column] = sum;
}
"""
    (folder / "kernel.cu").write_text(kernel)
    (folder / "my.cu").write_text("#include <kernel.cu>\nint main() { mul<<<dim3(4, 4), dim3(16, 16)>>>(a, b, c); }\n")
    result = run("--size 33x17x20 --block 16x16")
    assert result.exit_code == 0, result.output


@pytest.mark.parametrize(
    ("sizes", "passes"),
    [
        ("dim3 grid(N / 16, N / 16); if (N % 16 != 0) { grid.x++; grid.y += 1; }", True),
        ("int blocks = N / 16; if (N % 16) ++blocks; dim3 grid(blocks, blocks);", True),
        ("dim3 grid(N / 16, N / 16); if (N % 16) grid.x++;", False),
        ("dim3 grid(N / 16, N / 16); if (N > 99) { grid.x++; grid.y++; }", False),
        ("int blocks = N / 16; dim3 grid(blocks, blocks);\nif (N % 16) ++blocks;", False),
    ],
)
def test_a_quotient_may_be_rounded_up_by_a_later_statement(sizes: str, passes: bool, folder: Path) -> None:
    guarded = KERNEL.replace("GUARD", "if (row >= N || col >= N) return;")
    host = f"void product(float *a, int N) {{\n{sizes}\nmul<<<grid, dim3(16, 16)>>>(a, a, a, N);\n}}\n"
    (folder / "my.cu").write_text(guarded + host)
    assert (run("--size 43").exit_code == 0) == passes


def test_a_header_that_needs_its_includer_names_it(folder: Path) -> None:
    (folder / "Makefile").write_text("")
    (folder / "kernels").mkdir()
    header = KERNEL.replace("GUARD", "if (row >= N || col >= N) return;").replace("float", "real")
    (folder / "kernels" / "mul.cuh").write_text(header)
    (folder / "kernels" / "all.cuh").write_text('#include "mul.cuh"\n')
    (folder / "main.cu").write_text('typedef float real;\n#include "kernels/all.cuh"\n')
    words = ("run", "kernels/mul.cuh", "--device", "emulator", "--block", "16")
    refused = command(*words)
    assert refused.exit_code == 2
    assert 'identifier "real" is undefined' in refused.stderr
    assert "\nmain.cu includes mul.cuh, and may declare what it lacks\n" in refused.stderr
    pasted = command(*shlex.split(refused.stderr.splitlines()[-1])[1:])
    assert pasted.exit_code == 0, pasted.output
    (folder / "main.cu").unlink()
    assert "includes" not in command(*words).stderr


def test_a_header_in_angle_brackets_may_be_beside_the_file(folder: Path) -> None:
    (folder / "edge.h").write_text("#define EDGE 16\n")
    (folder / "my.cu").write_text("#include <edge.h>\n" + KERNEL.replace("16", "EDGE").replace("GUARD", ""))
    assert run("--size 32").exit_code == 0


RACING = """
__global__ void mul(const float *A, const float *B, float *C, int M, int N, int K)
{
    __shared__ float row[128];
    int x = blockIdx.x * 128 + threadIdx.x;
    for (int y = blockIdx.y * 128; y < blockIdx.y * 128 + 128; y++) {
        float sum = 0;
        for (int k = 0; k < K; k += 128) {
            row[threadIdx.x] = A[y * K + k + threadIdx.x];
            __syncthreads();
            for (int p = 0; p < 128; p++) sum += row[p] * B[(k + p) * N + x];
        }
        C[y * N + x] = sum;
    }
}
int main()
{
    int M = 512, N = 512, K = 512;
    float *A, *B, *C;
    mul<<<dim3(N / 128, M / 128), 128>>>(A, B, C, M, N, K);
}
"""


def test_a_race_at_the_sizes_of_the_program_fails_where_the_usual_sizes_are_others(folder: Path) -> None:
    (folder / "my.cu").write_text(RACING)
    shown = run("-q --timeout 300").stdout
    assert "shared-race at my.cu:9: at 128×128×128" in shown
    assert shown.splitlines()[-1] == "TEST FAIL"


PERSISTENT = """
__global__ void mul(const float *A, const float *B, float *C, int m, int n, int k)
{
    volatile __shared__ float last;
    for (int tile = blockIdx.x; tile < (m >> 7) * (n / 16); tile += gridDim.x)
        for (int r = threadIdx.x / 16; r < 128; r += 16) {
            int row = tile / (n / 16) * 128 + r, col = tile % (n / 16) * 16 + threadIdx.x % 16;
            float sum = 0;
            for (int i = 0; i < k; i++)
                sum += A[row * k + i] * B[i * n + col];
            STORE
            C[row * n + col] = sum;
        }
}
"""


@pytest.mark.parametrize(
    ("store", "answer"), [("", "TEST PASS at 128×32×32; wrong at"), ("last = r; sum += 0 * last;", "TEST FAIL")]
)
def test_a_small_product_without_a_whole_tile_is_no_fault_of_a_named_size(
    store: str, answer: str, folder: Path
) -> None:
    (folder / "my.cu").write_text(PERSISTENT.replace("STORE", store))
    result = run("-m 128 -n 32 -k 32 --block 256 --grid 2 -q")
    assert result.stdout.splitlines()[-1].startswith(answer), result.stdout
    assert "unwritten-output: at" in result.stdout


INSTANCES = """#include "api.h"
namespace inner { template <int T> __device__ float multiply(const float *a, const float *b, int i, int j, int n)
{ float sum = 0; for (int p = 0; p < n; ++p) sum += a[i * n + p] * b[p * n + j]; return sum; } }
template <int T> __global__ void product(const float *a, const float *b, float *c, int n)
{
    int i = blockIdx.y * T + threadIdx.y, j = blockIdx.x * T + threadIdx.x;
    if (i < n && j < n) c[i * n + j] = inner::multiply<T>(a, b, i, j, n);
}
namespace api {
template <int T> Status multiply(const float *a, const float *b, float *c, int n)
{
    product<T><<<dim3((n + T - 1) / T, (n + T - 1) / T), dim3(T, T)>>>(a, b, c, n);
    return checked<T>();
}
template Status multiply<16>(const float *, const float *, float *, int);
}
"""


def test_instances_of_host_templates_are_host_code(folder: Path) -> None:
    declared = "template <int T> Status multiply(const float *, const float *, float *, int);"
    other = "template <int T> Status checked() { return cudaGetLastError() ? BAD : GOOD; }"
    (folder / "api.h").write_text(f"namespace api {{ enum Status {{ GOOD, BAD }}; {declared} {other} }}\n")
    (folder / "my.cu").write_text(INSTANCES)
    assert run("-q --size 20").exit_code == 0


@pytest.mark.parametrize(
    ("main", "multiple"),
    [
        ("const int sizes[3] = {512, 48, 640}; for (int i = 0; i < 3; i++) { const int N = sizes[i]; LAUNCH }", 16),
        ("int sizes[] = {512, 650}; for (int i = 0; i < COUNT(sizes); ++i) { int N = sizes[i]; LAUNCH }", 0),
        ("int sizes[] = {64, 96}; for (int i = 0; i < sizeof sizes / 4; ++i) { int N = sizes[i]; LAUNCH }", 16),
        ("std::vector<int> some{64, 90}; for (int i = 0; i < some.size(); i++) { int N = some[i]; LAUNCH }", 0),
        ("for (int N : {64, 128, 320}) { LAUNCH }", 16),
        ("std::vector<int> sizes = {64, 120}; for (auto N : sizes) { LAUNCH }", 0),
        ("for (int N = 64; N <= 1024; N *= 2) { LAUNCH }", 16),
        ("for (int N = 64; N <= 1024; N += 8) { LAUNCH }", 0),
        ("for (int N = 64; N <= most(); N += 32) { LAUNCH }", 16),
        ("struct { int side; } cases[] = {{64}, {96}}; for (auto &each : cases) { int N = each.side; LAUNCH }", 16),
        ("int cases[][2] = {{64, 1}, {90, 1}}; for (int i = 0; i < 2; i++) { int N = cases[i][0]; LAUNCH }", 0),
        ("for (int turn = 0; turn < 10; turn++) { int N = 640; LAUNCH }", 16),
        ("int N = 640; LAUNCH float s = 0; for (int i = 0; i < N; i++) { s += a[i * N]; c[i * N] += s; }", 16),
        ("int N = 640; N += read(); LAUNCH", 0),
    ],
)  # fmt: skip
def test_sizes_in_lists_and_loops_are_those_of_the_program(main: str, multiple: int) -> None:
    launch = "mul<<<dim3((N + 15) / 16, (N + 15) / 16), dim3(16, 16)>>>(a, b, c, N);"
    text = KERNEL.replace("GUARD", "") + "int main()\n{\n" + main.replace("LAUNCH", launch) + "\n}\n"
    asked = [each for each in inferred(text).attributes["program_sizes"] if isinstance(each, Multiple)]
    assert {each.of for each in asked} == ({multiple} if multiple else set())


@pytest.mark.parametrize(("sizes", "multiple"), [((64, 96), 16), ((64, 90), 0)])
def test_sizes_of_all_calls_of_a_function_are_those_of_the_program(sizes: tuple[int, int], multiple: int) -> None:
    launch = "mul<<<dim3((N + 15) / 16, (N + 15) / 16), dim3(16, 16)>>>(a, b, c, N);"
    run = f"void run(float *a, float *b, float *c, int N)\n{{\n{launch}\n}}\n"
    one, other = sizes
    listed = f"int sizes[] = {{{one}, {other}}};\nfor (int i = 0; i < 2; i++) run(a, b, c, sizes[i]);"
    for calls in (f"run(a, b, c, {one});\nrun(a, b, c, {other});", listed):
        found = inferred(f"{KERNEL.replace('GUARD', '')}{run}int main()\n{{\n{calls}\n}}\n")
        asked = {each.of for each in found.attributes["program_sizes"] if isinstance(each, Multiple)}
        assert asked == ({multiple} if multiple else set())


@pytest.mark.parametrize(("sizes", "multiple"), [("const int N = 96;", 16), ("", 0)])
def test_a_program_that_launches_a_kernel_twice_has_the_sizes_of_both(sizes: str, multiple: int) -> None:
    launch = "mul<<<dim3((N + 15) / 16, (N + 15) / 16), dim3(16, 16)>>>(a, b, c, N);"
    warm_up = f"void warm_up(float *a, float *b, float *c)\n{{\nint N = 1024;\n{launch}\n}}\n"
    parameters = "float *a, float *b, float *c" + ("" if sizes else ", int N")
    found = inferred(f"{KERNEL.replace('GUARD', '')}{warm_up}void multiply({parameters})\n{{\n{sizes}\n{launch}\n}}\n")
    asked = {each.of for each in found.attributes["program_sizes"] if isinstance(each, Multiple)}
    assert asked == ({multiple} if multiple else set())


@pytest.mark.parametrize(
    ("calls", "other", "whole"),
    [
        ("const int N = 64; product(a, b, c, N);", "", True),
        ("for (int N : {64, 96}) product(a, b, c, N);", "", True),
        ("int S = atoi(argv[1]), N = (S + 15) / 16 * 16; product(a, b, c, N);", "", True),
        ("int N = atoi(argv[1]); product(a, b, c, N);", "", False),
        ("product(a, b, c, 64); product(a, b, c, 90);", "", False),
        ("product(a, b, c, 64);", "void product(float *a, float *b, float *c, int N) {}", False),
    ],
)
def test_the_sizes_of_a_program_may_be_those_of_calls_in_another_file(
    calls: str, other: str, whole: bool, folder: Path
) -> None:
    host = MAIN.replace("int main(int argc, char **argv)", "void product(float *a, float *b, float *c, int N)")
    text = KERNEL.replace("GUARD", "") + host.replace("SIZE;", "").replace("float *a, *b, *c;", "")
    (folder / "my.cu").write_text('#include "my.h"\n' + text)
    (folder / "my.h").write_text("void product(float *a, float *b, float *c, int N);\n")
    (folder / "main.cpp").write_text(f'#include "my.h"\nint main(int argc, char **argv) {{ {calls} }}\n')
    (folder / "other.cpp").write_text(other)
    found = inferred_of({"file": str(folder / "my.cu")}).attributes
    assert (found["program_sizes"], found["launch"].grid) == (
        (Multiple(("m", "n", "k"), 16),) * whole,
        "ceil(n / 16), ceil(n / 16)",
    )


@pytest.mark.parametrize(
    ("made", "whole"),
    [
        ("Product product(64);", True),
        ("for (int N : {64, 96}) { Product product(N); }", True),
        ("Product small(64), large(640), odd(90);", False),
        ("int S = atoi(argv[1]); Product product((S + 15) / 16 * 16);", True),
        ("int S = atoi(argv[1]); Product product(S);", False),
    ],
)
def test_the_sizes_of_a_program_may_be_those_of_its_objects(made: str, whole: bool) -> None:
    host = MAIN.replace("int main(int argc, char **argv)", "void run()").replace("SIZE;", "")
    product = f"struct Product {{ int N; Product(int n) : N(n) {{}} {host} }};\n"
    found = inferred(f"{KERNEL.replace('GUARD', '')}{product}int main(int argc, char **argv) {{ {made} }}\n")
    assert found.attributes["program_sizes"] == (Multiple(("m", "n", "k"), 16),) * whole

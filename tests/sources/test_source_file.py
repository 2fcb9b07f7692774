"""Inference from a .cu file: function, arguments, types, parameters, block and grid."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mmcore import InvalidKernel, Kernel, Scalar
from mmcore_cuda.cuda_source.program import read_program
from mmcore_sources.cuda_file.inference.body import Body
from mmcore_sources.cuda_file.inference.expressions import LaunchText, parse_expressions, python_text
from mmcore_sources.cuda_file.inference.infer import Inferred, infer
from tests.kernel_sources import kernel_source

NAIVE = kernel_source("naive_square")
SMALL = "__global__ void fill(float *p, int n, float v) { p[threadIdx.x] = v; }\n"


def product(indexes: tuple[str, ...], parameters: str, of: str = "blockIdx.y,blockIdx.x") -> str:
    """A kernel that indexes A, B and C so, with row i, column j, and p along k."""
    a, b, c = indexes
    row, column = (f"{each} * blockDim.{each[-1]} + threadIdx.{each[-1]}" for each in of.split(","))
    return (
        f"__global__ void f({parameters}) {{ int i = {row}, j = {column}; float s = 0;"
        f" for (int p = 0; p < 9; p++) s += {a} * {b}; {c} = s; }}"
    )


def inferred(text: str, **given: Any) -> Inferred:
    return infer(Path("/folder/my.cu"), text, given)


def kernel(text: str, **given: Any) -> Kernel:
    return Kernel(**{**inferred(text, **given).attributes, "name": "file.my"}, source=Path("/folder/my.cu"))


def grid(found: Kernel) -> str:
    assert isinstance(found.launch, LaunchText)
    return found.launch.grid


def test_a_naive_kernel_is_for_square_matrices_in_blocks_of_256_threads_over_rows_and_columns() -> None:
    found = kernel(NAIVE)
    assert (found.entry, found.arguments, grid(found)) == ("mul", ("A", "B", "C", "n"), "ceil(n / bx), ceil(m / by)")
    assert [config.id for config in found.usual_configs] == ["b16"]
    assert [constraint.description for constraint in found.constraints] == ["m = n = k"]


# The function


def test_of_several_functions_the_one_with_three_pointers_is_meant_and_of_these_the_one_that_is_launched() -> None:
    other = NAIVE.replace("mul(", "other(")
    assert kernel(SMALL + NAIVE).entry == "mul"
    assert kernel(NAIVE + other + "void f() { other<<<2, 3>>>(a, b, c, n); }").entry == "other"
    assert kernel(NAIVE + other, entry="other").entry == "other"
    with pytest.raises(InvalidKernel, match=r"^my\.cu has 2 kernels, mul, other; give one, as in --entry other$"):
        kernel(NAIVE + other)


@pytest.mark.parametrize(
    ("text", "given", "reason"),
    [
        ("int main() {}", {}, "my.cu has no __global__ function with a body"),
        ("#if 0\n" + NAIVE + "#endif\n", {}, "my.cu has no __global__ function with a body"),
        ("\n__global__ void f(float *A", {},
         "my.cu has no __global__ function with a body; line 2 is not CUDA C++"),
        (NAIVE, {"entry": "f"}, "my.cu has no __global__ function f; it has mul"),
        (NAIVE, {"args": ["A", "B", "C", "q"]}, "--args: 'q' is none of A, B, C, m, n, k"),
        (NAIVE, {"args": ["A", "B", "C"]}, "--args names 3 arguments, but mul takes 4: float* A, float* B, float* C"),
        (NAIVE, {"args": ["A", "B", "n", "C"]}, "--args passes n as the parameter 'float* C', which cannot hold it"),
        (NAIVE, {"args": ["A", "B", "B", "n"]}, "--args leaves out C"),
        (NAIVE, {"grid": "q"}, "'q' in the grid 'q' is no value of a launch; there are m, n, k, lda"),
        (NAIVE, {"grid": "n.real"}, "'n.real' in the grid 'n.real' is neither a number below 2⁶³ nor a name"),
        (NAIVE, {"grid": "open('x')"}, "\"open('x')\" in the grid"),
        (NAIVE, {"grid": "n +"}, "the grid 'n +' is not arithmetic such as 'ceil(n/bx), ceil(m/by)'"),
        (NAIVE, {"grid": "2**n"}, "'2 ** n' in the grid '2**n' is neither"),
        (NAIVE, {"parameters": {"TILE": 3}}, "my.cu has no TILE for --config to set"),
        ("#define TILE 4\n" + NAIVE.replace("float sum", "float t[TILE], sum"), {"parameters": {"TILE": 3}},
         "line 1 defines TILE, so that --config and --define have no effect"),
        (NAIVE.replace("float *", "short *"), {}, "the elements of A are of type short, which is none of int32"),
        (NAIVE.replace("int N", "Matrix N"), {}, "mul takes 'Matrix N', which is neither a pointer nor a number"),
        (SMALL, {}, "fill takes 1 pointers (float* p), not three; --args gives the role of each"),
        ("template <int BM, int BN> " + NAIVE, {},
         "mul is a template that nothing launches; --config BM=…,BN=… chooses"),
        (NAIVE.replace("blockDim.x", "WIDTH").replace("float sum = 0", "float sum = NAN"), {},
         "the block of mul is unknown; give it, as in --block 16x16, or --define for what "
         "the source does not define: NAN, WIDTH"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_one_sentence(text: str, given: dict[str, Any], reason: str) -> None:
    with pytest.raises(InvalidKernel) as error:
        kernel(text, **given)
    assert str(error.value).startswith(reason)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "head",
    [
        "__global__ void __cluster_dims__(2, 1, 1)",
        "__global__ void __launch_bounds__(256, 2) __cluster_dims__(2, 1, 1)",
        "__maxnreg__(128) __global__ void",
        "__cluster_dims__((1 + (2 - 1)), 1) static __global__ void",
        "[[maybe_unused]] __global__ void",
        'extern "C" __global__ void __block_size__((16, 16, 1), (2, 1, 1))',
        "template <class T>\n__global__\nvoid __cluster_dims__(2,\n1) __launch_bounds__(sizeof(T) * 64)",
    ],
)
def test_attributes_stand_where_they_may(head: str) -> None:
    found = kernel(NAIVE.replace("__global__ void", head))
    assert (found.entry.partition("<")[0], found.arguments) == ("mul", ("A", "B", "C", "n"))


# What the parameters get


def by_rows(k: str, n: str, c: str = "") -> tuple[str, ...]:
    """The indexes of matrices whose rows are so long."""
    return f"A[i * {k} + p]", f"B[p * {n} + j]", f"C[i * {c or n} + j]"


@pytest.mark.parametrize(
    ("lengths", "parameters", "arguments"),
    [
        (("K", "N"), "float *A, float *B, float *C, int M, int N, int K", "A B C m n k"),
        (("n", "k"), "float *A, float *B, float *C, int m, int n, int k", "A B C m k n"),
        (("wA", "wB"), "float *C, float *A, float *B, int wA, int wB", "C A B k n"),
        (("inner", "w"), "float *B, float *A, float *C, int h, int inner, int w", "B A C m k n"),
        (("k", "n"), "const float *d_A, const float *d_B, float *d_C, int k, int n", "A B C k n"),
        (("lda", "ldb", "ldc"), "float *A, int lda, float *B, int ldb, float *C, int ldc", "A lda B ldb C ldc"),
    ],
)
def test_sizes_are_told_by_what_the_source_steps_by(lengths: tuple[str, ...], parameters: str, arguments: str) -> None:
    text = product(by_rows(*lengths), parameters)
    for matrix in "ABC":
        if f"d_{matrix}" in parameters:
            text = text.replace(f"{matrix}[", f"d_{matrix}[")
    found = kernel(text)
    assert found.arguments == tuple(arguments.split())
    assert not found.column_major


def test_a_product_that_steps_along_columns_stores_by_columns() -> None:
    parameters = "const float *A, const float *B, float *C, int M, int N, int K"
    indexes = ("A[i + p * M]", "B[p + j * K]", "C[i + j * M]")
    found = kernel(product(indexes, parameters, of="blockIdx.x,blockIdx.y"))
    assert (found.column_major, found.arguments) == ("ABC", ("A", "B", "C", "m", "n", "k"))
    assert grid(found) == "ceil(m / bx), ceil(n / by)"
    mixed = kernel(product(("A[i * K + p]", "B[j * K + p]", "C[i * N + j]"), parameters))
    assert (mixed.column_major, mixed.arguments) == ("", ("A", "B", "C", "m", "n", "k"))


def test_integers_have_their_types_and_factors_make_c_an_operand() -> None:
    sizes = "size_t m, unsigned n, long long k"
    found = kernel(product(by_rows("k", "n"), f"float *A, float *B, float *C, {sizes}, double alpha, float beta"))
    scalars = [("m", "uint64"), ("n", "uint32"), ("k", "int64"), ("alpha", "float64"), ("beta", "float32")]
    assert found.arguments == ("A", "B", "C", *(Scalar(*each) for each in scalars))
    assert (found.alpha, found.beta) == (1, 1)
    assert kernel(NAIVE.replace("= sum;", "+= sum;")).beta == 1
    assert kernel(NAIVE.replace("= sum;", "+= sum;").replace("float sum", "C[row] = 0; float sum")).beta == 0


@pytest.mark.parametrize(
    ("word", "types"),
    [
        ("double", ("float64", "float64", "float64")),
        ("__half", ("float16", "float32", "float16")),
        ("__nv_bfloat16", ("bfloat16", "float32", "bfloat16")),
        ("real", ("float64", "float64", "float64")),
    ],
)
def test_types_are_those_of_the_pointers(word: str, types: tuple[str, str, str]) -> None:
    found = kernel("typedef double real;\n" + NAIVE.replace("float *", f"{word} *"))
    assert (found.dtype, found.accumulator, found.output) == types


def test_the_source_that_adds_in_half_precision_sums_in_it() -> None:
    text = NAIVE.replace("float *", "half *").replace("float sum", "half sum")
    assert kernel(text.replace("sum +=", "sum = __hfma(a, b, sum); sum +=")).accumulator == "float16"


# Block and grid

HOST = """
#define TILE 32
#define CEIL_DIV(a, b) (((a) + (b) - 1) / (b))
{kernel}
void host(float *x, float *y, float *z, int w) {{
    {code}
}}
"""


@pytest.mark.parametrize(
    ("code", "block", "blocks"),
    [
        ("dim3 t(TILE, 8); dim3 g((w + TILE - 1) / TILE, CEIL_DIV(w, 8)); mul<<<g, t>>>(x, y, z, w);",
         "b32x8", "ceil(n / 32), ceil(n / 8)"),
        ("dim3 t(16, 16), g; g.x = w / t.x; g.y = w / t.y; mul<<<g, t>>>(x, y, z, w);", "b16", "n // bx, n // by"),
        ("mul<<<dim3((int)ceil(w / 16.0), w / 16 + 1), dim3{16, 16}>>>(x, y, z, w);",
         "b16", "ceil(n / 16), n // 16 + 1"),
        ("mul<<<ceil(w / 16), 16>>>(x, y, z, w);", "b16x1", "ceil(n // 16)"),
        ("int t = 8 * 8, g; g = (w + t - 1) / t; mul<<<g, t>>>(x, y, z, w);", "b64x1", "ceil(n / bx)"),
        ("mul<<<(w / TILE, w / TILE), (TILE, TILE)>>>(x, y, z, w);", "b32x1", "n // 32"),
        ("const int w = 64; mul<<<dim3(4, 4), dim3(16, 16)>>>(x, y, z, w);", "b16", "ceil(n / bx), ceil(m / by)"),
        ("mul<<<grid_of(w), block_of(w)>>>(x, y, z, w);", "b16", "ceil(n / bx), ceil(m / by)"),
    ],
)  # fmt: skip
def test_a_launch_in_the_file_tells_block_and_grid(code: str, block: str, blocks: str) -> None:
    found = kernel(HOST.format(kernel=NAIVE, code=code))
    assert ([config.id for config in found.usual_configs], grid(found)) == ([block], blocks)


def test_sizes_of_one_name_are_told_apart_by_the_axes_of_c() -> None:
    text = product(by_rows("k", "n"), "float *A, float *B, float *C, int m, int n, int k")
    found = kernel(text + "void g(int s) { f<<<dim3(s / 8, s / 4), dim3(8, 4)>>>(a, b, c, s, s, s); }")
    assert grid(found) == "n // 8, m // 4"


def test_dynamic_shared_memory_is_what_the_launch_has() -> None:
    text = HOST.format(kernel=NAIVE, code="mul<<<4 * w, 64, 2 * TILE * sizeof(float)>>>(x, y, z, w);")
    found = kernel(text)
    assert isinstance(found.launch, LaunchText)
    assert found.launch.shared_bytes == "2 * 32 * 4"


@pytest.mark.parametrize(
    ("changes", "block", "blocks"),
    [
        ({"blockDim.y": "8", "blockDim.x": "32"}, "b32x8", "ceil(n / 32), ceil(m / 8)"),
        ({"blockIdx.y": "blockIdx.x", "blockIdx.x": "blockIdx.y"}, "b16", "ceil(m / by), ceil(n / bx)"),
        ({"blockIdx.y * blockDim.y + threadIdx.y": "id / N", "blockIdx.x * blockDim.x + threadIdx.x": "id % N",
          "int row": "int id = blockIdx.x * blockDim.x + threadIdx.x; int row"}, "b256x1", "ceil(m * n / bx)"),
        ({"blockIdx.y * blockDim.y + threadIdx.y": "blockIdx.y", "float sum": "for (; row < N; row++) {} float sum",
          "blockIdx.x * blockDim.x": "blockIdx.x * 64"}, "b64x1", "ceil(n / 64), m"),
    ],
)  # fmt: skip
def test_the_index_into_c_implies_block_and_grid(changes: dict[str, str], block: str, blocks: str) -> None:
    text = NAIVE
    for number, old in enumerate(changes):
        text = text.replace(old, f"@{number}@")
    for number, new in enumerate(changes.values()):
        text = text.replace(f"@{number}@", new)
    found = kernel(text)
    assert ([config.id for config in found.usual_configs], grid(found)) == ([block], blocks)


FLAT = """
constexpr int SIDE = 32, BK = 4;
__global__ void __launch_bounds__(SIDE * 8) mul(float *A, float *B, float *C, int N) {
    float sum[BK];
    for (int i = threadIdx.x; i < SIDE * SIDE; i += 256)
        C[(blockIdx.y * SIDE + i / SIDE) * N + blockIdx.x * SIDE + i % SIDE] = A[i * N] * B[i * N];
}
"""


@pytest.mark.parametrize(
    ("changes", "block", "guessed"),
    [
        ({}, (256, 1, 1), ["block"]),
        ({"C[(": "corner(C)[("}, (256, 1, 1), ["block", "grid"]),
        ({"__global__": "template <int T = 2> __global__", "SIDE * 8": "T * 64"}, (128, 1, 1), ["block"]),
        ({"SIDE * 8": "2048"}, (1024, 1, 1), []),
        ({"SIDE * 8": "MOST"}, (1024, 1, 1), []),
        ({"threadIdx.x": "threadIdx.y * 32 + threadIdx.x", "SIDE * 8": "64"}, (32, 32, 1), []),
    ],
)
def test_launch_bounds_may_imply_the_block(changes: dict[str, str], block: tuple[int, ...], guessed: list[str]) -> None:
    text = FLAT
    for old, new in changes.items():
        text = text.replace(old, new, 1)
    found = inferred(text)
    assert kernel(text).usual_configs[0].block == block
    assert [note.what for note in found.notes if note.guessed] == guessed
    launched = text + "void h(int w) { mul<<<w, 64>>>(a, b, c, w); }"
    assert kernel(launched).usual_configs[0].block == (64, 1, 1)


def test_blocks_that_go_over_the_tiles_of_c_in_a_loop_are_read() -> None:
    rows = "blockIdx.y * blockDim.y + threadIdx.y", "blockIdx.x * blockDim.x + threadIdx.x"
    text = NAIVE.replace(rows[0], "tile / per * 16 + threadIdx.y").replace(rows[1], "tile % per * 16 + threadIdx.x")
    loop = "int per = (N + 15) / 16; for (int it = blockIdx.x; it < per * per; it += gridDim.x) { int tile = it;"
    found = kernel(text.replace("int row", f"{loop} int row").replace("= sum;", "= sum; }"), block="16x16")
    assert grid(found) == "m * n"
    with pytest.raises(InvalidKernel, match="the block of mul is unknown"):
        kernel(text.replace("int row", f"{loop} int row").replace("= sum;", "= sum; }"))


@pytest.mark.parametrize("launch", ["<<<1>>>", "<<<>>>", f"<<<1, 1{'0' * 5000}>>>", "<<<1, ceil(1e999)>>>"])
def test_a_launch_that_cannot_be_read_tells_no_block(launch: str) -> None:
    assert kernel(NAIVE + f"void h() {{ mul{launch}(a, b, c, 2); }}").usual_configs[0].block == (16, 16, 1)


def test_an_index_that_goes_through_many_variables_is_read_once() -> None:
    chain = "".join(f"int x{i} = x{i - 1} / 3 + x{i - 1} * 2;" for i in range(1, 40))
    found = kernel(NAIVE.replace("float sum", f"int x0 = col; {chain} float sum").replace("C[row", "C[x39 + row"))
    assert found.usual_configs[0].block == (16, 16, 1)


# Parameters


TEMPLATE = "template <int T> " + NAIVE.replace("blockDim.y", "T").replace("blockDim.x", "T")


def test_a_template_is_launched_as_the_file_launches_it_and_the_block_follows_its_parameter() -> None:
    host = (
        "#define EDGE 8\nvoid h(int w) { dim3 b(EDGE, EDGE); mul<EDGE><<<dim3(w / EDGE, w / EDGE), b>>>(a, b, c, w); }"
    )
    found = kernel(TEMPLATE + host)
    assert (found.entry, grid(found)) == ("mul<{T}>", "n // T, n // T")
    assert [dict(config) for config in found.usual_configs] == [{"block": (8, 8, 1), "T": 8}]
    assert found.config(T=4).block == (4, 4, 1)


def test_a_templates_type_and_default_are_taken() -> None:
    text = TEMPLATE.replace("int T", "typename E, int T = 4").replace("float *", "E *")
    assert kernel(text).entry == "mul<float, {T}>"
    assert [dict(config) for config in kernel(text).usual_configs] == [{"block": (4, 4, 1), "T": 4}]
    assert kernel(text + "void h() { mul<double><<<1, 1>>>(a, b, c, 2); }").dtype == "float64"
    assert kernel(text, parameters={"T": 2}).usual_configs[0].block == (2, 2, 1)
    assert kernel(text, entry="mul<double, 8>").entry == "mul<double, {T}>"
    assert kernel(text, entry="mul<double, 8>").usual_configs[0].block == (8, 8, 1)


def test_a_macro_that_a_user_may_define_is_a_parameter_and_one_that_is_missing_is_guessed() -> None:
    text = NAIVE.replace("blockDim.y", "TILE").replace("blockDim.x", "TILE")
    guarded = kernel("#ifndef TILE\n#define TILE 8\n#endif\n" + text)
    assert [dict(config) for config in guarded.usual_configs] == [{"block": (8, 8, 1), "TILE": 8}]
    assert [dict(config) for config in kernel(text).usual_configs] == [{"block": (16, 16, 1), "TILE": 16}]
    assert [note.what for note in inferred(text).notes if note.guessed] == ["TILE"]
    assert kernel(text, defines={"TILE": "4"}).usual_configs[0].block == (4, 4, 1)


@pytest.mark.parametrize(
    "declared",
    [
        "template <int N> struct TILE { float x[N]; };", "class TILE;", "union TILE { int x; };", "enum { TILE = 8 };",
        "enum class TILE { A };", "using TILE = int;", "template <class T> using TILE = T *;", "typedef int TILE;",
        "template <int N> constexpr int TILE = N;", "namespace TILE { int x; }", "static constexpr int TILE{8};",
        "template <class TILE> TILE f(TILE x);", "template <class... TILE> int f(TILE... x);",
        "#define USE(TILE) TILE", "float &TILE = x;", "__constant__ float TILE[4];", "struct S { int TILE; };",
    ],
)  # fmt: skip
def test_a_name_in_capitals_that_the_source_or_its_header_declares_is_not_guessed(declared: str) -> None:
    text = NAIVE.replace("float sum", "auto t = TILE; float sum")
    assert "TILE" in kernel(text).usual_configs[0]
    assert "TILE" in kernel("#ifdef TILE\n#endif\n" + text).usual_configs[0]
    assert "TILE" not in kernel(f"{declared}\n{text}").usual_configs[0]
    beside = infer(Path("/folder/my.cu"), text, {}, [("my.h", declared)])
    assert "TILE" not in beside.attributes["configs"][0]


def test_macros_can_fix_the_sizes() -> None:
    text = "#define N 24\n" + NAIVE.replace(", int N", "")
    found = kernel(text)
    assert found.arguments == ("A", "B", "C")
    assert found.square_problem(640).n == 24
    reason = "8×8×8 is not what the source fixes, m×n×k = 24×24×24; --size 24x24x24 asks for that"
    assert found.violations(found.problem(8, 8, 8), found.usual_configs[0]) == [reason]
    assert not found.violations(found.problem(24, 24, 24), found.usual_configs[0])


# Expressions


@pytest.mark.parametrize(
    ("text", "python"),
    [
        ("ceil(n / bx)", "ceil_div(problem.n, config.block.x)"),
        ("(m + TM - 1) // TM", "(problem.m + config.TM - 1) // config.TM"),
        ("max(1, floor(k / 2.5))", "max(1, math.floor(problem.k / 2.5))"),
    ],
)
def test_an_expression_as_python(text: str, python: str) -> None:
    (expression,) = parse_expressions(text, "the grid")
    assert python_text(expression) == python


def test_arrays_of_arrays_have_rows_as_long_as_they_are_declared() -> None:
    text = """
#define N 24
__global__ void mul(double a[N][N], double (*b)[N], double c[][N]) {
    int i = blockIdx.y * 8 + threadIdx.y, j = blockIdx.x * 8 + threadIdx.x;
    double s = 0;
    for (int k = 0; k < N; k++) s += a[i][k] * b[k][j];
    c[i][j] = s;
}
"""
    found = kernel(text)
    assert (found.arguments, grid(found), found.dtype) == (("A", "B", "C"), "ceil(n / 8), ceil(m / 8)", "float64")
    assert found.square_problem(640).n == 24


def test_what_grows_without_end_is_read_in_part() -> None:
    squares = "int w0 = N; " + "".join(f"int w{i} = w{i - 1} * w{i - 1}; " for i in range(1, 14))
    (function,) = read_program(NAIVE.replace("int row", f"{squares} int row").replace("C[row", "C[w13 + row")).functions
    assert max(len(term) for index in Body(function).indexes("C") for term in index) <= 64


def test_variables_that_are_set_to_each_other_are_read_in_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mmcore_sources.cuda_file.inference.body._MOST_EXPRESSIONS", 500)
    names = [f"v{i}" for i in range(8)]
    each_other = "".join(f"{name} = {' + '.join({*names} - {name})}; " for name in names)
    text = NAIVE.replace("int row", f"int {' = 1, '.join(names)} = 1; {each_other} int row").replace(
        "C[row", "C[v0 + row"
    )
    (function,) = read_program(text).functions
    body = Body(function)
    assert any("v0" in term for index in body.indexes("C") for term in index)
    assert len(body._known) < 1000


def test_a_statement_that_if_splits_is_read_with_its_first_branch() -> None:
    split = 'asm volatile(\n#ifdef FAST\n"add.f32 %0, %0, %1;\\n"\n#else\n"sub.f32 %0, %0, %1;\\n"\n#endif\n'
    split += ': "+f"(sum) : "f"(sum));\n'
    loop = f"for (int i = 0; i < N; i++) {{ sum += A[row * N + i] * B[i * N + col]; {split} }}"
    text = NAIVE.replace("for (int i = 0; i < N; i++) sum += A[row * N + i] * B[i * N + col];", f"{split}{loop}{split}")
    source = read_program(f"#ifndef TILE\n#define TILE 8\n#endif\n{text}")
    assert [function.name for function in source.functions] == ["mul"]
    assert (source.error_line, source.macros["TILE"].guarded) == (0, True)

"""Inference from a .cu file: function, arguments, types, parameters, block and grid."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from mmcore import InvalidKernel, Kernel, Scalar, Struct
from mmcore_cuda.cuda_source.program import read_program
from mmcore_sources.cuda_file.inference.body import Body
from mmcore_sources.cuda_file.inference.expressions import LaunchText, parse_expressions, python_text
from mmcore_sources.cuda_file.inference.infer import Inferred, infer
from tests.kernel_sources import kernel_source
from tests.tables import cases

NAIVE = kernel_source("naive_square")
SMALL = "__global__ void fill(float *p, int n, float v) { p[threadIdx.x] = v; }\n"


def product(indexes: tuple[str, ...], parameters: str, of: str = "blockIdx.y,blockIdx.x") -> str:
    """Return a kernel with these indexes of A, B and C, for row i, column j, and p along k."""
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


def guesses(text: str) -> tuple[str, ...]:
    return tuple(note.what for note in inferred(text).notes if note.guessed)


STRIDED = """
__global__ void mm(const float *A, const float *B, float *C, int n)
{
    for (int i = FIRST; i < n * n; i += blockDim.x) {
        float s = 0;
        for (int k = 0; k < n; k++)
            s += A[i / n * n + k] * B[k * n + i % n];
        C[i] = s;
    }
}
"""


def launch_text(found: Kernel) -> LaunchText:
    assert isinstance(found.launch, LaunchText)
    return found.launch


def grid(found: Kernel) -> str:
    return launch_text(found).grid


def block_and_grid(found: Kernel) -> tuple[str, str]:
    (config,) = found.usual_configs
    return config.id, grid(found)


def changed(text: str, changes: dict[str, str]) -> str:
    """Return a text with all of these words replaced at once."""
    return re.sub("|".join(map(re.escape, changes)), lambda word: changes[word[0]], text) if changes else text


def test_a_naive_kernel_is_for_square_matrices_in_blocks_of_256_threads_over_rows_and_columns() -> None:
    found = kernel(NAIVE)
    assert (found.entry, found.arguments) == ("mul", ("A", "B", "C", "n"))
    assert block_and_grid(found) == ("b16", "ceil(n / bx), ceil(m / by)")
    assert [constraint.description for constraint in found.constraints] == ["m = n = k"]


def test_the_kernel_is_the_launched_function_with_three_pointers() -> None:
    other = NAIVE.replace("mul(", "other(")
    assert kernel(SMALL + NAIVE).entry == "mul"
    assert kernel(NAIVE + other + "void f() { other<<<2, 3>>>(a, b, c, n); }").entry == "other"
    assert kernel(NAIVE + other, entry="other").entry == "other"
    with pytest.raises(InvalidKernel, match=r"^my\.cu has 2 kernels, mul, other; give one, as in --entry other$"):
        kernel(NAIVE + other)


@cases(__file__, "refused", "text, changes, given, reason")
def test_a_refusal_is_one_sentence(text: str, changes: dict[str, str], given: dict[str, Any], reason: str) -> None:
    with pytest.raises(InvalidKernel) as error:
        kernel(changed(text.replace("NAIVE", NAIVE).replace("SMALL", SMALL), changes), **given)
    assert str(error.value).startswith(reason)
    assert "\n" not in str(error.value)


@cases(__file__, "attributes_stand_where_they_may", "head")
def test_attributes_are_read_in_any_place(head: str) -> None:
    found = kernel(NAIVE.replace("__global__ void", head))
    assert (found.entry.partition("<")[0], found.arguments) == ("mul", ("A", "B", "C", "n"))


def by_rows(k: str, n: str, c: str = "") -> tuple[str, ...]:
    """Return the indexes of matrices by rows, with these row lengths."""
    return f"A[i * {k} + p]", f"B[p * {n} + j]", f"C[i * {c or n} + j]"


@cases(__file__, "sizes_are_told_by_what_the_source_steps_by", "lengths, parameters, arguments")
def test_sizes_follow_from_the_strides_of_the_source(lengths: tuple[str, ...], parameters: str, arguments: str) -> None:
    prefix = "d_" if "d_" in parameters else ""
    found = kernel(product(tuple(prefix + index for index in by_rows(*lengths)), parameters))
    assert (found.arguments, found.column_major) == (tuple(arguments.split()), "")


def test_sizes_are_named_after_the_letters_of_the_matrices() -> None:
    parameters = "float *M, float *N, float *P, int Hm, int Wm, int Hn, int widthN"
    text = product(("M[i * Wm + p]", "N[p * widthN + j]", "P[i * widthN + j]"), parameters)
    assert kernel(text).arguments == ("A", "B", "C", "m", "k", "k", "n")


def test_a_product_that_steps_along_columns_stores_by_columns() -> None:
    parameters = "const float *A, const float *B, float *C, int M, int N, int K"
    indexes = ("A[i + p * M]", "B[p + j * K]", "C[i + j * M]")
    found = kernel(product(indexes, parameters, of="blockIdx.x,blockIdx.y"))
    assert (found.column_major, found.arguments) == ("ABC", ("A", "B", "C", "m", "n", "k"))
    assert grid(found) == "ceil(m / bx), ceil(n / by)"
    for columns, a, b in (("B", "A[i * K + p]", "B[j * K + p]"), ("A", "A[p * M + i]", "B[p * N + j]")):
        mixed = kernel(product((a, b, "C[i * N + j]"), parameters).replace("p < 9", "p < K"))
        assert (mixed.column_major, mixed.arguments) == (columns, ("A", "B", "C", "m", "n", "k"))


@pytest.mark.parametrize(
    "loop",
    [
        "for (int p = K - 1; p >= 0; p--)",
        "int p; for (p = K - 1; p > -1; p -= 1)",
        "int p = K; while (p-- > 0)",
        "int p = -1; while (++p < K)",
    ],
)
def test_a_loop_is_limited_by_its_condition_or_by_the_value_that_it_counts_down_from(loop: str) -> None:
    parameters = "const float *A, const float *B, float *C, int M, int N, int K"
    text = product(("A[p * M + i]", "B[p * N + j]", "C[i * N + j]"), parameters)
    found = kernel(text.replace("for (int p = 0; p < 9; p++)", loop))
    assert (found.column_major, found.arguments) == ("A", ("A", "B", "C", "m", "n", "k"))


def test_a_wrong_length_of_the_rows_of_c_changes_no_size_that_is_named_as_usual() -> None:
    parameters = "const float *A, const float *B, float *C, int M, int N, int K"
    found = kernel(product(("A[i * K + p]", "B[j * K + p]", "C[i * M + j]"), parameters))
    assert (found.arguments, found.column_major) == (("A", "B", "C", "m", "n", "k"), "B")


@pytest.mark.parametrize(
    ("store", "advice"),
    [
        ("C[row * n + col] += sum;", "adds to C: write = instead of +="),
        ("C[row * n + col] = C[row * n + col] + sum;", "adds to C: write the sum without C's old value"),
        ("for (int j = 0; j < n; j += 4) C[row * n + j + col] += sum;", "adds to C: write = instead of +="),
        ("for (int j = 0; j < 1; j++) C[row * n + col] += sum;", "sums in C: write 0 there before the loop in line 8"),
        ("while (sum) { C[row * n + col] += sum; sum = 0; }", "sums in C: write 0 there before the loop in line 8"),
        ("while (col < n) { C[row * n + col] += sum; col += n; }", "adds to C: write = instead of +="),
    ],
)
def test_a_sum_in_the_place_of_c_has_its_line_and_a_change(store: str, advice: str) -> None:
    program = "void f(int n) { mul<<<dim3(n, n), 1>>>(a, b, c, n); }"
    text = f"""__global__ void mul(float *A, float *B, float *C, int n)
{{
    int row = blockIdx.y, col = blockIdx.x;
    if (row >= n || col >= n) return;
    float sum = 0;
    for (int i = 0; i < n; i++)
        sum += A[row * n + i] * B[i * n + col];
    {store}
}}
{program}
"""
    (found,) = inferred(text).unusual
    assert (found.line, found.advice) == (8, f"{advice}, or zero C before the launch in line 10")


@cases(__file__, "an_unusual_reading_needs_evidence", "changes, after, evidence")
def test_an_unusual_reading_needs_evidence(changes: dict[str, str], after: str, evidence: tuple[str, ...]) -> None:
    text = changed(NAIVE.replace("const ", ""), changes) + after
    found = inferred(text)
    assert tuple(each.evidence for each in found.unusual) == evidence
    for each in found.unusual:
        assert f"read as {each.reading} instead of {each.usual}" in found.attributes["title"]
        assert not inferred(text, **each.given).unusual


def test_a_product_in_a_is_meant_if_args_say_so() -> None:
    text = changed(NAIVE.replace("const ", ""), {"C[row": "A[row", "A[row": "C[row"})
    (stored_in_a,) = inferred(text).unusual
    assert stored_in_a.option == "--args"
    assert not inferred(text, args=["C", "B", "A", "n"]).unusual


def test_integers_have_their_types_and_factors_make_c_an_operand() -> None:
    sizes = "size_t m, unsigned n, long long k"
    text = product(by_rows("k", "n"), f"float *A, float *B, float *C, {sizes}, double alpha, float beta")
    found = kernel(text.replace("= s;", "= alpha * s + beta * C[0];"))
    scalars = [("m", "uint64"), ("n", "uint32"), ("k", "int64"), ("alpha", "float64"), ("beta", "float32")]
    assert found.arguments == ("A", "B", "C", *(Scalar(*each) for each in scalars))
    assert (found.alpha, found.beta) == (2, 0.5)
    assert kernel(NAIVE.replace("= sum;", "+= sum;")).beta == 1
    assert kernel(NAIVE.replace("= sum;", "+= sum;").replace("float sum", "C[row] = 0; float sum")).beta == 0


@cases(__file__, "types_are_those_of_the_pointers", "word, types")
def test_types_are_those_of_the_pointers(word: str, types: tuple[str, str, str]) -> None:
    found = kernel("typedef double real;\n" + NAIVE.replace("float *", f"{word} *"))
    assert (found.dtype, found.accumulator, found.output) == types


@cases(__file__, "instructions_show_the_types_of_sums_and_products", "word, before, statement, types, guessed")
def test_instructions_show_the_types_of_sums_and_products(
    word: str, before: str, statement: str, types: tuple[str, str], guessed: bool
) -> None:
    text = before + changed(NAIVE, {"float *": f"{word} *", "float sum = 0;": f"float x = 0; {statement}"}) + SMALL
    found = kernel(text)
    assert (found.dtype, found.accumulator) == types
    assert ("sums in" in guesses(text)) == guessed


HOST = """
#define TILE 32
#define CEIL_DIV(a, b) (((a) + (b) - 1) / (b))
{kernel}
void host(float *x, float *y, float *z, int w) {{
    {code}
}}
"""


@cases(__file__, "a_launch_in_the_file_tells_block_and_grid", "code, block, blocks")
def test_a_launch_in_the_file_implies_block_and_grid(code: str, block: str, blocks: str) -> None:
    assert block_and_grid(kernel(HOST.format(kernel=NAIVE, code=code))) == (block, blocks)


@pytest.mark.parametrize(
    ("grid", "body", "warned"),
    [("cover(w)", NAIVE, True), ("dim3(w / 16, w / 16)", NAIVE, False), ("dim3(4, 4)", NAIVE, False),
     ("cover(w)", NAIVE.replace("int row = ", "int all = gridDim.x, row = "), False)],
)  # fmt: skip
def test_a_grid_that_cannot_be_read_is_a_warning(grid: str, body: str, warned: bool) -> None:
    found = inferred(HOST.format(kernel=body, code=f"mul<<<{grid}, dim3(16, 16)>>>(x, y, z, w);"))
    assert any("cannot be read, and is not tested" in each for each in found.warnings) == warned, found.warnings


@cases(__file__, "a_constant_of_the_host_is_a_size", "code, blocks")
def test_a_constant_of_the_host_is_a_size(code: str, blocks: str) -> None:
    text = product(by_rows("k", "n"), "float *A, float *B, float *C, int n, int k")
    assert grid(kernel(f"#define HIGH 512\n{text} int main() {{ {code} }}")) == blocks


def test_rows_are_beside_the_columns_of_a_matrix_whose_extents_are_a_dim3() -> None:
    text = product(by_rows("k", "n"), "float *A, float *B, float *C, int n, int k")
    code = "dim3 t(8, 16), g(of_b.x / t.x, of_a.y / t.y); f<<<g, t>>>(A, B, C, of_b.x, of_a.x);"
    host = f"void host(const dim3 &of_a, const dim3 &of_b, float *A, float *B, float *C) {{ {code} }}"
    assert grid(kernel(f"{text} {host}")) == "n // bx, m // by"


def test_a_number_that_a_launch_passes_is_no_size() -> None:
    text = product(by_rows("k", "n"), "float *A, float *B, float *C, int m, int n, int k, int splits")
    host = "void h(int m, int n, int k) { int splits = 4; f<<<dim3(n, m, splits), 1>>>(a, b, c, m, n, k, splits); }"
    assert kernel(text + host).arguments == ("A", "B", "C", "m", "n", "k", Scalar(4))
    assert grid(kernel(text + host)) == "n, m, 4"


def test_matrices_may_be_structures() -> None:
    text = kernel_source("matrices_as_structures")
    sides = ("k", "m"), ("n", "k"), ("n", "m")
    structures = tuple(Struct((*each, matrix)) for each, matrix in zip(sides, "ABC", strict=True))
    grids = "dim3 b(8, 8), g(B.width / b.x, A.height / b.y);"
    host = f"void h(Matrix A, Matrix B, Matrix C) {{ {grids} mul<<<g, b>>>(x, y, z); }}"
    for launch, blocks in (("", "ceil(n / bx), ceil(m / by)"), (host, "n // bx, m // by")):
        found = kernel(text + launch)
        assert (found.arguments, grid(found), found.dtype) == (structures, blocks, "float32")
    assert kernel(text, args=["A", "B", "C"]).arguments == structures


def test_parameters_of_kernel_tuner_are_macros() -> None:
    text = NAIVE.replace("blockDim.y", "block_size_y").replace("blockDim.x", "block_size_x")
    found = kernel(text, parameters={"block_size_x": 32, "block_size_y": 4})
    assert (found.usual_configs[0].block, found.defines["block_size_x"]) == ((32, 4, 1), "{block_size_x}")
    with pytest.raises(InvalidKernel, match=r"^my\.cu declares row, so that --config has no effect on it$"):
        kernel(text, parameters={"block_size_x": 32, "block_size_y": 4, "row": 2})


def test_sizes_of_one_name_follow_from_the_axes_of_c() -> None:
    text = product(by_rows("k", "n"), "float *A, float *B, float *C, int m, int n, int k")
    found = kernel(text + "void g(int s) { f<<<dim3(s / 8, s / 4), dim3(8, 4)>>>(a, b, c, s, s, s); }")
    assert grid(found) == "n // 8, m // 4"


STORE = "struct Gate { unsigned long long word; };\ntemplate <int D> struct Store { float a[D][8]; Gate full[D]; };"


@pytest.mark.parametrize(
    ("shared", "nbytes"),
    [("2 * TILE * sizeof(float)", "2 * 32 * 4"), ("sizeof(lib::Store<3>)", "120"), ("w * sizeof(float)", "n * 4")],
)
def test_dynamic_shared_memory_is_what_the_launch_has(shared: str, nbytes: str) -> None:
    host = HOST.format(kernel=NAIVE, code=f"mul<<<4 * w, 64, {shared}>>>(x, y, z, w);")
    assert launch_text(kernel(f"namespace lib {{ {STORE} }}\n{host}")).shared_bytes == nbytes


@cases(__file__, "the_index_into_c_implies_block_and_grid", "changes, block, blocks")
def test_the_index_into_c_implies_block_and_grid(changes: dict[str, str], block: str, blocks: str) -> None:
    assert block_and_grid(kernel(changed(NAIVE, changes))) == (block, blocks)


FLAT = kernel_source("launch_bounds")


@cases(__file__, "launch_bounds_may_imply_the_block", "changes, block, guessed")
def test_launch_bounds_may_imply_the_block(
    changes: dict[str, str], block: tuple[int, ...], guessed: tuple[str, ...]
) -> None:
    text = changed(FLAT, changes)
    assert kernel(text).usual_configs[0].block == block
    assert guesses(text) == guessed
    launched = text + "void h(int w) { mul<<<w, 64>>>(a, b, c, w); }"
    assert kernel(launched).usual_configs[0].block == (64, 1, 1)


WARP = kernel_source("sum_of_a_warp")


@cases(__file__, "exchanges_within_warps_imply_whole_warps", "changes, block")
def test_exchanges_within_warps_imply_whole_warps(changes: dict[str, str], block: str) -> None:
    text = changed(WARP, changes)
    assert block_and_grid(kernel(text))[0] == block
    assert guesses(text) == ("block",)
    assert kernel(f"{text}void h(int w) {{ gemm<<<w, 512>>>(a, b, c, w, w, w); }}").usual_configs[0].block == (
        512,
        1,
        1,
    )


@pytest.mark.parametrize(
    ("text", "block"), [(WARP, (96, 1, 1)), (NAIVE, (96, 96, 1)), (NAIVE.replace("threadIdx.y", "0"), (96, 1, 1))]
)
def test_a_block_of_one_number_is_square_unless_the_source_uses_only_x(text: str, block: tuple[int, ...]) -> None:
    assert kernel(text, block="96").usual_configs[0].block == block


def test_blocks_that_go_over_the_tiles_of_c_in_a_loop_are_read() -> None:
    loop = "int per = (N + 15) / 16; for (int it = blockIdx.x; it < per * per; it += gridDim.x) { int tile = it;"
    rows = {"blockIdx.y * blockDim.y": "tile / per * 16", "blockIdx.x * blockDim.x": "tile % per * 16"}
    text = changed(NAIVE, {**rows, "int row": f"{loop} int row", "= sum;": "= sum; }"})
    assert grid(kernel(text, block="16x16")) == "min(1024, m * n)"
    assert "block" in guesses(text)


@pytest.mark.parametrize("launch", ["1", "", f"1, 1{'0' * 5000}", "1, ceil(1e999)"], ids=range(4))
def test_a_launch_that_cannot_be_read_implies_no_block(launch: str) -> None:
    assert kernel(NAIVE + f"void h() {{ mul<<<{launch}>>>(a, b, c, 2); }}").usual_configs[0].block == (16, 16, 1)


def test_an_index_that_goes_through_many_variables_is_read_once() -> None:
    chain = "".join(f"int x{i} = x{i - 1} / 3 + x{i - 1} * 2;" for i in range(1, 40))
    found = kernel(NAIVE.replace("float sum", f"int x0 = col; {chain} float sum").replace("C[row", "C[x39 + row"))
    assert found.usual_configs[0].block == (16, 16, 1)


TEMPLATE = "template <int T> " + NAIVE.replace("blockDim.y", "T").replace("blockDim.x", "T")


HELPER = """
template <typename F> void run(F kernel, float *a, float *b, float *c, int w, int edge) {
    dim3 t(edge, 4), g(w / edge, w / 4); kernel<<<g, t>>>(a, b, c, w);
}
"""


def test_a_kernel_may_be_passed_to_the_function_that_launches_it() -> None:
    calls = "void f() { run(other, a, b, c, 64, 16); run(mul, a, b, c, 64, 8); run(mul, a, b, c, 64, 32); }"
    assert block_and_grid(kernel(NAIVE + HELPER + calls)) == ("b8x4", "n // 8, n // 4")


def test_a_macro_may_launch_a_kernel() -> None:
    macro = "#define LAUNCH(edge, w) { dim3 t(edge, 4); \\\n mul<<<dim3(w / edge, w / 4), t>>>(a, b, c, w); }\n"
    host = "void f(int w) {\n LAUNCH(\n8, w)\n}\nvoid g(int w) { mul<<<1, 1>>>(a, b, c, w); }"
    found = inferred(NAIVE + macro + host)
    line = NAIVE.count("\n") + 4
    assert block_and_grid(kernel(NAIVE + macro + host)) == ("b8x4", "n // 8, n // 4")
    assert [note.why for note in found.notes if note.what == "block"] == [f"as launched in line {line}"]


def test_each_launch_has_the_block_that_is_declared_before_it() -> None:
    host = "void f(int w, int x) { if (x) { dim3 t(x), g(x); mul<<<g, t>>>(a, b, c, w); }\n"
    host += "else { dim3 t(8, 4), g(w / 8, w / 4); mul<<<g, t>>>(a, b, c, w); } }"
    assert block_and_grid(kernel(NAIVE + host)) == ("b8x4", "n // 8, n // 4")


def test_names_of_types_may_stand_for_pointers() -> None:
    names = "using in = const float *; typedef float *__restrict__ out; using size=const int; typedef size length;\n"
    parameters = {"float *A, float *B, float *C, int N": "in A, in B, out C, length N"}
    found = kernel(names + changed(NAIVE, parameters) + SMALL)
    assert (found.arguments, found.dtype) == (("A", "B", "C", "n"), "float32")


@pytest.mark.parametrize("alias", ["typedef float Matrix[N][N];", "using Matrix = float[N][N];"])
def test_the_name_of_an_array_of_rows_stands_for_a_pointer_to_them(alias: str) -> None:
    body = "int i = blockIdx.y, j = threadIdx.x; C[i][j] = 0; for (int k = 0; k < N; k++) C[i][j] += A[i][k] * B[k][j];"
    by_name = f"#define N 96\n{alias}\n__global__ void mul(const Matrix A, const Matrix B, Matrix C) {{ {body} }}"
    changes = {"const Matrix A": "const float A[N][N]", "const Matrix B": "const float B[N][N]"}
    assert inferred(by_name).attributes["arguments"] == ("A", "B", "C")
    assert inferred(by_name).notes == inferred(changed(by_name, changes | {"Matrix C": "float C[N][N]"})).notes


def test_a_template_is_launched_as_the_file_launches_it_and_the_block_follows_its_parameter() -> None:
    host = "void h(int w) { dim3 b(EDGE, EDGE); mul<EDGE><<<dim3(w / EDGE, w / EDGE), b>>>(a, b, c, w); }"
    found = kernel(f"{TEMPLATE}#define EDGE 8\n{host}")
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


@cases(__file__, "what_nothing_shows_is_guessed", "changes, names")
def test_what_nothing_shows_is_guessed(changes: dict[str, str], names: tuple[str, ...]) -> None:
    assert guesses(changed(NAIVE, changes)) == tuple(names)
    assert kernel(changed(NAIVE, changes)).usual_configs


def test_an_instance_that_a_kernel_calls_suggests_the_edge_of_its_block() -> None:
    tile = "template <int EDGE> __device__ void tile(float *A, float *B, float *C, int N);\n"
    text = tile + "__global__ void mul(float *A, float *B, float *C, int N) { tile<32>(A, B, C, N); }"
    assert (block_and_grid(kernel(text)), guesses(text)) == (("b32", "ceil(n / bx), ceil(m / by)"), ("block", "grid"))


def test_a_macro_that_a_user_may_define_is_a_parameter_and_one_that_is_missing_is_guessed() -> None:
    text = NAIVE.replace("blockDim.y", "TILE").replace("blockDim.x", "TILE")
    guarded = kernel("#ifndef TILE\n#define TILE 8\n#endif\n" + text)
    assert [dict(config) for config in guarded.usual_configs] == [{"block": (8, 8, 1), "TILE": 8}]
    assert [dict(config) for config in kernel(text).usual_configs] == [{"block": (16, 16, 1), "TILE": 16}]
    assert guesses(text) == ("TILE",)
    assert kernel(text, defines={"TILE": "4"}).usual_configs[0].block == (4, 4, 1)


@cases(__file__, "a_name_in_capitals_that_the_source_or_its_header_declares_is_not_guessed", "declared")
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


def test_a_macro_that_the_user_defines_is_the_size() -> None:
    text = "#ifndef N\n#define N 1000\n#endif\n" + NAIVE.replace(", int N", "")
    found = kernel(text, defines={"N": "65"})
    assert found.square_problem(640).n == 65
    assert found.violations(found.problem(125, 125, 125), found.usual_configs[0])
    assert not found.violations(found.problem(65, 65, 65), found.usual_configs[0])


def test_sizes_that_macros_fix_and_are_not_square_are_the_usual_ones() -> None:
    text = NAIVE.replace(", int N", "").replace("row >= N || col >= N", "row >= M || col >= N")
    usual = kernel(
        "#define M 20\n#define N 5\n#define K 20\n"
        + text.replace("i < N", "i < K").replace("row * N + i", "row * K + i")
    ).square_problem(128)
    assert (usual.m, usual.n, usual.k) == (20, 5, 20)


def test_one_constant_may_be_two_sizes_and_the_grid_shows_which() -> None:
    indexes = "a[i * DEPTH + p]", "b[p * LONG + j]", "c[i * LONG + j]"
    text = "#define DEPTH 32\n#define LONG 96\n" + product(indexes, "float *a, float *b, float *c").replace(
        "9", "DEPTH"
    )
    launched = f"{text} void run(float *a) {{ dim3 g(LONG / 16, DEPTH / 16), t(16, 16); f<<<g, t>>>(a, a, a); }}"
    usual = kernel(launched).square_problem(128)
    assert (usual.m, usual.n, usual.k) == (32, 96, 32)
    assert kernel(text).square_problem(128).m == 96


def test_the_rows_of_c_fix_n_where_b_is_stored_by_columns() -> None:
    text = product(("a[i * K + p]", "b[j * K + p]", "c[i * N + j]"), "float *a, float *b, float *c").replace("9", "K")
    found = inferred(f"#define M 64\n#define N 128\n#define K 192\n{text}")
    assert [each.value for each in found.notes if each.what == "sizes"] == ["64×128×192 or smaller"]


def test_a_macro_of_an_array_and_its_index_is_read() -> None:
    text = "#define N 64\n#define at(x, i, j) ((x)[(i)*N + (j)])\n" + NAIVE.replace("float *C, int N", "float *C")
    text = changed(text, {"A[row * N + i]": "at(A, row, i)", "B[i * N + col]": "at(B, i, col)"})
    found = kernel(text.replace("C[row * N + col]", "at(C, row, col)"))
    assert (found.square_problem(9).n, grid(found)) == (64, "ceil(n / bx), ceil(m / by)")
    without = text.replace("at(A, row, i)", "*A").replace("at(B, i, col)", "*B").replace("blockDim", "WHAT")
    with pytest.raises(InvalidKernel, match="the block of mul is unknown"):
        kernel(without)


@pytest.mark.parametrize(
    ("definition", "edge", "allowed"),
    [
        ("#define N 1024", 16, [1024, 512, 256, 128, 64]),
        ("constexpr int N = 1024;", 16, [1024, 512, 256, 128, 64]),
        ("#define N (1024)", 256, [1024, 512, 256]),
        ("#define N 96", 32, [96]),
        ("#define EDGE 8\n#define N (16 * EDGE)", 16, [128, 64]),
        ("#define N 1024\n#undef N\n#define N 512", 16, [1024]),
    ],
)
def test_a_source_of_fixed_sizes_is_compiled_for_smaller_ones(definition: str, edge: int, allowed: list[int]) -> None:
    text = NAIVE.replace("float *C, int N", "float *C")
    found = kernel(f"{definition}\n{text}", grid=f"ceil(n / {edge}), ceil(m / {edge})")
    config = found.usual_configs[0]
    sizes = [size for size in range(1, 1025) if not found.violations(found.problem(size, size, size), config)]
    assert sizes == sorted(allowed)
    if len(allowed) > 1:
        assert found.macros(found.problem(64, 64, 64), config)["MMCORE_N"] == "64"
        assert "MMCORE_N" in found.source_text()


@cases(__file__, "an_expression_as_python", "text, python")
def test_an_expression_as_python(text: str, python: str) -> None:
    (expression,) = parse_expressions(text, "the grid")
    assert python_text(expression) == python


def test_arrays_of_arrays_have_rows_as_long_as_they_are_declared() -> None:
    found = kernel(kernel_source("arrays_of_arrays"))
    assert (found.arguments, grid(found), found.dtype) == (("A", "B", "C"), "ceil(n / 8), ceil(m / 8)", "float64")
    assert found.square_problem(640).n == 24


def body_of(text: str) -> Body:
    (function,) = read_program(text).functions
    return Body(function)


def test_what_grows_without_end_is_read_in_part() -> None:
    squares = "int w0 = N; " + "".join(f"int w{i} = w{i - 1} * w{i - 1}; " for i in range(1, 14))
    body = body_of(changed(NAIVE, {"int row": f"{squares} int row", "C[row": "C[w13 + row"}))
    assert max(len(term) for index in body.indexes("C") for term in index) <= 64


def test_variables_that_are_set_to_each_other_are_read_in_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mmcore_sources.cuda_file.inference.body._MOST_EXPRESSIONS", 500)
    names = [f"v{i}" for i in range(8)]
    each_other = "".join(f"{name} = {' + '.join({*names} - {name})}; " for name in names)
    begin = f"int {' = 1, '.join(names)} = 1; {each_other} int row"
    body = body_of(changed(NAIVE, {"int row": begin, "C[row": "C[v0 + row"}))
    assert any("v0" in term for index in body.indexes("C") for term in index)
    assert len(body._known) < 1000


def test_a_statement_that_if_splits_is_read_with_its_first_branch() -> None:
    split = 'asm volatile(\n#ifdef FAST\n"add.f32 %0, %0, %1;\\n"\n#else\n"sub.f32 %0, %0, %1;\\n"\n#endif\n'
    split += ': "+f"(sum) : "f"(sum));\n'
    loop = "for (int i = 0; i < N; i++) sum += A[row * N + i] * B[i * N + col];"
    body = loop.replace("sum", "{ sum", 1) + f" {split} }}"
    text = changed(NAIVE, {loop: f"{split}{body}{split}"})
    source = read_program(f"#ifndef TILE\n#define TILE 8\n#endif\n{text}")
    assert [function.name for function in source.functions] == ["mul"]
    assert (source.error_line, source.macros["TILE"].group) == (0, ("TILE",))


def test_a_kernel_without_blocks_is_launched_in_one_block() -> None:
    parameters = "float *Md, float *Nd, float *Pd, int Hm, int Wm, int Hn, int Wn"
    stores = "for (int i = 0; i < Wm; i++) s += Md[y * Wm + i] * Nd[i * Wn + x]; Pd[y * Wn + x] = s;"
    text = f"__global__ void mul({parameters}) {{ int x = threadIdx.x, y = threadIdx.y; float s = 0; {stores} }}"
    found = kernel(f"{text} void f(int w, int h) {{ mul<<<1, dim3(w, h)>>>(a, b, c, h, 9, 9, w); }}")
    assert found.arguments == ("A", "B", "C", "m", "k", "k", "n")  # by names such as Wm for the width of Md
    assert isinstance(found.launch, LaunchText)
    assert (found.launch.grid, found.launch.block) == ("1", "n, m")
    config = found.usual_configs[0]
    assert not found.violations(found.problem(16, 20, 40), config)
    assert found.violations(found.problem(40, 32, 40), config)


def test_names_count_where_the_loop_over_k_contradicts_a_stride() -> None:
    body = "for (int i = 0; i < k_ld; i++) s += A[y * m_ld + i] * B[i * n_ld + x]; C[y * n_ld + x] = s;"
    where = "int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y; float s = 0;"
    text = f"__global__ void mul(float *A, float *B, float *C, int m_ld, int n_ld, int k_ld) {{ {where} {body} }}"
    assert kernel(text).arguments == ("A", "B", "C", "m", "n", "k")


def test_a_size_added_in_a_loop_is_the_length_of_a_row() -> None:
    loop = "for (int i = 0, a = y * N, b = x; i < N; i++, a++, b += K) s += A[a] * B[b]; C[y * K + x] = s;"
    where = "int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y; float s = 0;"
    text = f"__global__ void mul(float *A, float *B, float *C, int M, int N, int K) {{ {where} {loop} }}"
    assert kernel(text).arguments == ("A", "B", "C", "m", "k", "n")


@pytest.mark.parametrize("names", [("C", "D"), ("C_in", "C_out"), ("old", "sums")])
def test_a_fourth_pointer_is_what_c_held_if_read_where_the_output_is_stored(names: tuple[str, str]) -> None:
    old, new = names
    where = "int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y; float s = 0;"
    loop = "for (int i = 0; i < K; i++) s += A[y * K + i] * B[i * N + x];"
    store = f"{new}[y * N + x] = s + {old}[y * N + x];"
    text = f"__global__ void mul(float *A, float *B, float *{old}, float *{new}, int M, int N, int K)"
    found = inferred(f"{text} {{ {where} {loop} {store} }}")
    assert found.attributes["arguments"] == ("A", "B", "C", "C", "m", "n", "k")
    assert not found.unusual
    if old != "C":
        elsewhere = f"{text} {{ {where} {loop} {store.replace(f'{old}[y * N + x]', f'{old}[x]')} }}"
        assert "arguments" in guesses(elsewhere)


BATCH = """
__global__ void mul(const float *A, const float *B, float *C, int M, int N, int K, int batch)
{
    int b = blockIdx.z, y = blockIdx.y * blockDim.y + threadIdx.y, x = blockIdx.x * blockDim.x + threadIdx.x;
    float s = 0;
    for (int i = 0; i < K; i++) s += A[b * M * K + y * K + i] * B[b * K * N + i * N + x];
    C[b * M * N + y * N + x] = s;
}
void f(int M, int N, int K) { mul<<<dim3((N + 15) / 16, (M + 15) / 16, 8), dim3(16, 16)>>>(a, b, c, M, N, K, 8); }
"""


def test_of_a_batch_one_product_is_run_and_wrong_steps_are_found() -> None:
    found = inferred(BATCH)
    assert [str(getattr(each, "value", each)) for each in found.attributes["arguments"]] == [*"ABCmnk", "1"]
    assert (found.attributes["launch"].grid, found.batch_faults) == ("ceil(n / 16), ceil(m / 16)", ())
    assert found.warnings == ("not run: all products of the batch but the first",)
    wrong = BATCH.replace("b * M * K", "b * M * N")
    fault = "goes M·N elements from one A of the batch to the next; a matrix A has K·M"
    assert inferred(wrong).batch_faults == ((6, fault),)
    moved = wrong.replace("float s", "const float *P = A + b * M * N;\n    float s").replace("A[b * M * N + ", "P[")
    assert inferred(moved).batch_faults == ((5, fault),)


@pytest.mark.parametrize("parameter", [", int batch", ""])
@pytest.mark.parametrize(
    ("right", "wrong", "fault"),
    [
        (
            "C[b * M * N + y",
            "C[y",
            "stores each product of the batch at the place of the first: no index into C has a step",
        ),
        ("b * K * N", "b * K", "goes K elements from one B of the batch to the next; a matrix B has K·N"),
        ("B[b * K * N + i", "B[i", ""),  # all products share B
    ],
)
def test_each_product_of_a_batch_has_a_matrix_of_its_own(parameter: str, right: str, wrong: str, fault: str) -> None:
    text = BATCH[: BATCH.index("void f(")].replace(", int batch", parameter).replace(right, wrong)
    found = inferred(text)
    assert [message for _, message in found.batch_faults] == ([fault] if fault else [])
    assert found.warnings == ("not run: all products of the batch but the first",)


def test_a_batch_whose_c_another_function_finds_is_right() -> None:
    text = BATCH.replace("C[b * M * N + y * N + x] = s;", "store(C, y * N + x, M * N, s);")
    store = "__device__ void store(float *C, int i, int step, float s) { C[blockIdx.z * step + i] = s; }"
    assert inferred(store + text).batch_faults == ()


def test_the_step_to_the_next_product_of_a_batch_may_be_passed() -> None:
    passed = BATCH.replace("int batch", "long long sa, long long sb, long long sc")
    for step, name in (("M * K", "sa"), ("K * N", "sb"), ("M * N", "sc")):
        passed = passed.replace(f"b * {step}", f"b * {name}")
    assert [str(getattr(each, "value", each)) for each in inferred(passed).attributes["arguments"]][3:] == [*"mnk000"]
    parts = passed.replace("int i = 0; i < K", "int i = b * sa; i < b * sa + sa")
    assert inferred(parts).attributes["arguments"][6] != Scalar(0, "int64")


PASSED = """
__global__ void mul(const float *A, const float *B, float *C, int M, int N, int K, long long sa, int sb, int sc)
{
    int y = blockIdx.y * blockDim.y + threadIdx.y, x = blockIdx.x * blockDim.x + threadIdx.x;
    A += blockIdx.z * sa; B += blockIdx.z * sb; C += blockIdx.z * sc;
    float s = 0;
    for (int i = 0; i < K; i++) s += A[y * K + i] * B[i * N + x];
    C[y * N + x] = s;
}
void f(int M, int N, int K)
{
    int c = M * N;
    mul<<<dim3((N + 15) / 16, (M + 15) / 16, 8), dim3(16, 16)>>>(a, b, d, M, N, K, (long long)M * K, K * N, c);
}
"""
PADDED = (
    PASSED.replace("int sb", "int lda, int ldc, int sb")
    .replace("y * K", "y * lda")
    .replace("y * N", "y * ldc")
    .replace("int M, int N, int K)", "int M, int N, int K, int la, int lc)")
    .replace("(long long)M * K", "M * la, la, lc")
    .replace("c = M * N", "c = M * lc")
)


@pytest.mark.parametrize(
    ("text", "right", "wrong", "fault"),
    [
        (PASSED, "", "", ""),
        (PASSED, "c = M * N", "c = M * K", "goes sc = K·M elements from one C {next} C has M·N"),
        (PASSED, ")M * K", ")M * N", "goes sa = M·N elements from one A {next} A has K·M"),
        (PASSED, "K * N, c", "K, c", "goes sb = K elements from one B {next} B has K·N"),
        (PASSED, "c = M * N", "c = 0", "stores each product of the batch at the place of the first: sc = 0"),
        (PASSED, "K * N, c", "0, c", ""),  # all products share B
        (PASSED, ")M * K", ")M * K + 32", ""),
        (PASSED, "M, N, K, (long long)M * K, K * N, c", "M, M, M, M * M, M * M, M * M", ""),
        (PASSED, "int N, int K)\n{\n    int c = M * N", "int w)\n{\n    int N = M, K = N, c = N * N", ""),
        (PADDED, "", "", ""),
        (PADDED, "M * lc", "K * lc", "goes sc = K·ldc elements from one C {next} C has M·ldc"),
    ],
)
def test_a_passed_step_is_the_number_of_elements_of_a_matrix(text: str, right: str, wrong: str, fault: str) -> None:
    assert right in text
    text = text.replace(right, wrong) if right else text
    line = text[: text.index("mul<<<")].count("\n") + 1
    fault = fault.format(next="of the batch to the next; a matrix")
    assert inferred(text).batch_faults == (((line, fault),) if fault else ())


def test_pitches_are_leading_dimensions_and_arrays_of_rows_are_refused() -> None:
    body = "{ int r = blockIdx.y, c = blockIdx.x; C[r * pitchC + c] = A[r * pitchA] * B[c]; }"
    sizes = "size_t pitchA, size_t pitchB, size_t pitchC"
    for text in (sizes, sizes.replace("pitchA", "A_ld").replace("pitchB", "B_ld").replace("pitchC", "C_ld")):
        found = kernel(f"__global__ void mul(float *A, float *B, float *C, {text}) {body}", block=(16, 16))
        assert [getattr(each, "value", each) for each in found.arguments] == ["A", "B", "C", "lda", "ldb", "ldc"]
    for three in ("float **A, float **B, float **C", "float *A[], float *B[], float *C[]"):
        with pytest.raises(InvalidKernel, match="an array of rows, each at an address of its own"):
            kernel(f"__global__ void mul({three}, int n) {{ C[0][n] = A[0][n] * B[0][n]; }}")
        with pytest.raises(InvalidKernel, match="an array of matrices, each at an address of its own"):
            kernel(f"__global__ void mul({three}, int n) {{ float *a = A[blockIdx.z]; C[0][n] = a[n] * B[0][n]; }}")


def test_c_in_eight_bits_is_warned_of() -> None:
    text = BATCH.replace("float", "int8_t")
    assert any("int32_t C and sum" in each for each in inferred(text).warnings)


def test_a_kernel_that_does_not_use_its_block_is_launched_in_one() -> None:
    assert grid(kernel(STRIDED.replace("FIRST", "threadIdx.x"), block="256")) == "1"
    elsewhere = '#include "first.cuh"\n' + STRIDED.replace("FIRST", "first() + threadIdx.x")
    assert grid(kernel(elsewhere, block="256")) == "ceil(n / bx), ceil(m / by)"


def test_pointers_to_structures_with_pointers_are_refused() -> None:
    matrix = "struct Matrix { int rows, cols; float *data; };\n"
    body = "{ for (int p = 0; p < A->cols; ++p) C->data[0] += A->data[p] * B->data[p]; }\n"
    text = f"{matrix}__global__ void f(Matrix *A, Matrix *B, Matrix *C) {body}"
    with pytest.raises(InvalidKernel, match=r"only structures by value, as Matrix A, can be run$"):
        kernel(text)

"""Hints that name the change of a source which makes a wrong product right."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mmcore.cell import Cell
from mmcore.devices.violations import Violation
from mmcore.kernel.geometry import Dim3
from mmcore.result import Result
from mmcore_sources.cuda_file.repairs import trial
from mmcore_sources.cuda_file.repairs.copied_values import copied_values
from mmcore_sources.cuda_file.repairs.edit import in_lines
from mmcore_sources.cuda_file.repairs.edits import device_nodes, edits, rest_left_out
from mmcore_sources.cuda_file.repairs.index_edits import exchanged_subscripts
from mmcore_sources.cuda_file.repairs.operands import Operands
from mmcore_sources.cuda_file.repairs.remainder_edits import remainder_edits
from mmcore_sources.cuda_file.repairs.thread_edits import thread_edits
from tests.command_line import mmcore as command
from tests.tables import section_of
from tests.wrong_kernels import kernel

KERNELS = (
    "naive",
    "element",
    "vectors",
    "steps",
    "tiled",
    "scaled",
    "buffers",
    "guarded",
    "strided",
    "loads",
    "members",
    "flat",
    "divided",
    "lines",
    "fragments",
    "registers",
    "packed",
    "warp",
    "threads",
    "grid",
    "rounded",
)
MISTAKES = [(name, *mistake) for name in KERNELS for mistake in section_of(__file__, name)["mistakes"].values()]


def run(text: str, *words: str) -> Any:
    Path("my.cu").write_text(text.removeprefix("\n"))
    return command("run", "my.cu", "--device", "emulator", "--seed", "1", "--quiet", "--timeout", "600", *words)


@pytest.mark.parametrize(
    ("kernel", "right", "wrong", "hint"), MISTAKES, ids=[each[3].partition(":")[0] for each in MISTAKES]
)
def test_the_change_that_makes_a_product_right_is_named_with_its_line(
    kernel: str, right: str, wrong: str, hint: str
) -> None:
    text = section_of(__file__, kernel)["text"]
    assert text.count(right) == 1
    result = run(text.replace(right, wrong))
    assert result.exit_code == 1
    assert f" {hint}" in result.stdout, result.stdout
    assert "hint: the product is right at " in result.stdout


def test_an_exchanged_index_into_c_is_named_where_no_launch_shows_the_grid() -> None:
    section = section_of(__file__, "guarded")
    right, wrong, hint = section["mistakes"]["line"]
    output = run(section["text"].partition("void f(")[0].replace(right, wrong)).stdout
    assert f" {hint}" in output, output


def test_the_block_without_a_launch_is_the_step_of_its_loops_or_found() -> None:
    text = section_of(__file__, "threads")["text"].partition("void f(")[0]
    assert "hint: without a remainder, at 32×32×32, the product is right\n" in run(text).stdout
    turns = "int place = thread; place < EDGE * EDGE; place"
    assert text.count(turns) == 1
    text = text.replace(turns, "int turn = 0, place = thread; turn < 2; turn++, place")
    assert "hint: with --block 128x1 the product is right at 64×64×64\n" in run(text).stdout


def test_two_exchanged_lengths_are_said_to_be_right_where_they_are_equal() -> None:
    lengths = section_of(__file__, "naive")["mistakes"]["lengths"]
    result = run(section_of(__file__, "naive")["text"].replace(*lengths[:2]))
    assert "\nwithout this change, the product is right where n = k, as at 16×96×96\n" in result.stdout


def test_a_guard_of_whole_fragments_leaves_a_layout_to_be_right_at_whole_tiles() -> None:
    text = section_of(__file__, "fragments")["text"].replace("half, wmma::row_major> b", "half, wmma::col_major> b")
    text = text.replace("    wmma::store", "    if (blockIdx.y * 16 < m && blockIdx.x * 16 < n) wmma::store")
    result = run(text.replace("dim3(n / 16, m / 16)", "dim3((n + 15) / 16, (m + 15) / 16)"))
    assert "hint: the product is right at whole tiles, at " in result.stdout
    assert ", with row_major instead of col_major in line 6:" in result.stdout


@pytest.mark.parametrize(
    ("bound", "is_rounded_down"), [("k / 16", True), ("ceil(k / 16.f)", False), ("ceil(k / (float)16)", False)]
)
def test_a_quotient_of_floats_leaves_no_rest_out(bound: str, is_rounded_down: bool) -> None:
    text = f"__global__ void mul(int k)\n{{\n    for (int t = 0; t < {bound}; t++) ;\n}}\n"
    clause = "line 3 counts k / 16 whole steps and leaves the rest of k out"
    assert rest_left_out(text, "mul", {"k": "k"}) == (clause if is_rounded_down else "")


def test_a_matrix_without_a_leading_dimension_is_packed() -> None:
    text = section_of(__file__, "strided")["text"].replace(", int ldc", "").replace("row * ldc", "row * n")
    Path("my.cu").write_text(text)
    result = command("run", "my.cu", "--device", "emulator", "--seed", "1")
    assert result.exit_code == 0, result.stdout
    assert "lda = 40, ldb = 48, ldc = 35: gaps between rows" in result.stdout


def remainders(form: str) -> tuple[str, str]:
    """Return a source that is right at whole tiles alone, and its hint."""
    section = section_of(__file__, "remainders")
    parts, text = section["forms"][form], section["text"]
    for name in ("STEPS", "LOAD_A", "LOAD_B", "STORE", "GRID"):
        text = text.replace(name, parts[name])
    return text, parts["hint"]


@pytest.mark.parametrize("form", section_of(__file__, "remainders")["forms"])
def test_the_guards_that_a_kernel_lacks_at_remainders_are_shown(form: str) -> None:
    text, hint = remainders(form)
    result = run(text)
    assert result.exit_code == 1
    assert "race" not in result.stdout  # of threads that a guard would stop
    without, _, repaired = result.stdout.partition("hint: without a remainder, at ")[2].partition("\nhint: ")
    assert without
    assert repaired.startswith("the product is right at ")
    assert hint in repaired


def test_the_guards_that_a_kernel_of_a_fixed_size_lacks_are_shown() -> None:
    text, _ = remainders("guards")
    fixed = text.replace(", int m, int n, int k", "").replace("int m, int n, int k", "").replace("c, m, n, k", "c")
    result = run("#define WIDTH 100\n" + re.sub(r"\b[mnk]\b", "WIDTH", fixed.removeprefix("\n")))
    assert result.exit_code == 1
    assert "for (int t = 0; t < (WIDTH + 16 - 1) / 16; t++) {" in result.stdout
    assert "a[y][x] = row < WIDTH && t * 16 + x < WIDTH ? A[row * WIDTH + t * 16 + x] : 0;" in result.stdout
    assert "if (row < WIDTH && col < WIDTH) C[row * WIDTH + col] = sum;" in result.stdout


@pytest.mark.parametrize(("statement", "guarded"), section_of(__file__, "guarded_statements").values())
def test_guards_of_one_statement_do_not_overlap(statement: str, guarded: str) -> None:
    text = f"__global__ void mul(float *A, float *B, float *C)\n{{\n    {statement}\n    __syncthreads();\n}}\n"
    operands = Operands({"A": "A", "B": "B", "C": "C"}, {"m": "m", "n": "n", "k": "k"}, "", "0")
    (edit,) = remainder_edits(text, device_nodes(text, "mul"), operands)
    assert edit.text == text.replace(statement, guarded)


IN_C = """
__global__ void mul(const float *A, const float *B, float *C, int m, int n, int k)
{
    int row = blockIdx.y*8 + threadIdx.y, col = blockIdx.x*8 + threadIdx.x;
    C[row*n+col] = 0;
    for (int i = 0; i < k; i++)
        C[row*n+col] += A[row*k+i] * B[i*n+col];
}
void f(int m, int n, int k) { mul<<<dim3((n + 7) / 8, (m + 7) / 8), dim3(8, 8)>>>(a, b, c, m, n, k); }
"""


def test_a_guard_of_a_part_of_the_index_of_a_store_gets_the_whole_of_it() -> None:
    text = """
__global__ void mul(const float *A, const float *B, float *C, int m, int n, int k)
{
    int row = blockIdx.y * 16 + threadIdx.y, first = blockIdx.x * 64 + threadIdx.x;
    for (int part = 0; part < 4; part++) {
        int col = first + part * 16;
        float sum = 0;
        for (int i = 0; i < k; i++) sum += row < m && col < n ? A[row * k + i] * B[i * n + col] : 0;
        if (row < m && first < n) C[row * n + first + part * 16] = sum;
    }
}
void f(int m, int n, int k) { mul<<<dim3((n + 63) / 64, (m + 15) / 16), dim3(16, 16)>>>(a, b, c, m, n, k); }
"""
    result = run(text)
    assert result.exit_code == 1
    assert (
        "with first + part * 16 < n instead of first < n:\n    8  if (row < m && first + part * 16 < n)"
        in result.stdout
    )


def test_a_kernel_without_barriers_that_sums_in_c_gets_one_guard_before_its_first_access() -> None:
    guard = "if (row >= m || col >= n) return;"
    output = run(IN_C).stdout
    assert f" with a guard before the loop in line 4:\n    {guard} C[row*n+col] = 0;\n" in output
    assert run(IN_C.replace("    C[row*n+col] = 0;", f"    {guard} C[row*n+col] = 0;")).exit_code == 0


def test_a_product_that_no_change_of_a_word_makes_right_gets_no_hint() -> None:
    text = section_of(__file__, "naive")["text"].replace("sum += A[row * k + i]", "sum += A[row * k + i] * A[i]")
    result = run(text)
    assert (result.exit_code, "hint" in result.stdout) == (1, False)


def test_a_long_search_that_finds_no_change_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial, "FEW_SECONDS", 0.0)
    text = section_of(__file__, "naive")["text"].replace("sum += A[row * k + i]", "sum += A[row * k + i] * A[i]")
    output = run(text).stdout
    assert re.search(r"^tried \d+ changes of the source for \d+ s: none makes it right\nTEST FAIL$", output, re.M)


def test_a_search_without_success_is_not_reported_before_guards_that_make_the_product_right(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(trial, "FEW_SECONDS", 0.0)
    output = run(remainders("guards")[0]).stdout
    assert (" with a last step and guards:" in output, "tried" in output) == (True, False)


VECTORS = """
__global__ void first(const float *A, const float *B, float *C, int m, int n, int k)
{
    int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
    float sum = 0;
    for (int i = 0; i < k / 4; i++) {
        float4 a = ((const float4 *)A)[row * (k / 4) + i];
        const float *b = B + i * 4 * n + col;
        sum += a.x * b[0] + a.y * b[n] + a.z * b[2 * n] + a.w * b[3 * n];
    }
    C[row * n + col] = sum;
}
"""


def test_a_search_is_not_repeated_for_a_kernel_that_is_right_at_whole_tiles_alone_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(trial, "FEW_SECONDS", 0.0)
    guarded = VECTORS.replace("C[row", "if (row < m && col < n) C[row").replace("first", "third")
    output = run(VECTORS + VECTORS.replace("first", "second") + guarded).stdout
    of_first, of_second, of_third = re.split(r"^(?:second|third)$", output, flags=re.M)
    tried = re.compile(r"tried \d+ changes of the source for \d+ s: none makes it right")
    assert (bool(tried.search(of_first)), bool(tried.search(of_second)), bool(tried.search(of_third))) == (
        True,
        False,
        True,
    )
    assert "no change of the source is tried: first has the same faults, and none makes it right" in of_second
    assert "without a remainder" in of_second


def test_whole_tiles_are_tried_before_changes_of_a_product_that_is_right_beside_faults(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(trial, "ALL_SECONDS", -1.0)  # the limit of a search that knows of no right size
    monkeypatch.setattr(trial, "FEW_SECONDS", -2.0)
    monkeypatch.setattr(trial, "_SOME_SECONDS", 600.0)  # until all changes are tried
    text = VECTORS.replace("C[row * n + col] = sum;", "if (row < m && col < n) C[row * n + col] = sum;")
    output = run(text, "-m", "24", "-n", "32", "-k", "32").stdout
    assert "out-of-bounds-read" in output
    assert re.search(r"^tried [1-9]\d* changes", output, re.M)
    assert "hint: without a remainder, at 32×32×32, the product is right" in output


def test_few_changes_are_tried_and_none_counted_where_a_hazard_names_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial, "FEW_SECONDS", 0.0)
    text = (
        section_of(__file__, "tiled")["text"].replace("__syncthreads();", "", 1).replace("= sum", "= sum + sum * sum")
    )
    output = run(text).stdout
    assert "; try __syncthreads() " in output
    assert "tried" not in output


@pytest.mark.parametrize(
    ("kind", "message", "named"),
    [
        ("descriptor-mismatch", "the descriptor's swizzle is wrong (128 would be right)", True),
        ("descriptor-mismatch", "the descriptor says swizzle 64, the copy swizzle 128", False),
        ("deadlock", "its phase of parity 0: 128 of 256 arrivals and 0 bytes are missing", True),
        ("deadlock", "waits for a value in memory that no thread is left to write", False),
        ("wgmma-order", "multiplies before wgmma.fence", True),
        ("shared-race", "two threads write it", False),
    ],
)
def test_a_hazard_that_names_its_cause_shortens_the_search(kind: str, message: str, named: bool) -> None:
    result = Result(Cell("any", 8, 8, 8), "any", violations=(Violation(kind, message),))
    assert trial.names_a_cause(result) == named


def test_a_sum_of_fewer_digits_than_the_elements_is_named() -> None:
    text = section_of(__file__, "naive")["text"].replace("float", "double").replace("double sum", "float sum")
    assert "with double sum instead of float sum in line 5:" in run(text).stdout


def test_a_sum_of_fewer_digits_does_not_hide_another_mistake() -> None:
    text = section_of(__file__, "naive")["text"].replace("float", "double").replace("double sum", "float sum")
    output = run(text.replace("blockIdx.y", "blockIdx.x")).stdout
    hint = "double sum instead of float sum in line 5, and blockIdx.y instead of blockIdx.x in line 3:"
    assert hint in output


def test_a_float_in_a_product_of_whole_numbers_is_named() -> None:
    text = section_of(__file__, "naive")["text"].replace("float", "int")
    assert run(text).exit_code == 0
    assert "with int sum instead of float sum in line 5:" in run(text.replace("int sum", "float sum")).stdout
    scaled = text.replace("int k)", "int k, float alpha)").replace("= sum", "= alpha * sum")
    assert "(double)alpha * sum;" in run(scaled.replace("n, k);", "n, k, 1.0f);")).stdout


def test_a_count_of_threads_that_leaves_a_tile_unwritten_is_named_beside_another_mistake() -> None:
    text = section_of(__file__, "threads")["text"].replace("num_threads = 128", "num_threads = EDGE * EDGE")
    output = run(text.replace("= low", "= low + low * low")).stdout
    assert "hint: no element is read before it is written with num_threads = 128 in line 4:\n" in output


@pytest.mark.parametrize(("count", "changes"), [("EDGE * EDGE", 1), ("EDGE * EDGE / 2", 0), ("128", 0)])
def test_a_count_of_threads_that_is_the_blocks_is_not_changed(count: str, changes: int) -> None:
    text = section_of(__file__, "threads")["text"].replace("num_threads = 128", f"num_threads = {count}")
    assert len([*thread_edits(text, device_nodes(text, "mul"), Dim3(128))]) == changes


def test_an_array_of_sums_that_nothing_sets_begins_with_zeros() -> None:
    text = section_of(__file__, "naive")["text"].replace("float sum = 0;", "float sum[1] = {};")
    text = text.replace("sum += A", "sum[0] += A").replace("= sum;", "= sum[0];")
    assert run(text).exit_code == 0
    assert " with sum[1] = {} instead of sum[1] in line 5:" in run(text.replace(" = {}", "")).stdout


def test_no_barrier_is_advised_between_a_read_and_a_store_of_one_line() -> None:
    wrong = section_of(__file__, "scaled")["text"].replace("threadIdx.x % 32", "threadIdx.x / 32")
    output = run(wrong, "--no-hints").stdout
    assert "try another index: no barrier fits between a read and a store in one line" in output


def test_a_block_larger_than_the_tile_gets_a_hint_where_equal_values_are_stored_twice() -> None:
    result = run(section_of(__file__, "tiled")["text"].replace("dim3(16, 16)", "dim3(32, 32)"))
    assert result.exit_code == 1
    assert re.search(r"hint: with --block 16x16 the product is right at .* not with 32×32, as launched", result.stdout)


@pytest.mark.parametrize(("size", "status"), [((), 1), (("--size", "33x34x35"), 0)])
def test_a_block_unlike_the_tile_gets_a_hint_also_where_the_product_happens_to_be_right(
    size: tuple[str, ...], status: int
) -> None:
    text = section_of(__file__, "naive")["text"].replace("blockIdx.y * blockDim.y", "blockIdx.y * EDGE")
    text = text.replace("blockIdx.x * blockDim.x", "blockIdx.x * EDGE").replace("(32, 8)", "(32, 32)")
    result = run(f"#define EDGE 16\n{text.replace('+ 7) / 8', '+ 31) / 32')}", *size)
    assert result.exit_code == status
    assert "hint: with a block and a grid of 16×16 tiles the product is right at " in result.stdout
    assert "'--grid=ceil(n / 16), ceil(m / 16)' -m 64" in result.stdout
    assert "--block 16x16" in result.stdout


def test_an_exchange_that_makes_lanes_neighbours_comes_first() -> None:
    text = """__global__ void f(float *c) {
    __shared__ float s[8][8];
    int x = threadIdx.x, y = threadIdx.y;
    s[y][x] = 1;
    c[x] = s[x][0];
}"""
    edits = exchanged_subscripts(text.encode(), device_nodes(text, "f"))
    assert [each.what for each in edits] == ["s[0][x] instead of s[x][0]", "s[x][y] instead of s[y][x]"]


def test_a_change_of_two_lines_is_shown_with_both() -> None:
    text = """__global__ void f(float *c, int n) {
    int x = blockIdx.x * 16 + threadIdx.x;
    int y = blockIdx.y * 16 + threadIdx.y;
    c[y * n + x] = 0;
}"""
    shown = {in_lines(each) for each in edits(text, "f", Operands({"c": "C"}, {"n": "n"}, "", "0"), "float")}
    both = "    2  int x = blockIdx.y * 16 + threadIdx.x;\n    3  int y = blockIdx.x * 16 + threadIdx.y;"
    assert f"blockIdx.x and blockIdx.y exchanged in lines 2 and 3:\n{both}" in shown


def test_no_change_reads_a_variable_in_its_own_initializer() -> None:
    text = """
        __global__ void partial(const float *A, const float *B, float *P, int M, int N, int K, int chunk)
        {
            int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
            int begin = blockIdx.z * chunk, end = min(K, begin + chunk);
            for (int t = begin; t < end; ++t) P[row * N + column] += A[row * K + t] * B[t * N + column];
        }
    """
    operands = Operands({"A": "A", "B": "B", "P": "C"}, {"M": "m", "N": "n", "K": "k"}, "", "0")
    changed = [each.text for each in edits(text, "partial", operands, "float")]
    assert changed
    assert not any("end = min(K, end" in each or "begin = begin" in each for each in changed)


def test_loads_of_fragments_through_macros_are_changed_early() -> None:
    head = '#define LOAD4(a, b, c, d, p) asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"'
    text = f"""{head} : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "r"(p))
__global__ void mul(const half *A, const half *B, float *C, int m, int n, int k)
{{
    unsigned r[2][4];
    for (int i = 0; i < k / 16; i++)
        LOAD4(r[i][0], r[i][1], r[i][2], r[i][3], p);
}}
"""
    operands = Operands({"A": "A", "B": "B", "C": "C"}, {"m": "m", "n": "n", "k": "k"}, "", "0")
    transposed, exchanged, *_ = edits(text, "mul", operands, "float")
    assert (transposed.line, "x4.trans.shared" in transposed.text) == (1, True)
    assert "LOAD4(r[i][0], r[i][2], r[i][1], r[i][3], p);" in exchanged.text


FRAGMENTS = """\
#define LOAD(a, b, c, d, p) asm("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0}, [%4];" : "=r"(a) : "r"(p))
#define LOAD_T(a, b, c, d, p) asm("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0}, [%4];" : "=r"(a) : "r"(p))
__device__ void wgmma(float *d, const half *a, const half *b)
{
    asm("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0}, %1, %2, 1, 1, 1, 0, 0;" : "+f"(d[0]) : "l"(a), "l"(b));
}
__global__ void mul(const half *A, const half *B, float *C, int m, int n, int k)
{
    LOAD_T(b[2 * j][0], b[2 * j][1], b[2 * j + 1][0], b[2 * j + 1][1], p);
    for (int i = 0; i < BK / 16; i++)
        wgmma(d, s.A[q] + i * 16, s.B[q] + i * 16);
    store(d[j * 4], d[j * 4 + 1]);
    store(d[j * 4 + 2], d[j * 4 + 3]);
}
"""


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("    LOAD_T(", "    LOAD("),
        ("b[2 * j][1], b[2 * j + 1][0]", "b[2 * j + 1][0], b[2 * j][1]"),
        ("%2, 1, 1, 1,", "%2, 0, 1, 1,"),
        ("s.A[q] + i * 16, s.B[q] + i * 16", "s.A[q], s.B[q]"),
        ("store(d[j * 4 + 2],", "store(d[j * 4 + 1],"),
        ("store(d[j * 4], d[j * 4 + 1])", "store(d[j * 4], d[j * 4])"),
    ],
    ids=["trans", "registers", "scale-d", "steps along k", "element", "first element"],
)
def test_usual_mistakes_with_fragments_and_descriptors_are_changed(right: str, wrong: str) -> None:
    operands = Operands({"A": "A", "B": "B", "C": "C"}, {"m": "m", "n": "n", "k": "k"}, "", "0")
    assert right in FRAGMENTS
    changed = [each.text for each in edits(FRAGMENTS.replace(right, wrong), "mul", operands, "float")]
    assert FRAGMENTS in changed[:20]


def test_the_condition_of_a_return_before_a_barrier_is_not_changed() -> None:
    text = """__global__ void mul(const float *A, const float *B, float *C, int n) {
        __shared__ float a[16];
        if (row >= n || col >= n) return;
        BARRIER
        C[row * n + col] = a[threadIdx.x];
    }"""
    operands = Operands({"A": "A", "B": "B", "C": "C"}, {"n": "n"}, "", "0")
    of_barrier, other = (
        {each.what for each in edits(text.replace("BARRIER", barrier), "mul", operands, "")}
        for barrier in ("__syncthreads();", "")
    )
    assert other - of_barrier >= {"&& instead of ||", "> instead of >="}


@pytest.mark.parametrize(
    ("stores", "changes"),
    [
        ("c[0] = s[i], c[1] = s[i + 1];", []),
        ("c[0] = s[i + 1]; c[1] = s[i + 1];", ["2 instead of 1", "0 instead of 1"]),
        ("c[0] = s[0][0]; c[1] = s[0][0];", ["1 instead of 0"]),
        ("c[0] = one; c[1] = one;", ["two instead of one", "two instead of one"]),
        ("c[0] = one; c[1] = one + two;", []),
    ],
)
def test_the_second_of_two_equal_values_is_the_next_one(stores: str, changes: list[str]) -> None:
    text = f"__global__ void f(float *c, int i) {{ float s[9][9], one = 0, two = 0; two += 1; {stores} }}"
    edits = copied_values(text.encode(), device_nodes(text, "f"))
    assert [each.what for each in edits] == changes


def test_a_changed_loop_is_not_unrolled_for_all_of_its_turns(tmp_path: Path) -> None:
    """A compiler takes minutes for thousands of turns, and no time limit ends it."""
    pragmas = ("#pragma unroll", "#  pragma unroll  // all", '_Pragma("unroll")', "#pragma unroll 4", "#pragma once")
    changed = trial.with_limited_unrolling(kernel(tmp_path, text="\n".join(pragmas)))
    limited = ("#pragma unroll 32", "#  pragma unroll 32  // all", '_Pragma("unroll 32")', *pragmas[3:])
    assert changed.text == "\n".join(limited)
    assert trial.with_limited_unrolling(replace(changed, text="")).text == ""

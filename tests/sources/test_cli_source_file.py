"""``mmcore run my.cu``: commands with a file instead of a kernel's name."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import asdict
from pathlib import Path

import pytest
from click.testing import Result

import mmcore
from mmcore.cell import Cell
from mmcore.registry import referenced_kernel, registry
from mmcore_cuda.nvrtc.device_code import ExcludedCode
from mmcore_emulator.adapter.launch_facts import launch_command
from mmcore_sources.cuda_file.excluded_host_code import in_a_line, in_a_list, may_have_a_host_half
from tests.command_line import install
from tests.command_line import mmcore as command
from tests.kernel_sources import kernel_source
from tests.sources.test_source_file import NAIVE
from tests.tables import cases

RIGHT, TILED, COOPERATIVE = map(kernel_source, ("guarded", "tiled_16", "waits_for_the_grid"))


@pytest.fixture(autouse=True)
def folder(folder: Path) -> Path:
    """Return the working folder, with a right kernel and one without a guard."""
    (folder / "my.cu").write_text(RIGHT)
    (folder / "tiled.cu").write_text(RIGHT.replace("    if (row >= m || col >= n) return;\n", ""))
    return folder


def emulated(arguments: str, *further: str) -> Result:
    """Run a command on the emulator."""
    return command(*shlex.split(arguments), *further, "--device", "emulator")


def test_a_file_is_run_and_inferred_values_are_shown_with_their_options() -> None:
    result = emulated("run my.cu --size 20x30x40")
    assert result.exit_code == 0, result.output
    assert "file.my: mul of my.cu" in result.stdout
    assert result.stdout.rstrip().endswith("TEST PASS")
    assert all(option in result.stderr for option in ("--entry", "--args", "--block", "--grid"))


def test_given_options_are_not_inferred() -> None:
    given = "--entry mul --args A,B,C,m,n,k --block 8x4 --grid 'ceil(n/8), ceil(m/4)'"
    result = command(*shlex.split(f"run my.cu --size 20x30x40 --quiet {given}"))
    assert (result.exit_code, result.stdout, result.stderr.strip()) == (0, "TEST PASS\n", "")


@pytest.mark.parametrize("asked", ["run", "check", "prove", "conform"])
def test_inferred_values_have_eighty_columns_and_a_quiet_command_prints_none(asked: str) -> None:
    kept = emulated(f"{asked} my.cu" + " --size 16" * (asked != "conform")).stderr.splitlines()
    assert kept[0] == "inferred from my.cu, with the option that changes it:"
    # A long command reports its progress in lines of its own.
    assert max(len(each) for each in kept if each.startswith("  ")) <= 80
    quiet = emulated(f"{asked} my.cu --quiet" + " --size 16" * (asked != "conform"))
    assert "inferred" not in quiet.stderr
    assert quiet.stdout.splitlines()[-1].endswith(("PASS", "PROVED at 16×16×16", "CONFORMS"))


def test_what_a_report_prints_can_be_given_back(folder: Path) -> None:
    (folder / "flat.cu").write_text(kernel_source("flat_blocks"))
    asked = shlex.split("run flat.cu --size 20×30×40 --seed 1 --device emulator --inputs wide --no-hazards")
    result = command(*asked)
    # A note: "  --block  block 8×8 (the reason, which may continue on the next line".
    notes = dict(
        re.findall(r"^  (--\w+) +(?:function|arguments|block|grid|dynamic shared bytes) (.*?) \(", result.stderr, re.M)
    )
    facts = dict(re.split("  +", line, maxsplit=1) for line in result.stdout.splitlines() if "  " in line)
    assert notes.keys() >= {"--args", "--block", "--grid", "--shared"}
    assert facts["inputs"] == "wide"
    for said in (notes, {**notes, **{f"--{name}": facts[name].partition(" ")[0] for name in ("block", "grid")}}):
        again = command(*asked, *(word for pair in said.items() for word in pair))
        assert (again.exit_code, again.stdout) == (0, result.stdout)
        assert "inferred" not in again.stderr


def test_a_wrong_product_fails_with_a_hint_where_another_grid_makes_it_right() -> None:
    result = emulated("run my.cu --size 20x50x30 --quiet --grid 'ceil(m/bx), ceil(n/by)'")
    assert result.exit_code == 1
    hint = "hint: with --grid 'ceil(n / bx), ceil(m / by)' the product is right at 20×50×30; without it"
    assert f"{hint}, it is right where m = n, as at 64×64×32\n" in result.stdout


def test_a_kernel_that_is_right_in_an_unusual_reading_only_is_wrong_unless_an_option_asks_for_it(folder: Path) -> None:
    (folder / "adds.cu").write_text(RIGHT.replace("] = sum", "] += sum"))
    assert emulated("run adds.cu --size 20x30x40 -q --no-hazards").exit_code == 1
    wrong = emulated("run adds.cu --size 20x30x40")
    assert wrong.exit_code == 1
    assert wrong.stdout.startswith(
        "file.adds: mul of adds.cu, read as C = C + A·B instead of C = A·B, although nothing"
    )
    assert "as C = A·B, which is usual, it would be wrong at 20×30×40" in wrong.stdout
    advice = "line 6 adds to C: write = instead of +=, or zero C before the launch; "
    assert f"\nunusual-reading at adds.cu:6: {advice}" in wrong.stdout
    assert "; try --beta 1 if this is meant\n" in wrong.stdout
    assert emulated("run adds.cu --size 20x30x40 --beta 1").exit_code == 0
    unproved = emulated("prove adds.cu --size 20x30x40 -q")
    assert (unproved.exit_code, unproved.stdout.splitlines()[-1]) == (2, "NOT PROVED")
    assert unproved.stdout.startswith("unusual-reading at adds.cu:6\n")
    assert "\n  try --beta 1 if this is meant\n" in unproved.stdout
    assert emulated("prove adds.cu --size 20x30x40 --beta 1").exit_code == 0


def test_a_type_that_makes_a_wrong_product_right_is_named_with_its_line(folder: Path) -> None:
    halves = RIGHT.replace("float", "__half").replace("__half sum", "float sums; __half sum")
    (folder / "half.cu").write_text(f"#include <cuda_fp16.h>\n{halves}")
    result = emulated("run half.cu --size 64 -q --no-hazards")
    assert result.exit_code == 1
    assert re.search(
        "hint: with --accumulator float16 the product is right at 64×128×192; line [0-9]+ says '__half sum",
        result.stdout,
    )


def test_a_syntax_error_is_reported_first(folder: Path) -> None:
    (folder / "typo.cu").write_text(RIGHT.replace("sum = 0;", "sum = 0"))
    result = emulated("run typo.cu")
    assert result.exit_code == 2
    assert result.stderr.startswith("Error: typo.cu does not compile:")
    assert 'error: expected a ";"' in result.stderr


def test_warnings_are_left_out_of_a_syntax_error(folder: Path) -> None:
    (folder / "typo.cu").write_text(RIGHT.replace("sum = 0;", "sum = 0; int unused = 1; unsigned u = 1; u = u < 0"))
    said = emulated("run typo.cu").stderr
    assert 'error: expected a ";"' in said
    assert ": warning #" not in said


def test_a_file_that_does_not_compile_is_asked_nothing(folder: Path) -> None:
    unclear = RIGHT.replace("int k)", "int k, int q, int r)").replace("= sum;", "= sum + 0 * (q + r);")
    (folder / "unclear.cu").write_text(unclear)
    assert emulated("run unclear.cu").stderr.startswith("Error: the role of q in mul is unknown")
    (folder / "unclear.cu").write_text(unclear.replace("sum +=", "summ +="))
    result = emulated("run unclear.cu")
    assert (result.exit_code, 'error: identifier "summ" is undefined' in result.stderr) == (2, True)
    (folder / "unclear.cu").write_text(unclear.replace("sum +=", "FACTOR * sum +="))
    assert emulated("run unclear.cu").stderr.startswith("Error: the role of q in mul is unknown")


def test_the_cause_of_a_wrong_product_is_shown_at_its_own_size_before_a_deeper_one(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mmcore_sources.cuda_file.repairs.trial.ALL_SECONDS", 0.0)  # no search for changes
    (folder / "ring.cu").write_text("""
__global__ void mul(const float *A, const float *B, float *C, int m, int n, int k) {
    __shared__ float ring[8192];
    int col = blockIdx.x * 128 + threadIdx.x;
    for (int row = blockIdx.y * 64; row < blockIdx.y * 64 + 64; row++) {
        float sum = ring[0];
        for (int i = 0; i < k; i++) sum += A[row * k + i] * B[i * n + col];
        C[row * n + col] = sum;
    }
}
""")
    result = emulated("run ring.cu --size 128x128x4 --quiet --block 128 --grid n//128,m//64")
    assert result.stdout.startswith("uninitialized-read at ring.cu:8: thread (0, 0) of block"), result.output


def test_a_factor_may_be_0_and_no_matrix_by_columns(folder: Path) -> None:
    scaled = RIGHT.replace("int k)", "int k, float beta)").replace("= sum", "= sum + beta * C[row * n + col]")
    (folder / "scaled.cu").write_text(scaled)
    result = emulated("run scaled.cu --size 20x30x40 --quiet --beta 0")
    assert result.exit_code == 1
    assert "got NaN" in result.stdout  # 0·NaN: C is filled with NaN where it must not be read
    assert "operation" not in result.stderr
    product, by_columns = "A[row * k + i] * B[i * n + col]", "A[row + i * m] * B[i + col * k]"
    columns = RIGHT.replace(product, by_columns).replace("C[row * n + col]", "C[row + col * m]")
    (folder / "columns.cu").write_text(columns)
    inferred = " ".join(command("run", "columns.cu", "--size", "20x30x40").stderr.split())
    assert "--column-major storage by columns (as the source steps over A, B and C; '' is by rows)" in inferred
    result = command(*shlex.split("run columns.cu --size 20x30x40 --quiet --column-major '' --block 16x16"))
    assert result.exit_code == 1
    assert "hint: with --column-major 'ABC' the product is right" in result.stdout


def test_a_right_product_is_passed_with_a_warning_if_it_is_wrong_beside_whole_tiles() -> None:
    read, write, again, answer = emulated("run tiled.cu --size 32 --quiet").stdout.splitlines()
    place, _, sentence = read.removeprefix("warning: out-of-bounds-read at tiled.cu:").partition(": ")
    assert place.isdecimal()
    assert sentence.startswith("at 41×21×35, thread (0, 9) of block (0, 2) reads ")
    assert write.startswith("warning: out-of-bounds-write at tiled.cu:")
    assert (again, answer) == (
        "  mmcore run tiled.cu -m 41 -n 21 -k 35 --device emulator",
        "TEST PASS at 32×32×32; wrong at 41×21×35",
    )
    assert command(*shlex.split(again)[1:]).exit_code == 1
    assert emulated("run my.cu --size 32 --quiet").stdout == "TEST PASS\n"


@pytest.mark.parametrize(
    ("steps", "why"),
    [("k / T", ": line 7 counts k / T whole steps and leaves the rest of k out\n"), ("(k - k % T) / T", "\n")],
)
def test_the_loop_that_leaves_a_remainder_of_k_out_is_named(folder: Path, steps: str, why: str) -> None:
    source = f"""#define T 16
__global__ void mul(const float *A, const float *B, float *C, int m, int n, int k)
{{
    __shared__ float a[T][T], b[T][T];
    int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * T + y, col = blockIdx.x * T + x;
    float sum = 0;
    for (int t = 0; t < {steps}; t++) {{
        a[y][x] = row < m ? A[row * k + t * T + x] : 0;
        b[y][x] = col < n ? B[(t * T + y) * n + col] : 0;
        __syncthreads();
        for (int i = 0; i < T / 1; i++) sum += a[y][i] * b[i][x];
        __syncthreads();
    }}
    if (row < m && col < n) C[row * n + col] = sum;
}}
"""
    (folder / "rest.cu").write_text(source)
    assert f"the product is right{why}" in emulated("run rest.cu --size 40 --block 16x16 --quiet").stdout


@pytest.mark.parametrize("limit", [2000, 500])
def test_a_size_that_alone_reaches_a_side_is_verified_when_the_work_is_used_up(limit: int, folder: Path) -> None:
    text = """#define EDGE 64
#define DEPTH 8
#define ROWS 8
__global__ void mul(const float *A, const float *B, float *C, int m, int n, int k)
{
    __shared__ float a[EDGE][DEPTH], b[DEPTH][EDGE];
    int t = threadIdx.x, x = t % EDGE, y = t / EDGE, top = blockIdx.y * EDGE, left = blockIdx.x * EDGE;
    float sum[ROWS] = {};
    for (int p = 0; p < (k > 2000 ? k / 2 : k); p += DEPTH) {
        int row = top + t / DEPTH, column = p + t % DEPTH;
        a[t / DEPTH][t % DEPTH] = row < m && column < k ? A[row * k + column] : 0;
        b[y][x] = left + x < n && p + y < k ? B[(p + y) * n + left + x] : 0;
        __syncthreads();
        for (int q = 0; q < DEPTH; q++)
            for (int i = 0; i < ROWS; i++)
                sum[i] += a[y * ROWS + i][q] * b[q][x];
        __syncthreads();
    }
    for (int i = 0; i < ROWS; i++)
        if (top + y * ROWS + i < m && left + x < n)
            C[(top + y * ROWS + i) * n + left + x] = sum[i];
}
void f(float *a, float *b, float *c, int m, int n, int k)
{
    mul<<<dim3((n + EDGE - 1) / EDGE, (m + EDGE - 1) / EDGE), EDGE * EDGE / ROWS>>>(a, b, c, m, n, k);
}
"""
    (folder / "half.cu").write_text(text.replace("2000", str(limit)))
    output = emulated("run half.cu --quiet --timeout 400").stdout
    wrong = re.search(r"wrong-product: at \d+×\d+×(\d+) ", output)
    assert wrong is not None, output
    assert int(wrong[1]) > limit
    assert "without a remainder" not in output, "whole tiles of the same size are wrong, too"
    assert output.splitlines()[-1] == "TEST FAIL"


@pytest.mark.parametrize("barriers", [True, False])
def test_no_size_is_suggested_to_a_kernel_with_a_race(folder: Path, barriers: bool) -> None:
    unguarded = TILED.replace("if (row < m && col < n) C", "C")
    (folder / "race.cu").write_text(unguarded if barriers else unguarded.replace("__syncthreads();", ""))
    output = emulated("run race.cu --size 33 --quiet").stdout
    assert ("hint: without a remainder" in output, "shared-race at race.cu:" in output) == (barriers, not barriers)
    assert "out-of-bounds-write at race.cu:" in output


def test_a_remainder_is_not_blamed_for_a_large_size(folder: Path) -> None:
    (folder / "few.cu").write_text(RIGHT.replace("i < k", "i < min(k, 300)"))
    output = emulated("run few.cu --size 20x20x340 --block 16x16 --quiet").stdout
    assert "hint: the product is right at 100×100×164\n" in output
    assert "without a remainder" not in output


def test_a_kernel_with_vectors_is_right_at_multiples_of_them(folder: Path) -> None:
    vectors = """for (int i = 0; i < k; i += 4) {
            const float4 a = *(const float4*)&A[row * k + i];
            sum += a.x * B[i * n + col] + a.y * B[(i + 1) * n + col];
            sum += a.z * B[(i + 2) * n + col] + a.w * B[(i + 3) * n + col];
        }"""
    (folder / "vectors.cu").write_text(re.sub(r"for \(int i = 0; i < k;.*?;\n", f"{vectors}\n", RIGHT, flags=re.DOTALL))
    output = emulated("run vectors.cu --block 16x16 --quiet").stdout
    assert "hint: the product is right at 41×21×36: vectors of 4 elements need multiples of 4 for k\n" in output


def test_a_wrong_element_is_named_by_the_product_that_it_is(folder: Path) -> None:
    (folder / "exchanged.cu").write_text(RIGHT.replace("C[row * n + col]", "C[row * n + (col ^ 1)]"))
    output = emulated("run exchanged.cu --block 16x16 --quiet").stdout
    assert "warning: at 64×64×64, C[0][0] is the element (0, 1) of the product\n" in output


def test_a_wrong_element_of_large_tiles_is_named_too(folder: Path) -> None:
    (folder / "tiles.cu").write_text(
        """__global__ void tiles(const float *A, const float *B, float *C, int m, int n, int k)
        {
            for (int at = threadIdx.x; at < 128 * 128; at += 256) {
                int row = blockIdx.y * 128 + at / 128, column = blockIdx.x * 128 + at % 128;
                float sum = 0;
                for (int p = 0; p < k; ++p) sum += A[row * k + p] * B[p * n + column];
                C[row * n + (column ^ 1)] = sum;
            }
        }"""
    )
    output = emulated("run tiles.cu --block 256 --grid n//128,m//128 --size 128x128x32 --quiet").stdout
    assert "warning: at 128×128×32, C[0][0] is the element (0, 1) of the product\n" in output


def test_a_product_that_is_right_where_the_sizes_are_equal_says_so(folder: Path) -> None:
    (folder / "exchanged.cu").write_text(RIGHT.replace("row >= m || col >= n", "row >= n || col >= m"))
    output = emulated("run exchanged.cu --size 40x33x41 --block 16x16 --quiet").stdout
    assert "hint: the product is right at 49×49×49, where the sizes are equal: no remainder is the cause" in output


def test_a_remainder_is_the_cause_also_where_one_of_another_kind_is_right(folder: Path) -> None:
    (folder / "fours.cu").write_text(RIGHT.replace("if (row >=", "if ((m | n) % 4 == 0 ? row >= m + 1 : row >="))
    for size in ("20", "20x24x28"):
        output = emulated(f"run fours.cu --size {size} --block 16x16 --quiet").stdout
        assert "hint: without a remainder, at 32×32×32, the product is right" in output
        assert "no remainder is the cause" not in output


def test_hazards_are_looked_for_in_whole_tiles_if_the_product_has_some(folder: Path) -> None:
    tiles = {"blockIdx.y * blockDim.y": "blockIdx.y * 128", "blockIdx.x * blockDim.x": "blockIdx.x * 128"}
    one = "for (int y = row; y < row / 128 * 128 + 128; y += 8) for (int x = col; x < col / 128 * 128 + 128; x += 32) {"
    tiles |= {"    if (row >= N || col >= N) return;\n": one, "[row *": "[y *", "+ col]": "+ x]"}
    text = NAIVE
    for old, new in tiles.items():
        text = text.replace(old, new)
    (folder / "big.cu").write_text(f"{text}}}\n")
    launch = "--block 32x8 --grid 'ceil(n/128), ceil(m/128)'"
    result = emulated(f"run big.cu --size 128 {launch}")
    assert "hazards          none at 128×128×128" in result.stdout, result.output
    assert result.exit_code == 0


def test_a_race_fails(folder: Path) -> None:
    text = TILED.replace("    __syncthreads();  // until all have read\n", "")
    (folder / "race.cu").write_text(text)
    (folder / "tiles.cu").write_text(TILED)
    result = emulated("run race.cu --size 65 --quiet")
    line = text[: text.index("a[threadIdx.y][threadIdx.x] =")].count("\n") + 1
    race, *_, answer = result.stdout.splitlines()
    thread = "at 33×33×65, thread (0, 0) of block (0, 0) writes element 0 of a in the next iteration "
    assert race.startswith(f"shared-race at race.cu:{line}: {thread}")
    assert (answer, result.exit_code) == ("TEST FAIL", 1)
    assert "--grid" not in emulated("run race.cu --quiet").stdout  # the product is right with any of them
    (again,) = re.findall("mmcore (check race.cu .*)", emulated("run race.cu --size 65").stdout)
    assert command(*shlex.split(again)).exit_code == 1
    assert emulated("run tiles.cu --size 65 --quiet").stdout == "TEST PASS\n"


@pytest.mark.parametrize("size", ["70x33x45", "350x97x45"])
def test_rows_remain_aligned_where_a_right_product_is_tried_at_a_small_size(size: str, folder: Path) -> None:
    (folder / "padded.cu").write_text(kernel_source("vectors_of_four"))
    given = "--grid 'ceil(n/16),ceil(m/16)' --block 16x16 --args A,B,C,m,n,k,lda,ldb,ldc --quiet"
    assert emulated(f"run padded.cu --size {size} {given} --lda 48").exit_code == 0
    assert emulated(f"run padded.cu --size {size} {given} --lda 47").exit_code == 1


@pytest.mark.parametrize("name", ["check", "profile", "show", "occupancy"])
def test_every_command_that_takes_a_kernel_takes_a_file(name: str) -> None:
    result = command(name, "my.cu", *([] if name == "show" else ["--size", "32"]))
    assert result.exit_code == 0, result.output
    assert "file.my" in result.stdout


def test_a_file_that_does_not_conform_is_shown_with_a_command_to_reproduce_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mmcore_tools.conform.cases.MOST_PER_CONFIG", 3)
    result = emulated("conform tiled.cu")
    assert result.exit_code == 1
    assert "$ mmcore run tiled.cu -m 1 -n 1 -k 1 --block 16x16 --device emulator --seed" in result.stdout


@cases(__file__, "what_cannot_be_exits_with_2_and_one_sentence", "arguments, reason")
def test_what_cannot_be_exits_with_2_and_one_sentence(arguments: str, reason: str, folder: Path) -> None:
    (folder / "latin.cu").write_bytes(b"// \xe9\n")
    (folder / "kernels").mkdir()
    (folder / "kernels" / "one.cu").write_text(RIGHT)
    (folder / "deep.cu").write_text(RIGHT.replace("int row =", f"int row = {'(' * 3000}1{')' * 3000} +"))
    result = command(*shlex.split(arguments))
    assert result.exit_code == 2
    assert any(reason in each for each in result.stderr.splitlines() if "rror" in each)


def test_a_header_beside_a_file_gives_values_to_names(folder: Path) -> None:
    sizes = "#pragma once\nconstexpr int STEP = 4;\n#ifndef EDGE\n#define EDGE (2 * STEP)\n#endif\n"
    (folder / "sizes.h").write_text(sizes, "utf-8-sig")  # as some editors mark UTF-8
    text = '#include "sizes.h"\n' + RIGHT.replace("blockDim.x", "EDGE").replace("blockDim.y", "EDGE")
    (folder / "edge.cu").write_text(text)
    result = emulated("run edge.cu --size 20")
    assert (result.exit_code, result.stdout.splitlines()[-1]) == (0, "TEST PASS"), result.output
    assert "(its default in line 4 of sizes.h)" in result.stderr
    (folder / "sizes.h").write_text("enum { EDGE = 16 };\n")
    assert referenced_kernel("edge.cu").usual_configs[0].block == (16, 16, 1)


def test_parentheses_around_the_grid_and_the_block_are_refused_as_by_nvcc(folder: Path) -> None:
    launch = "mul<<<(dim3((n + 15) / 16, (m + 15) / 16), dim3(16, 16))>>>(a, b, c, m, n, k);"
    (folder / "lone.cu").write_text(
        f"{RIGHT}void host(float *a, float *b, float *c, int m, int n, int k)\n{{ {launch} }}\n"
    )
    result = emulated("run lone.cu --size 20")
    assert "block 16×16 (as launched in line" in " ".join(result.stderr.split())
    assert re.search(r"warning: host-syntax at lone.cu:\d+: .* parentheses .*, <<<grid, block>>>; nvcc", result.stdout)


def test_a_header_that_is_nowhere_is_left_out_if_the_kernel_compiles_without_it(folder: Path) -> None:
    text = f"#include <acme/timer.h>\n{RIGHT}int main() {{ acme::Timer timer; }}\n"
    (folder / "timed.cu").write_text(text)
    result = emulated("run timed.cu --size 16 --no-hazards")
    assert result.exit_code == 0, result.output
    assert "without acme/timer.h (which is not found" in result.stderr
    (folder / "timed.cu").write_text(text.replace("float sum = 0", "float sum = ACME"))
    assert "includes a header that is not found: acme/timer.h (timed.cu:1)" in emulated("run timed.cu --size 16").stderr


def test_a_question_about_a_template_names_a_missing_header_that_it_may_need(folder: Path) -> None:
    launch = "mul<float><<<dim3(n / 16, n / 16), dim3(16, 16), bytes()>>>(a, b, c, n);"
    body = "{ extern __shared__ T s[]; acme::load(s); for (int i = 0; i < n; i++) c[n] += a[i] * b[i]; }"
    kernel = f"template <class T> __global__ void mul(T *a, T *b, T *c, int n) {body}"
    (folder / "my.cu").write_text(f"#include <acme/load.h>\n{kernel}\nint main() {{ {launch} }}\n")
    result = emulated("run my.cu")
    assert result.exit_code == 2
    assert "Error: acme/load.h is not found; --option=-I… names its folder\nthe shared memory" in result.stderr


def test_a_header_that_only_another_kernel_needs_may_be_missing(folder: Path) -> None:
    seeds = "__global__ void seeds(acme::State *states) { states[threadIdx.x].seed(7); }\n"
    (folder / "random.cu").write_text(f"#include <acme/random.h>\n{RIGHT}{seeds}")
    result = emulated("run random.cu --size 16 --no-hazards")
    assert result.exit_code == 0, result.output
    assert "without acme/random.h (which is not found" in result.stderr


def test_a_name_that_nvrtc_lacks_can_be_defined_and_one_of_cudas_need_not(folder: Path) -> None:
    (folder / "steps.cu").write_text(RIGHT.replace("i < k", "i < k * STEPS"))
    result = emulated("run steps.cu --size 16")
    assert result.exit_code == 2
    assert "steps.cu does not compile (--define NAME=VALUE or defines= would define STEPS):" in result.stderr
    own = "#include <math_constants.h>\ntemplate <class T> struct SM { enum { LAST = 1 }; };\n"
    text = RIGHT.replace("sum = 0", "sum = 0 * CUDART_PI_F * CHAR_BIT").replace("i < k", "i < k && SM<int>::LAST")
    (folder / "own.cu").write_text(own + text)
    assert emulated("run own.cu --size 16").exit_code == 0


def test_blocks_that_wait_for_the_whole_grid_are_launched_together(folder: Path) -> None:
    (folder / "grid.cu").write_text(COOPERATIVE)
    assert [emulated(f"{tool} grid.cu --size 24").exit_code for tool in ("run", "check")] == [0, 0]
    (folder / "plain.cu").write_text(
        COOPERATIVE + "int main() { mul<<<dim3(2, 2), dim3(16, 16)>>>(a, b, c, m, n, k); }"
    )
    result = emulated("run plain.cu --size 24")
    assert (result.exit_code, "cudaLaunchCooperativeKernel)" in result.stderr) == (1, True)
    assert "trap at plain.cu:" in result.stdout
    (folder / "said.cu").write_text(RIGHT.replace("    float sum", "    // no this_grid() here\n    float sum"))
    assert not referenced_kernel("said.cu").launch.cooperative  # type: ignore[union-attr]
    assert referenced_kernel("grid.cu").launch.cooperative  # type: ignore[union-attr]
    # As many blocks as a GPU runs at the same time.
    refused = emulated("run grid.cu --size 1000")
    assert refused.exit_code == 2
    assert "3969 blocks cannot wait for each other: the device has room for 1056 at once" in refused.stderr
    assert command("new-plugin", "acme.grid", "--from", "grid.cu", "--dir", "made").exit_code == 0
    assert "cooperative=True" in "".join(each.read_text() for each in (folder / "made").rglob("*.py"))


def test_a_barrier_of_the_grid_needs_a_cooperative_launch_and_every_block(folder: Path) -> None:
    grid = "cooperative_groups::this_grid()"
    (folder / "apart.cu").write_text(COOPERATIVE.replace(f"{grid}.sync();", ""))
    assert "global-race of C" in emulated("check apart.cu --size 24").stdout
    (folder / "partly.cu").write_text(COOPERATIVE.replace(grid, f"auto all = {grid};\n    if (blockIdx.x) all"))
    assert "deadlock" in emulated("check partly.cu --size 24").stdout
    (folder / "plain.cu").write_text(COOPERATIVE)
    kernel = mmcore.Kernel(name="tests.plain", source=folder / "plain.cu", entry="mul", configs=[{"block": (16, 16)}])
    result = mmcore.run(kernel, 24, device="emulator")
    assert [each.kind for each in result.violations] == ["trap"]


def test_a_files_name_may_have_any_characters(folder: Path) -> None:
    path = folder / 'it\'s "ü" #1.cu'
    path.write_text(RIGHT)
    assert command("run", str(path), "--size", "16").exit_code == 0


def test_files_of_one_name_are_named_by_their_folders(folder: Path) -> None:
    for name in ("ada", "bob"):
        (folder / name).mkdir()
        (folder / name / "my.cu").write_text(RIGHT)
    found = [referenced_kernel(path).name for path in ("ada/my.cu", "bob/my.cu", "ada/my.cu")]
    assert found == ["file.my", "file.bob.my", "file.my"]


def test_a_cell_of_a_file_is_reproduced_with_its_options() -> None:
    kernel = registry().kernel({"file": "my.cu", "grid": "ceil(n/8), ceil(m/8)", "block": "8", "define": ["X=y"]})
    cell = Cell(registry().reference(kernel), 2, 3, 5, config=kernel.usual_configs[0].to_json(), seed=1)
    words = "my.cu '--grid=ceil(n/8), ceil(m/8)' --define=X=y -m 2 -n 3 -k 5 --block 8x8 --device auto --seed 1"
    assert launch_command("run", cell) == f"mmcore run {words}"
    assert json.loads(json.dumps(cell.to_json()))["kernel"]["inferred"]["function"] == "mul"


def test_python_takes_a_files_path() -> None:
    result = mmcore.run("my.cu", m=5, n=7, k=9, device="emulator", hazards=False)
    assert (result.verified, result.kernel) == (True, "file.my")


def test_benchmarks_take_files_beside_names(folder: Path, pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_speed="def test_kernel(mm_benchmark):\n    mm_benchmark()\n")
    files = f"{folder / 'my.cu'},upc.kernel01"
    options = ("--mm-size", "16", "--mm-block", "16", "--mm-device", "emulator", "-q")
    result = pytester.runpytest_inprocess("--mm-kernel", files, *options)
    result.assert_outcomes(passed=2)


def test_a_package_is_made_of_a_file_with_the_headers_that_it_includes(folder: Path) -> None:
    (folder / "step.cuh").write_text("__device__ float step(float a, float b) { return a * b; }\n")
    stepped = NAIVE.replace("A[row * N + i] * B[i * N + col]", "step(A[row * N + i], B[i * N + col])")
    source = f'#include "step.cuh"\n{stepped}'
    (folder / "mine.cu").write_text(source)
    result = command("new-plugin", "acme.mine", "--from", "mine.cu", "--dir", "made", "--shared", "4*bx")
    assert result.exit_code == 0, result.output
    assert "acme.mine: a copy of mine.cu, in made" in result.stdout
    made = folder / "made" / "acme_mine"
    assert (made / "mine.cu").read_text() == source
    assert (made / "step.cuh").is_file()
    declared: dict[str, object] = {}
    exec((made / "mine.py").read_text(), declared)
    kernel = declared["mmcore_kernels"]().located(made)  # type: ignore[operator]
    assert (kernel.entry, kernel.arguments) == ("mul", ("A", "B", "C", "n"))
    assert mmcore.run(kernel, 20, device="emulator", hazards=False).verified


def test_a_package_of_a_file_marks_guesses_and_takes_block_and_config(folder: Path) -> None:
    open_tile = NAIVE.replace("int row =", "const int edge = TILE;\n    int row =")
    assert open_tile != NAIVE
    (folder / "open.cu").write_text(open_tile)

    def configs(*options: str) -> str:
        result = command(
            "new-plugin", "acme.open", "--from", "open.cu", "--dir", "-".join(("made", *options)), *options
        )
        assert result.exit_code == 0, result.output
        lines = (folder / "-".join(("made", *options)) / "acme_open" / "open.py").read_text().splitlines()
        (found,) = (number for number, line in enumerate(lines) if "configs=" in line)
        return "\n".join(each.strip() for each in lines[found - 1 : found + 1])

    assert "TILE is a guess: the source does not define it" in configs()
    assert configs("--config", "TILE=8", "--block", "16x4").endswith('configs=[{"block": (16, 4), "TILE": 8}],')
    assert "a guess" not in configs("--config", "TILE=4", "--block", "8")


def test_declared_kernels_are_inferred_as_they_are_declared() -> None:
    """Read sources that were not written for this test."""
    ours = [each.item for name, each in registry().kernels.items() if name.startswith(("upc.", "hpsee."))]
    for declared in ours:
        found = referenced_kernel({"file": str(declared.source)})
        assert found.arguments == declared.arguments_of(declared.entry_named()), declared.name
        assert (found.dtype, found.output, found.beta) == (declared.dtype, declared.output, declared.beta)


def test_a_plugin_whose_options_fail_costs_only_its_own_options(folder: Path) -> None:
    failing = "from mmcore import hookimpl\n@hookimpl\ndef mmcore_file_options():\n    return 1 // 0\n"
    install(folder / "site", "failing", "failing.command", failing)
    result = command(*shlex.split("run my.cu --entry mul --size 32 --device emulator"), site=folder / "site")
    assert (result.exit_code, result.stdout.splitlines()[-1]) == (0, "TEST PASS"), result.output
    assert "failed in mmcore_file_options: ZeroDivisionError" in result.stderr


def test_excluded_host_code_is_listed(folder: Path) -> None:
    text = kernel_source("checked_by_the_host").replace("KERNEL", RIGHT)
    first = text.splitlines().index("int check(const std::vector<float> &found) {") + 1
    (folder / "program.cu").write_text(text)
    (folder / "timing.h").write_text("#include <chrono>\ninline double now() {\n    return 0;\n}\n")
    ran = emulated("run program.cu --size 32 --quiet")
    assert ran.exit_code == 0, ran.output
    lines = f"lines {first}-{first + 7}"
    said = f"excluded from program.cu as host code: main, check ({lines}); now (timing.h, lines 2-4)\n"
    assert ran.stdout.startswith(said)
    assert ran.stdout.endswith("\nTEST PASS\n")
    listed = json.loads(emulated("run program.cu --size 32 --json").stdout)["left_out"]
    assert [(each["name"], Path(each["path"]).name, each["first"], each["last"]) for each in listed] == [
        ("check", "program.cu", first, first + 2),
        ("main", "program.cu", first + 4, first + 7),
        ("now", "timing.h", 2, 4),
    ]
    assert "not allowed in JIT mode" in listed[0]["reason"]
    shown = command("show", "program.cu")
    assert (
        "excluded from program.cu as host code:\n"
        f"  check  lines {first}-{first + 2}\n"
        f"  main   lines {first + 4}-{first + 7}\n"
        "  now    timing.h:2-4\n\n"
    ) in shown.stderr
    assert "excluded from" not in shown.stdout
    assert json.loads(command("show", "program.cu", "--json").stdout)["source_text"] == text


@pytest.mark.parametrize("name", ["run", "show"])
def test_a_file_without_host_code_has_no_note(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # Nothing has to be compiled for it.
    monkeypatch.setattr("mmcore_sources.cuda_file.excluded_host_code.executor", None)
    result = command(name, "my.cu", *(["--size", "32", "--device", "emulator"] if name == "run" else []))
    assert result.exit_code == 0, result.output
    assert "excluded from" not in result.output


def test_host_code_of_a_file_that_does_not_compile_is_unknown(folder: Path) -> None:
    (folder / "broken.cu").write_text(RIGHT.replace("sum +=", "total +=") + "int main() {}\n")
    said = "the host code in broken.cu is unknown: file.broken: broken.cu does not"
    assert said in command("show", "broken.cu").stderr
    ran = command("run", "broken.cu", "--size", "32")
    assert ran.exit_code == 2
    assert ran.stderr.count("does not compile") == 1
    assert "excluded from" not in ran.stderr


def test_long_lists_of_excluded_code_are_counted(tmp_path: Path) -> None:
    source = tmp_path / "many.cu"
    many = [asdict(ExcludedCode(f"f{line}", str(source), line, line, "")) for line in range(10, 60, 10)]
    assert in_a_line(source, many) == (
        "excluded from many.cu as host code: f10, f20, f30 and 2 more (5 places between lines 10 and 50)"
    )
    assert in_a_line(source, many[:1]) == "excluded from many.cu as host code: f10 (line 10)"
    assert in_a_line(source, many[:2]) == "excluded from many.cu as host code: f10, f20 (lines 10, 20)"
    library = asdict(ExcludedCode("thrust", "thrust/sort.h", 0, 0, ""))
    assert in_a_line(source, [library]) == "excluded from many.cu as host code: thrust (sort.h)"
    headers = [asdict(ExcludedCode("h", f"{each}.h", 1, 1, "")) for each in "abcde"]
    assert in_a_line(source, headers).endswith("; h (c.h, line 1); and some of 2 more headers")
    assert in_a_list(source, [library]).endswith("  thrust  thrust/sort.h\n")
    assert (in_a_line(source, []), in_a_list(source, [])) == ("", "")


def test_a_file_is_compiled_beforehand_where_something_may_be_the_hosts() -> None:
    headers = "#include <cuda_fp16.h>\n#define TILE 16\nusing namespace std;\n"
    assert not any(map(may_have_a_host_half, (RIGHT, headers + RIGHT)))
    programs = '#include "mine.h"\nRIGHT', "RIGHTint main() { return 0; }", "RIGHTstatic int count;", "}}} what is this"
    assert all(may_have_a_host_half(text.replace("RIGHT", RIGHT)) for text in programs)

"""Reasons are found in kernels that have them, at the right line, and not in the same kernels without them."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from math import prod
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from mmcore.cell import Cell
from mmcore.executor.choose_device import open_device
from mmcore.measure import Phases
from mmcore.registry import referenced_kernel
from mmcore_cuda.machine_code.nvdisasm import programs
from mmcore_performance.cards import cards, emulator_of
from mmcore_performance.costs import Costs
from mmcore_performance.observation import Observation, observe
from mmcore_performance.prediction import parameters
from mmcore_performance.reasons import global_memory, ranking
from mmcore_performance.reasons.ranking import LEAST_GAIN
from mmcore_performance.reasons.reason import Reason
from mmcore_performance.reasons.without import Estimate
from mmcore_performance.sites import Site
from mmcore_performance.why import UNITS, explained_time
from tests.command_line import mmcore
from tests.kernel_sources import kernel_source, kernel_sources
from tests.sources.test_source_file import STRIDED

SOURCES = kernel_sources("slow")
FRAGMENTS = kernel_sources("fragments")
POSTED = kernel_sources("posted")
KINDS = tuple(title.removesuffix(": slow") for title in SOURCES if title.endswith(": slow"))
# The sizes of some kinds; others are at 1024. An H200 has 132 multiprocessors.
SIZES = {
    "last wave": 384,
    "few blocks": 256,
    "small product: slow": 64,
    "no overlap": 2048,
    "register banks": 2048,
    "L2 order": 8192,
}
CARDS = {"L2 order": "T4"}  # whose L2 cache is small; others are on an H200

UNCOUNTED = ("atomics", "spills", "small copies", "no overlap", "L2 order", "register banks")
OTHERWISE = ("small product", "index arithmetic")  # without another kernel, and with more registers
GUARDED = "if (row >= n || col >= n) return;\n    float sum"
TRANSPOSED_STORES = """\
__global__ void mm(const float *A, const float *B, float *C, int n)
{
    __shared__ float a[32][32], b[32][33];
    int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * 32, col = blockIdx.x * 32;
    float sum = 0;
    for (int t = 0; t < n; t += 32) {
        a[ty][tx] = A[(row + ty) * n + t + tx];
        b[ty][tx] = B[(t + ty) * n + col + tx];
        __syncthreads();
        for (int k = 0; k < 32; k++) sum += a[0][k] * b[0][k];
        __syncthreads();
    }
    C[(row + tx) * n + col + ty] = sum;
}
void run(const float *A, const float *B, float *C, int n) { mm<<<dim3(n / 32, n / 32), dim3(32, 32)>>>(A, B, C, n); }
"""
TWO_PATHS = """\
__global__ void mm(const float *A, const float *B, float *C, int m, int n, int k)
{
    __shared__ float a[16][16], b[16][16];
    int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * 16 + ty, col = blockIdx.x * 16 + tx;
    float sum = 0;
    if (CONDITION) {
        for (int t = 0; t < k; t += 16) {
            a[ty][tx] = row < m && t + tx < k ? A[row * k + t + tx] : 0;
            b[ty][tx] = col < n && t + ty < k ? B[(t + ty) * n + col] : 0;
            __syncthreads();
            for (int p = 0; p < 16; p++) sum += a[ty][p] * b[p][tx];
            __syncthreads();
        }
    } else if (row < m && col < n)
        for (int p = 0; p < k; p++) sum += A[row * k + p] * B[p * n + col];
    if (row < m && col < n) C[row * n + col] = sum;
}
"""
TILED_ROWS = """\
__global__ void mm(const float *A, const float *B, float *C, int n)
{
    __shared__ float a[16][16], b[16][16];
    int ty = threadIdx.ROW, tx = threadIdx.COLUMN, row = blockIdx.ROW * 16 + ty, col = blockIdx.COLUMN * 16 + tx;
    float sum = 0;
    for (int t = 0; t < n; t += 16) {
        a[ty][tx] = A[row * n + t + tx];
        b[ty][tx] = B[(t + ty) * n + col];
        __syncthreads();
        for (int k = 0; k < 16; k++) sum += a[ty][k] * b[k][tx];
        __syncthreads();
    }
    C[row * n + col] = sum;
}
void run(const float *A, const float *B, float *C, int n) { mm<<<dim3(n / 16, n / 16), dim3(16, 16)>>>(A, B, C, n); }
"""
BY_PARITY = """\
__global__ void mm(const float *A, const float *B, float *C, int n)
{
    __shared__ float a[16][16], b[16][16];
    int ty = threadIdx.y, tx = threadIdx.x, row = blockIdx.y * 16 + ty, col = blockIdx.x * 16 + tx;
    double sum = 0;
    for (int t = 0; t < n; t += 16) {
        a[ty][tx] = A[row * n + t + tx];
        b[ty][tx] = B[(t + ty) * n + col];
        __syncthreads();
        if (PARITY) for (int k = 0; k < 16; k++) sum += a[ty][k] * b[k][tx];
        else for (int k = 15; k >= 0; k--) sum += a[ty][k] * b[k][tx];
        __syncthreads();
    }
    C[row * n + col] = sum;
}
void run(const float *A, const float *B, float *C, int n) { mm<<<dim3(n / 16, n / 16), dim3(16, 16)>>>(A, B, C, n); }
"""
BY_TRANSPOSE = """\
__global__ void mm(const float *A, const float *B, float *C, int n)
{
    int row = blockIdx.ROW * 16 + threadIdx.ROW, col = blockIdx.COLUMN * 16 + threadIdx.COLUMN;
    float sum = 0;
    for (int p = 0; p < n; p++) sum += A[row * n + p] * B[col * n + p];
    C[row * n + col] = sum;
}
void run(const float *A, const float *B, float *C, int n) { mm<<<dim3(n / 16, n / 16), dim3(16, 16)>>>(A, B, C, n); }
"""
CONSTANT_STEPS = """\
__global__ void mm(const float *A, const float *B, float *C, int n)
{
    int col = blockIdx.x * 16 + threadIdx.x, row = blockIdx.y * 16 + threadIdx.y;
    if (row >= n || col >= n) return;
    float sum = 0;
    for (int k = 0; k < 512; k++) sum += (k < n ? A[row * n + k] : 0) * (k < n ? B[k * n + col] : 0);
    C[row * n + col] = sum;
}
void run(const float *A, const float *B, float *C, int n)
{
    mm<<<dim3((n + 15) / 16, (n + 15) / 16), dim3(16, 16)>>>(A, B, C, n);
}
"""


def needs_disassembler() -> None:
    """Skip a test of machine code where no disassembler is installed."""
    if not [*programs()]:
        pytest.skip("nvdisasm is not installed; python -m pip install 'mmcore-cuda[sass]' brings it")


def why(path: Path, title: str, *options: str) -> dict[str, Any]:
    """Return the answer about a source as JSON."""
    file, kind = path / "mm.cu", title.partition(":")[0]
    if kind == "register banks":
        needs_disassembler()
    file.write_text(SOURCES[title])
    size, card = SIZES.get(title, SIZES.get(kind, 1024)), CARDS.get(kind, "H200")
    result = mmcore("why", str(file), "--size", str(size), "--card", card, "--json", *options)
    assert result.exit_code == 0, result.stderr
    document: dict[str, Any] = json.loads(result.stdout)
    return document


@pytest.mark.parametrize("kind", KINDS)
def test_the_first_reason_is_the_mistake_at_its_line(kind: str, tmp_path: Path) -> None:
    first = why(tmp_path, f"{kind}: slow")["reasons"][0]
    lines = [number for number, text in enumerate(SOURCES[f"{kind}: slow"].splitlines(), 1) if "// here" in text]
    assert first["kind"] == kind
    assert not lines or first["line"] in lines


@pytest.mark.parametrize("kind", KINDS)
def test_without_the_mistake_it_is_no_reason_and_saves_what_was_said(kind: str, tmp_path: Path) -> None:
    slow, better = (why(tmp_path, f"{kind}: {version}") for version in ("slow", "better"))
    assert kind not in [reason["kind"] for reason in better["reasons"]]
    first = slow["reasons"][0]
    assert first["uncounted"] == (kind in UNCOUNTED)
    if kind not in (*UNCOUNTED, *OTHERWISE):
        assert first["gain"] <= 1 - better["seconds"] / slow["seconds"] + 0.01


TILED_DOUBLES = TILED_ROWS.replace("float sum", "double sum")
TRANSPOSED_DOUBLES = TILED_DOUBLES.replace("16", "32").replace("b[ty][tx]", "b[tx][ty]").replace("b[k][tx]", "b[tx][k]")


@pytest.mark.parametrize(
    ("kind", "text", "slow", "better"),
    [
        ("double", TILED_DOUBLES.replace("ROW", "x").replace("COLUMN", "y"), "double", "float"),
        ("double", TILED_DOUBLES.replace("ROW", "y").replace("COLUMN", "x"), "double", "float"),
        ("double", TRANSPOSED_DOUBLES.replace("ROW", "y").replace("COLUMN", "x"), "double", "float"),
        ("double", BY_PARITY.replace("PARITY", "tx % 2"), "double", "float"),
        ("divergence", BY_PARITY, "PARITY", "ty / 2 % 2"),
    ],
)
def test_one_of_several_reasons_saves_alone_what_was_said(
    kind: str, text: str, slow: str, better: str, tmp_path: Path
) -> None:
    answers = []
    for change in (slow.replace("PARITY", "tx % 2"), better):
        (tmp_path / "mm.cu").write_text(text.replace(slow, change))
        answers.append(json.loads(mmcore("why", str(tmp_path / "mm.cu"), "--json").stdout))
    before, after = answers
    (reason,) = [each for each in before["reasons"] if each["kind"] == kind]
    assert len(before["reasons"]) > 1
    assert reason["gain"] == pytest.approx(1 - after["seconds"] / before["seconds"], abs=0.03)


def test_branches_with_loads_that_the_assembler_joins_cost_what_they_take(tmp_path: Path) -> None:
    answers = []
    for condition in ("tx % 2", "ty / 2 % 2"):
        (tmp_path / "mm.cu").write_text(BY_PARITY.replace("double", "float").replace("PARITY", condition))
        answers.append(json.loads(mmcore("why", str(tmp_path / "mm.cu"), "--json").stdout))
    slow, better = answers
    (divergence,) = [each for each in slow["reasons"] if each["kind"] == "divergence"]
    assert divergence["gain"] == pytest.approx(1 - better["seconds"] / slow["seconds"], abs=LEAST_GAIN)


def test_a_reason_that_others_hide_has_the_part_that_it_takes_without_them(tmp_path: Path) -> None:
    doubles = []
    for row, column in ("xy", "yx"):
        (tmp_path / "mm.cu").write_text(TILED_DOUBLES.replace("ROW", row).replace("COLUMN", column))
        said = mmcore("why", str(tmp_path / "mm.cu"), "-q").stdout
        doubles.append(next(line for line in said.splitlines() if "double" in line))
    hidden, first = (re.findall(r"(\d+) %", each) for each in doubles)
    assert hidden[1:] == first
    assert "% once the reasons before it are mended: " in doubles[0]


def test_stores_take_the_part_of_a_large_product_that_they_have_there(tmp_path: Path) -> None:
    far, near = "C[(row + tx) * n + col + ty] = sum", "C[(row + ty) * n + col + tx] = sum"
    answers = {}
    for size in ("128", "4096"):
        for store in (far, near):
            (tmp_path / "mm.cu").write_text(TRANSPOSED_STORES.replace(far, store))
            answers[size, store] = json.loads(mmcore("why", str(tmp_path / "mm.cu"), "--size", size, "--json").stdout)
        stores = [each["gain"] for each in answers[size, far]["reasons"] if each["kind"] == "uncoalesced"]
        saved = 1 - answers[size, near]["seconds"] / answers[size, far]["seconds"]
        assert stores == [pytest.approx(saved, abs=0.02)] if size == "128" else (stores == [] and saved < LEAST_GAIN)


@pytest.mark.parametrize(("parts", "times"), [("8", 8), ("n / 32", 16)])
def test_additions_of_parts_of_k_are_counted_in_the_requested_product(parts: str, times: int, tmp_path: Path) -> None:
    (tmp_path / "mm.cu").write_text(kernel_source("split_k", PARTS=parts))
    answer = json.loads(mmcore("why", str(tmp_path / "mm.cu"), "--size", "512", "--json").stdout)
    (atomics,) = [each for each in answer["reasons"] if each["kind"] == "atomics"]
    assert (
        atomics["sentence"] == f"an atomic operation adds to each element of C {times} times, once for each part of k"
    )
    assert atomics["advice"].startswith("split k into fewer parts")


def test_parts_of_k_that_end_in_tiles_are_counted_where_they_are_long(tmp_path: Path) -> None:
    text = kernel_source("split_k", PARTS="8").replace("k < first + part", "k < first + (part + 15) / 16 * 16")
    text = text.replace("A[row * n + k]", "(k < first + part ? A[row * n + k] : 0)")
    (tmp_path / "mm.cu").write_text(text.replace("B[k * n + col]", "(k < n ? B[k * n + col] : 0)"))
    answer = json.loads(mmcore("why", str(tmp_path / "mm.cu"), "--size", "512", "--json").stdout)
    assert answer["seconds"]
    assert "repeated work" not in [each["kind"] for each in answer["reasons"]]


def test_additions_of_each_product_are_advised_a_register(tmp_path: Path) -> None:
    first = why(tmp_path, "atomics: slow")["reasons"][0]
    assert first["sentence"] == "an atomic operation adds to each element of C 1,024 times"
    assert first["advice"].startswith("add the products of k in a register")


def test_bank_conflicts_of_ldmatrix_take_what_padded_rows_save(tmp_path: Path) -> None:
    def answer(padding: int) -> Any:
        (tmp_path / "mm.cu").write_text(kernel_source("ldmatrix", PADDING=padding))
        return json.loads(mmcore("why", str(tmp_path / "mm.cu"), "--size", "2048", "--json").stdout)

    slow, better = answer(0), answer(8)
    (conflicts,) = [each for each in slow["reasons"] if each["kind"] == "bank conflicts"]
    assert conflicts["gain"] == pytest.approx(1 - better["seconds"] / slow["seconds"], abs=0.02)
    assert conflicts["advice"].startswith("pad the rows of bs by 16 bytes")
    assert "bank conflicts" not in [each["kind"] for each in better["reasons"]]


def test_padded_rows_save_what_was_said_if_loads_stay_joined(tmp_path: Path) -> None:
    documents = []
    for row, aligned in ((64, ""), (68, ""), (68, "__align__(16)")):
        (tmp_path / "mm.cu").write_text(kernel_source("register_tile", ROW=row, ALIGNED=aligned))
        documents.append(json.loads(mmcore("why", str(tmp_path / "mm.cu"), "--json").stdout))
    bare, padded, aligned = documents
    conflicts = bare["reasons"][0]
    narrow = [each for each in padded["reasons"] if "elements of a one by one" in each["sentence"]]
    assert conflicts["kind"] == "bank conflicts"
    assert "by 16 bytes and declare it __align__(16)" in conflicts["advice"]
    assert all(each["kind"] == "narrow loads" for each in narrow)
    saved = 1 - prod(1 - each["next_gain"] for each in narrow)  # none, if the compiler aligns a by itself
    for gain, before in ((conflicts["gain"], bare), (saved, padded)):
        assert gain == pytest.approx(1 - aligned["seconds"] / before["seconds"], abs=0.02)
    wide = [reason["kind"] for reason in bare["reasons"] if reason["line"] != conflicts["line"]]
    assert "narrow loads" not in wide, "loads of b that are as many passes if they are wide"


@pytest.mark.parametrize("element", ["float", "int"])
def test_a_thread_with_one_element_of_c_has_little_reuse_and_no_narrow_loads(tmp_path: Path, element: str) -> None:
    """Its elements of b are rows apart: side by side, they would be in the same bank as those of other threads."""
    text = TILED_ROWS.replace("ROW", "y").replace("COLUMN", "x").replace("float", element)
    (tmp_path / "mm.cu").write_text(text)
    reasons = json.loads(mmcore("why", str(tmp_path / "mm.cu"), "--size", "1024", "--json").stdout)["reasons"]
    assert reasons[0]["kind"] == "little reuse"
    assert "narrow loads" not in [each["kind"] for each in reasons if each["line"] == reasons[0]["line"]]


@pytest.mark.parametrize("condition", ["m >= 512 && n >= 512 && k >= 256", "true"])
def test_the_counts_of_a_large_product_are_of_the_path_that_it_takes(tmp_path: Path, condition: str) -> None:
    (tmp_path / "mm.cu").write_text(TWO_PATHS.replace("CONDITION", condition))
    answer = json.loads(mmcore("why", str(tmp_path / "mm.cu"), "--size", "1024", "--json").stdout)
    assert answer["reasons"][0]["kind"] == "little reuse"
    assert "shared memory" in answer["reasons"][0]["sentence"]
    assert answer["seconds"] == pytest.approx(277e-6, rel=0.25)


def test_fragments_that_warps_load_from_global_memory_lack_reuse(tmp_path: Path) -> None:
    answers = []
    for title in ("from global memory", "from shared memory"):
        (tmp_path / "mm.cu").write_text(FRAGMENTS[title])
        answers.append(json.loads(mmcore("why", str(tmp_path / "mm.cu"), "--size", "1024", "--json").stdout))
    slow, better = answers
    first = slow["reasons"][0]
    here = [at for at, text in enumerate(FRAGMENTS["from global memory"].splitlines(), 1) if "// here" in text]
    assert (first["kind"], [first["line"]]) == ("little reuse", here)
    assert first["sentence"].startswith("each element of A is loaded 64 times from global memory, as every warp loads")
    assert "float4" not in str(slow["reasons"])
    assert 0 < first["gain"] <= 1 - better["seconds"] / slow["seconds"] + 0.01
    assert "little reuse" not in [each["kind"] for each in better["reasons"]]


@pytest.mark.parametrize("size", [1024, 4096])
def test_a_second_buffer_saves_the_waits_that_a_prediction_contains(size: int, tmp_path: Path) -> None:
    def answer(title: str) -> Any:
        (tmp_path / "mm.cu").write_text(FRAGMENTS[title])
        return json.loads(mmcore("why", str(tmp_path / "mm.cu"), "--size", str(size), "--json").stdout)

    in_turn, two = answer("from shared memory"), answer("from two buffers")
    line = next(at for at, text in enumerate(FRAGMENTS["from shared memory"].splitlines(), 1) if "&as[i / 4]" in text)
    first = in_turn["reasons"][0]
    assert (first["kind"], first["line"], first["uncounted"]) == ("no overlap", line, False)
    assert first["gain"] == pytest.approx(1 - two["seconds"] / in_turn["seconds"], abs=0.05)
    assert [each["kind"] for each in in_turn["reasons"]].count("no overlap") == 1
    assert "no overlap" not in [each["kind"] for each in two["reasons"]]


@pytest.mark.parametrize("options", [(), ("--option", "-fmad=false")])
def test_barriers_are_counted_for_a_thread_and_tiles_advised_that_are_deep_enough(
    options: tuple[str, ...], tmp_path: Path
) -> None:
    first = why(tmp_path, "barriers: slow", *options)["reasons"][0]
    assert "after every 0.5 multiply-adds of a thread" in first["sentence"]
    assert "32 times as deep" in first["advice"]


@pytest.mark.parametrize("title", POSTED)
def test_programs_that_people_ask_about_are_explained_by_the_first_reason(title: str, tmp_path: Path) -> None:
    file = tmp_path / "program.cu"
    file.write_text(POSTED[title])
    result = mmcore("why", str(file), "--size", "4096", "--json")
    first = json.loads(result.stdout)["reasons"][0]
    line = POSTED[title][: POSTED[title].index("// here")].count("\n") + 1
    assert (first["kind"], first["line"]) == (title.partition(":")[0], line)


@pytest.mark.parametrize("change", ["none", "waits", "loop"])
def test_waits_after_each_wgmma_are_a_reason(change: str, tmp_path: Path) -> None:
    if change == "loop":
        needs_disassembler()
    ring = referenced_kernel("ladder.bf16.09_ring")
    text = ring.source.read_text(encoding="utf-8")
    product, loop = "stages[stage].b + p)), 1);\n", "        for (int p = 0; p < BK; p += 16)\n"
    assert product in text
    assert loop in text
    if change == "waits":
        text = text.replace(
            product, "stages[stage].b + p)), 1), commit_products(),\n wait_for_products<0>(); // here\n"
        )
    if change == "loop":  # which ptxas serialises
        text = text.replace(loop, f"#pragma unroll 1\n{loop}").replace(
            "multiply<0, 0>(sum,", "multiply<0, 0>(sum, // here\n"
        )
    file = tmp_path / "ring.cu"
    file.write_text(text)
    for header in ring.source.parent.glob("*.cuh"):
        shutil.copy(header, tmp_path)
    answer = explained_time(Cell(ring.name, 4096, 4096, 4096), cards()["H200"], replace(ring, source=file))
    lines = [number for number, row in enumerate(text.splitlines(), 1) if "// here" in row]
    assert answer.right
    assert [(reason.kind, reason.line.number) for reason in answer.reasons] == [
        ("serialised wgmma", line) for line in lines
    ]


def test_a_wrong_kernel_gets_its_verdict_first(tmp_path: Path) -> None:
    file = tmp_path / "mm.cu"
    file.write_text(SOURCES["little reuse: slow"].replace("sum = 0", "sum = 1"))
    result = mmcore("why", str(file))
    assert result.exit_code == 1
    wrong = "it is wrong, which comes first: mmcore run "
    assert re.search(rf"\n\n{wrong}.*/mm.cu -m 64 -n 64 -k 64 .*\n\n1\. line 5, ", result.stdout)
    quiet = mmcore("why", str(file), "-q")
    assert quiet.stdout.startswith(wrong)
    assert "not verified at other sizes" not in quiet.stdout


def test_a_kernel_with_a_race_is_said_to_have_it_first(tmp_path: Path) -> None:
    file = tmp_path / "mm.cu"
    text = SOURCES["bank conflicts: better"]
    assert "__syncthreads();\n" in text
    file.write_text(text.replace("__syncthreads();\n", "\n", 1))
    result = mmcore("why", str(file), "-q")
    first, *reasons = result.stdout.splitlines()
    assert (result.exit_code, bool(reasons)) == (1, True)
    assert re.match(r"shared-race at mm\.cu:\d+, which comes first: mmcore check .*/mm\.cu -m 64 ", first)
    assert json.loads(mmcore("why", str(file), "--json").stdout)["violations"][0]["kind"] == "shared-race"


def test_a_guard_that_the_small_product_does_not_need_is_named_with_its_size(tmp_path: Path) -> None:
    file = tmp_path / "mm.cu"
    guarded = SOURCES["uncoalesced: better"].replace(
        "    float sum", "    if (row >= n || col >= n) return;\n    float sum"
    )
    file.write_text(guarded.replace("dim3(n / 16, n / 16)", "dim3((n + 15) / 16, (n + 15) / 16)"))
    said = {size: mmcore("why", str(file), "--size", size).stdout for size in ("1024", "1000")}
    others = f"; not verified at other sizes: mmcore run {file}\n"
    assert f"\nlooked at   64×64×64, which does not execute the other branch of line 4{others}" in said["1024"]
    assert f"\nlooked at   104×104×104{others}" in said["1000"]
    brief = mmcore("why", str(file), "--size", "1000", "-q").stdout
    assert brief.splitlines()[-1] == f"not verified at other sizes: mmcore run {file}"
    small = json.loads(mmcore("why", str(file), "--size", "1000", "--json").stdout)
    assert (small["ran"]["m"], small["not_executed"]) == (104, [])


def test_neighbouring_lines_with_one_reason_are_named_together(tmp_path: Path) -> None:
    file = tmp_path / "mm.cu"
    loop = "for (int k = 0; k < n; k += 2) {\nsum += A[row * n + k] * B[k * n + col];\n"
    loop += "sum += A[row * n + k + 1] * B[(k + 1) * n + col]; }\n"
    row = {"blockDim.x + threadIdx.x": "16 + threadIdx.x % 16", "blockDim.y + threadIdx.y": "16 + threadIdx.x / 16"}
    source = SOURCES["uncoalesced: slow"].replace("dim3(16, 16)", "256")
    for old, new in row.items():
        source = source.replace(old, new)
    file.write_text(re.sub("for .*// here\n", loop, source))
    output = mmcore("why", str(file)).stdout
    assert re.search(r"^1\. lines 6–7, about [89]\d % of the time: a warp's load of A ", output, re.MULTILINE), output
    assert output.count("a warp's load of A ") == 1


def test_reasons_that_an_exchange_of_x_and_y_removes_are_one(tmp_path: Path) -> None:
    answers = []
    for row, column in ("xy", "yx"):
        (tmp_path / "mm.cu").write_text(TILED_ROWS.replace("ROW", row).replace("COLUMN", column))
        answers.append(json.loads(mmcore("why", str(tmp_path / "mm.cu"), "--json").stdout))
    by_rows, exchanged = answers
    first, *others = by_rows["reasons"]
    assert sorted([first["line"], *(each["number"] for each in first["other_lines"])]) == [7, 8, 10, 13]
    assert first["gain"] == pytest.approx(1 - exchanged["seconds"] / by_rows["seconds"], abs=0.01)
    assert first["gain"] > 0.5
    assert {each["kind"] for each in others} <= {each["kind"] for each in exchanged["reasons"]}
    output = mmcore("why", str(tmp_path / "mm.cu"), "-q").stdout
    assert "exchange x and y" not in output


@pytest.mark.parametrize(("row", "column", "matrix"), [("x", "y", "A"), ("y", "x", "B")])
def test_operands_along_k_are_advised_tiles_in_either_order_of_x_and_y(
    row: str, column: str, matrix: str, tmp_path: Path
) -> None:
    (tmp_path / "mm.cu").write_text(BY_TRANSPOSE.replace("ROW", row).replace("COLUMN", column))
    answer = json.loads(mmcore("why", str(tmp_path / "mm.cu"), "--json").stdout)
    first, *_ = answer["reasons"]
    assert first["sentence"].startswith(f"a warp's load of {matrix} touches 16 sectors")
    assert "copy tiles of A and B into shared memory" in first["advice"]
    assert not any(each["advice"].startswith("exchange x and y") for each in (*answer["reasons"], *answer["findings"]))


def test_uncoalesced_accesses_are_listed_whatever_they_cost_if_they_are_a_large_part(tmp_path: Path) -> None:
    def lists(text: str, size: int) -> tuple[set[str], list[int]]:
        (tmp_path / "mm.cu").write_text(text)
        answer = json.loads(mmcore("why", str(tmp_path / "mm.cu"), "--size", str(size), "--json").stdout)
        return {each["kind"] for each in answer["reasons"]}, sorted(
            each["line"] for each in answer["findings"] if each["kind"] == "uncoalesced"
        )

    by_rows = TILED_ROWS.replace("ROW", "x").replace("COLUMN", "y")
    kinds, lines = lists(by_rows, 64)
    assert ("uncoalesced" in kinds, lines) == (False, [7, 8, 13])
    assert lists(by_rows, 1024)[1] == [7, 8, 13]
    assert lists(TILED_ROWS.replace("ROW", "y").replace("COLUMN", "x"), 1024)[1] == []
    assert lists(TRANSPOSED_STORES, 4096)[1] == []


def test_an_uncoalesced_access_beside_coalesced_ones_has_its_own_index_as_advice(tmp_path: Path) -> None:
    file, stored = tmp_path / "mm.cu", "C[(row + tx) * n + col + ty]"
    rows = TRANSPOSED_STORES.replace("a[ty][tx] = A[(row + ty) * n + t + tx]", "a[tx][ty] = A[(row + tx) * n + t + ty]")
    sources = {
        "C": (TRANSPOSED_STORES, stored),
        "A": (rows.replace(stored, "C[(row + ty) * n + col + tx]"), "A[(row + tx) * n + t + ty]"),
    }
    for array, (text, access) in sources.items():
        file.write_text(text)
        reasons = json.loads(mmcore("why", str(file), "--size", "128", "--json").stdout)["reasons"]
        (advice,) = (each["advice"] for each in reasons if each["kind"] == "uncoalesced")
        along = f"the columns of {array}, which are neighbours in memory"
        assert advice == f"in {access}, let the threads of a warp step along {along}"


def test_an_exchange_that_would_make_other_accesses_worse_is_no_joint_reason(tmp_path: Path) -> None:
    (tmp_path / "mm.cu").write_text(TRANSPOSED_STORES)
    answer = json.loads(mmcore("why", str(tmp_path / "mm.cu"), "--size", "128", "--json").stdout)
    assert [each["line"] for each in answer["reasons"] if each["kind"] == "uncoalesced"] == [13]
    assert not any(each["other_lines"] for each in answer["reasons"])


def test_overlapping_reasons_save_no_more_than_what_those_before_leave(monkeypatch: pytest.MonkeyPatch) -> None:
    overlapping = [Reason(f"overlapping {number}", "", "", saved=Costs(shared_memory=8)) for number in range(3)]
    worse = Reason("worse", "", "", saved=Costs(shared_memory=1, issue=-9))
    after = Reason("after", "", "", factor=0.1)
    modules = [
        SimpleNamespace(find=lambda *_, several=several: several) for several in ([*overlapping, worse], [after])
    ]
    monkeypatch.setattr(ranking, "_MISTAKES", modules[:1])
    monkeypatch.setattr(ranking, "_REFINEMENTS", modules[1:])
    monkeypatch.setattr(ranking, "reuse", SimpleNamespace(find=lambda *_: []))
    monkeypatch.setattr(ranking, "launch_times", lambda *_: [Estimate(Costs(shared_memory=12, issue=2))])
    ranked = ranking.reasons(cast("Observation", SimpleNamespace(launches=[None], card=None)))
    assert [each.kind for each in ranked] == ["overlapping 0", "overlapping 1", "after"]
    assert ranked[0].gain == ranked[0].next_gain == ranked[1].gain
    assert all(0 < each.next_gain < 1 for each in ranked)


@pytest.mark.parametrize(
    ("dtype", "stride", "vector"),
    [("bfloat16", 4, "__nv_bfloat162"), ("float16", 4, "__half2"), ("float16", 8, "float2"), ("float32", 16, "float4")],
)
def test_almost_neighbours_are_advised_a_vector_of_their_size(dtype: str, stride: int, vector: str) -> None:
    place = SimpleNamespace(kind="load", array="A")
    site = SimpleNamespace(place=place, stride=stride)
    problem = SimpleNamespace(dtype_of=lambda matrix: SimpleNamespace(name=dtype))
    advice = global_memory._vector(cast("Site", site), cast("Observation", SimpleNamespace(problem=problem)))
    assert advice == f"load {stride} bytes at a time, as {vector} does, or take elements blockDim.x apart"


def test_a_launch_with_violations_gets_no_reasons(tmp_path: Path) -> None:
    file = tmp_path / "mm.cu"
    file.write_text(SOURCES["little reuse: slow"].replace("A[row * n + k]", "A[row * n + k - 1]"))
    result = mmcore("why", str(file), "--json")
    document = json.loads(result.stdout)
    assert (result.exit_code, document["right"], document["reasons"]) == (1, False, [])
    assert document["violations"][0]["kind"] == "out-of-bounds-read"


@pytest.mark.parametrize(
    ("stop", "clause"),
    [
        (
            'if (threadIdx.y == 0) asm volatile("bar.sync 1, 64;");',
            "it does not end at 64×64×64: deadlock at mm.cu:4\n",
        ),
        ('if (n > 64) asm volatile("trap;");', "it is stopped at 128×"),  # which the product that is verified does not
    ],
)
def test_a_kernel_that_does_not_end_has_no_predicted_time(stop: str, clause: str, tmp_path: Path) -> None:
    file = tmp_path / "mm.cu"
    text = SOURCES["little reuse: slow"]
    assert "    float sum" in text
    file.write_text(text.replace("    float sum", f"    {stop}\n    float sum"))
    said = mmcore("why", str(file)).stdout
    assert re.search(rf"^predicted +none: {clause}", said, re.MULTILINE)
    assert "limited by" not in said


def test_the_card_decides() -> None:
    shares = {}
    for card in ("H200", "RTX 4090"):
        result = mmcore("why", "hpsee.tiled", "--block", "32", "--card", card, "--json")
        document = json.loads(result.stdout)
        assert document["card"] == card
        assert document["low"] < document["seconds"] < document["high"]
        shares[card] = document["seconds"]
    assert shares["H200"] != shares["RTX 4090"]


def test_a_threads_loads_of_neighbours_in_shared_memory_are_joined() -> None:
    # ncu counted 12,298,151 passes for 640: 1.5 for each of 8,192,000 multiply-adds of warps.
    cell, card = Cell("hpsee.tiled", 640, 640, 640, config={"block": [32, 32, 1]}), cards()["H200"]
    observation = observe(cell.on(emulator_of(card)), open_device(emulator_of(card)), None, Phases(), card)
    small, (launch,) = observation.small, observation.launches
    passes = sum(site.wavefronts for site in launch.sites if site.place[2:4] == ("load", "shared"))
    assert passes == 1.5 * small.m * small.n * small.k / 32


def test_the_page_has_every_kind() -> None:
    page = (Path(__file__).parents[2] / "docs" / "slow-kernels.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([\w ]+)` \|", page, re.MULTILINE)
    assert sorted(rows) == sorted({*KINDS, "not optimised", "serialised wgmma"})


def test_code_without_optimisation_is_named_first(tmp_path: Path) -> None:
    for options, first in (((), "little reuse"), (("--option", "--device-debug"), "not optimised")):
        assert why(tmp_path, "little reuse: slow", *options)["reasons"][0]["kind"] == first


def test_the_arguments_of_a_print_are_no_array_in_local_memory(tmp_path: Path) -> None:
    file = tmp_path / "my.cu"
    call = 'printf("%d %d %d %f\\n", row, col, k, sum)'
    file.write_text(SOURCES["little reuse: slow"].replace("sum += ", f"sum += 0 * {call} + "))
    document = json.loads(mmcore("why", str(file), "--json").stdout)
    assert "local memory" not in [each["kind"] for each in document["reasons"]]


def test_products_and_sums_that_are_not_fused_lack_reuse_too(tmp_path: Path) -> None:
    file = tmp_path / "mm.cu"
    file.write_text(SOURCES["little reuse: slow"])
    separate = json.loads(mmcore("why", str(file), "--option", "-fmad=false", "--json").stdout)
    assert separate["reasons"][0]["kind"] == "little reuse"


@pytest.mark.parametrize("term", ["__hfma2(a, b, sum)", "__hadd2(__hmul2(a, b), sum)"])
@pytest.mark.parametrize(("element", "header"), [("half", "cuda_fp16.h"), ("__nv_bfloat16", "cuda_bf16.h")])
def test_products_of_pairs_are_multiply_adds_without_tensor_cores(
    term: str, element: str, header: str, tmp_path: Path
) -> None:
    file = tmp_path / "mm.cu"
    pair = {"half": "half2", "__nv_bfloat16": "__nv_bfloat162"}[element]
    file.write_text(kernel_source("pairs", TERM=term, ELEMENT=element, PAIR=pair, HEADER=header))
    document = json.loads(mmcore("why", str(file), "--json", "--option", "-fmad=false").stdout)
    assert [reason["kind"] for reason in document["reasons"]] == ["no tensor cores"]


def test_run_ends_with_the_first_reason_unless_it_is_quiet(tmp_path: Path) -> None:
    file = tmp_path / "mm.cu"
    file.write_text(SOURCES["bank conflicts: slow"])
    command = ("run", str(file), "--size", "64", "--device", "emulator")
    lines = mmcore(*command).stdout.splitlines()
    share = r"line 10, about \d\d % of the time at 1024×1024×1024 on an H200: "
    said = re.compile(f"{share}a warp's load of b, 16 bytes a thread, takes 32 ")
    assert [line for line in lines if said.match(line)]
    assert lines[-1].startswith("TEST PASS at 64×64×64; wrong at ")
    assert "of the time" not in mmcore(*command, "-q").stdout


def test_run_and_why_give_a_reason_the_same_part() -> None:
    said = mmcore("run", "upc.kernel11", "--size", "64", "--device", "emulator").stdout
    first = mmcore("why", "upc.kernel11", "-q").stdout.splitlines()[0]
    assert first in said.replace(" at 1024×1024×1024 on an H200", "").replace(" (mmcore why has more)", "")


def test_reasons_need_no_predicted_time(tmp_path: Path) -> None:
    file = tmp_path / "mm.cu"
    file.write_text(STRIDED.replace("FIRST", "threadIdx.x"))
    command = ("why", str(file), "--size", "256", "--block", "64", "--grid", "n // 64, m // 64")
    result = mmcore(*command, "--json")
    document = json.loads(result.stdout)
    assert (result.exit_code, document["seconds"], document["right"]) == (0, None, True)
    assert [reason["kind"] for reason in document["reasons"]] == ["few blocks", "repeated work"]
    assert re.search("^predicted +none: its arithmetic in small products", mmcore(*command).stdout, re.MULTILINE)


@pytest.mark.parametrize("size", [64, 256, 1024])
def test_a_constant_number_of_steps_is_not_work_of_several_threads(tmp_path: Path, size: int) -> None:
    file = tmp_path / "mm.cu"
    file.write_text(CONSTANT_STEPS)
    text = mmcore("why", str(file), "--size", str(size)).stdout
    assert "several threads compute" not in text
    assert (f"an element of C takes 512 multiply-adds, and k = {size} asks for {size}" in text) == (size < 512)
    assert ("predicted  none: it takes 512 multiply-adds for an element of C at k = 64 and at k = 128" in text) == (
        size == 1024
    )


def test_blocks_outside_of_c_that_return_first_are_not_superfluous(tmp_path: Path) -> None:
    # Their row is taken modulo n, so that they multiply too, unless they return.
    file = tmp_path / "mm.cu"
    slow = SOURCES["superfluous blocks: slow"]
    for source, kinds in ((slow, {"superfluous blocks"}), (slow.replace("float sum", GUARDED), set())):
        file.write_text(source)
        found = {each["kind"] for each in json.loads(mmcore("why", str(file), "--json").stdout)["reasons"]}
        assert found & {"superfluous blocks", "repeated work"} == kinds


@pytest.mark.parametrize("card", ["T4", "t4", "rtx4090", "RTX 4090"])
def test_the_name_of_a_card_needs_no_case_and_no_spaces(card: str) -> None:
    document = json.loads(mmcore("why", "hpsee.tiled", "--block", "32", "--card", card, "--json").stdout)
    assert document["card"] == ("T4" if len(card) == 2 else "RTX 4090")


def test_every_unit_of_a_prediction_has_a_name() -> None:
    assert {*parameters().weights, "start"} == UNITS.keys()

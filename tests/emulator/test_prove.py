"""``mmcore prove``: the outcome, its reason with the line, and the exit status."""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from mmcore.cell import Cell
from mmcore.errors import TimeLimit
from mmcore_emulator.adapter import size_runs, wrong_sum
from mmcore_emulator.adapter.device import Emulator
from mmcore_emulator.adapter.proof import NOT_PROVED, PROVED, WRONG, Proof, prove_cell
from mmcore_emulator.adapter.wrong_sum import WrongSum
from tests.command_line import mmcore
from tests.wrong_kernels import RIGHT, kernel

TERM = "sum += A[row * k + p] * B[p * n + column];"
STORE = "C[row * n + column] = sum;"
PADDED = """int q = p - threadIdx.x % 2, inside = q >= 0 && q < k;
        sum += __bfloat162float(__float2bfloat16(inside ? A[row * k + q] : 0.0f)) * (inside ? B[q * n + column] : 0);"""
SKIPS = f"if (A[row * k + p] != 0) {TERM}"


def proof(folder: Path, *changes: tuple[str, str]) -> Proof:
    own = kernel(folder, *changes)
    return prove_cell(Cell(own.name, 20, 18, 24, device="emulator", seed=1), Emulator(), own)


NOT_PROVABLE = {
    "data-dependent": ((TERM, SKIPS), ("selection", "branch", "opaque"), 9),
    "bfloat16": (
        (TERM, "sum += __bfloat162float(__float2bfloat16(A[row * k + p])) * B[p * n + column];"),
        ("rounding",),
        9,
    ),
    "padded": (("p < k; ++p)\n        " + TERM, f"p < k + 1; ++p) {{\n{PADDED}\n}}"), ("rounding",), 10),
    "cancelling": ((STORE, "C[row * n + column] = (sum + A[0]) - A[0];"), ("rounding",), None),
    "out of bounds": ((STORE, f"C[m * n] = sum; {STORE}"), ("out-of-bounds-write",), 10),
}


def test_a_right_kernel_is_proved_with_a_bound_near_the_tolerance(tmp_path: Path) -> None:
    proved = proof(tmp_path)
    assert (proved.outcome, proved.reasons) == (PROVED, ())
    assert proved.bound is not None
    assert 2**-24 <= proved.bound <= 20 * proved.tolerance
    assert Proof.from_json(json.loads(json.dumps(proved.to_json()))) == proved


@pytest.mark.parametrize("name", NOT_PROVABLE)
def test_what_is_not_proved_has_a_reason_with_its_line(tmp_path: Path, name: str) -> None:
    change, kinds, line = NOT_PROVABLE[name]
    changes = [change, ('extern "C"', '#include <cuda_bf16.h>\nextern "C"')] if "bfloat16" in change[1] else [change]
    made = proof(tmp_path, *changes)
    assert made.outcome == NOT_PROVED
    first = made.reasons[0]
    assert first.kind in kinds
    assert first.line == (line and line + len(changes) - 1)


STALE = "{ const int q = p < 16 ? p : p - 8; sum += A[row * k + q] * B[q * n + column]; }"
TURNED = "B[(p / 8 * 8 + column % 8) * n + column / 8 * 8 + p % 8]"
FOREIGN = "sum += A[(row ^ 1) * k + p] * B[p * n + (column ^ 1)];"
DIFFERENCES = {
    "lacks A[0][23]·B[23][0]; k = 23 is the last of tile 3 of 3 by BK = 8": ("p < k", "p < k - 1"),
    "lacks A[0][k]·B[k][0] for k = 16 to 23, the last 8 of 24; that is tile 3 of 3 by BK = 8": ("p < k", "p < k - 8"),
    "lacks A[0][0]·B[0][0]; k = 0 is the first of tile 1 of 3 by BK = 8": ("p = 0", "p = 1"),
    "lacks A[0][k]·B[k][0] for every k": ("p < k", "p < 0"),
    "has A[0][5]·B[5][0] twice": (TERM, f"{{ {TERM} if (p == 5) {TERM} }}"),
    "has A[0][k]·B[k][0] only for k = 1, 5, …": (TERM, f"if (p % 4 == 1) {TERM}"),
    "lacks A[0][3]·B[3][0]; products with rows of B before row 3 are right": (TERM, f"if (p != 3 && p != 9) {TERM}"),
    "is wrong in a product with an element of row 3 of B; products with rows of B before row 3 are right": (
        TERM,
        f"{{ {TERM} if (p == 3) sum += A[row * k] * A[row * k + p] * B[p * n + column]; }}",
    ),
    "has A[0][k−8]·B[k−8][0] instead of A[0][k]·B[k][0] for k = 16 to 23": (TERM, STALE),
    "has A[0][k]·B[0][k] instead of A[0][k]·B[k][0] for k = 0 to 23": ("B[p * n + column]", "B[column * n + p]"),
    "has A[0][1]·B[0][0] instead of A[0][0]·B[0][0]": ("A[row * k + p]", "A[row * k + (p ^ 1)]"),
    "has A[0][1]·B[0][1], where the product has A[0][1]·B[1][0]": ("B[p * n + column]", TURNED),
    "has A[0][1]·B[0][0] besides A[0][0]·B[0][0], where the product has A[0][1]·B[1][0]": (
        "B[p * n + column]",
        "B[(p == 1 ? 0 : p == 9 ? 4 : p) * n + column]",
    ),
    "has A[1][3]·B[3][1], no product of it": (TERM, f"{{ {TERM} if (p == 3) {FOREIGN} }}"),
    "is the element (1, 0) of the product": ("A[row * k + p]", "A[(row ^ 1) * k + p]"),
}


def test_a_wrong_element_is_reported_even_if_there_is_no_time_to_find_its_products(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def reached(*_: object) -> str:
        raise TimeLimit("the time limit is reached")

    monkeypatch.setattr(WrongSum, "explanation", reached)
    made = proof(tmp_path, ("p < k", "p < k - 1"))
    assert made.outcome == WRONG
    assert made.sentences[0] == "C[0][0] is another polynomial of the elements of A and B"


@pytest.mark.parametrize("sentence", DIFFERENCES)
def test_the_products_that_are_missing_or_too_many_are_named(tmp_path: Path, sentence: str) -> None:
    own = kernel(tmp_path, DIFFERENCES[sentence], configs=[{"block": (16, 8), "BK": 8}])
    made = prove_cell(Cell(own.name, 24, 24, 24, device="emulator", seed=1), Emulator(), own)
    assert made.outcome == WRONG
    assert made.sentences == [f"C[0][0] {sentence}", "576 of 576 elements are wrong"]


def test_an_index_of_a_matrix_that_is_stored_by_columns_is_explained(tmp_path: Path) -> None:
    own = kernel(tmp_path, (TERM, TERM), column_major="A")
    sentence = prove_cell(Cell(own.name, 24, 24, 24, device="emulator", seed=1), Emulator(), own).sentences[0]
    has, _, clause = sentence.partition("; ")
    assert has == "C[0][0] has A[k][0]·B[k][0] instead of A[0][k]·B[k][0] for k = 0 to 23"
    assert clause == "stored by columns, A[i][j] has the index j * m + i"


def test_the_exit_status_is_the_outcome(tmp_path: Path) -> None:
    variants = {
        PROVED: (RIGHT, 0),
        WRONG: (RIGHT.replace("p < k", "p < k - 3"), 1),
        NOT_PROVED: (RIGHT.replace(TERM, SKIPS), 2),
    }
    for outcome, (source, status) in variants.items():
        path = tmp_path / "own.cu"
        path.write_text(source)
        result = mmcore("prove", str(path), "--size", "16", "--seed", "1")
        at = " at 16×16×16" * (outcome == PROVED)
        assert (result.exit_code, result.stdout.splitlines()[-1]) == (status, f"{outcome.upper()}{at}")
        if outcome == NOT_PROVED:
            assert f"own.cu:9\n    {SKIPS}\n" in result.stdout
    document = json.loads(mmcore("prove", str(path), "--size", "16", "--json").stdout)
    assert (document["outcome"], document["reasons"][0]["line"]) == (NOT_PROVED, 9)


RACY = """extern "C" __global__ void product(const float* A, const float* B, float* C, int m, int n, int k) {
    int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    __shared__ float b[16][16];
    float sum = 0;
    for (int p0 = 0; p0 < k; p0 += 16) {
        b[threadIdx.y][threadIdx.x] = p0 + threadIdx.y < k && column < n ? B[(p0 + threadIdx.y) * n + column] : 0;
        __syncthreads();
        for (int p = 0; p < 16 && p0 + p < k; ++p)
            if (row < m) sum += A[row * k + p0 + p] * b[p][threadIdx.x];
    }
    if (row < m && column < n) C[row * n + column] = sum;
}
"""


def test_right_sums_with_a_race_are_not_proved(tmp_path: Path) -> None:
    path = tmp_path / "own.cu"
    path.write_text(RACY)
    document = json.loads(mmcore("prove", str(path), "--size", "20", "--json").stdout)
    kinds = {(reason["kind"], reason["line"]) for reason in document["reasons"]}
    assert (document["outcome"], kinds) == (NOT_PROVED, {("shared-race", 6)})


def test_a_race_of_a_wrong_kernel_is_named_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "own.cu"
    path.write_text(RACY.replace("= sum;", "= 2 * sum;"))
    result = mmcore("prove", str(path), "--size", "20", "--quiet")
    assert result.exit_code == 1
    assert "shared-race at own.cu:6\n" in result.stdout
    assert result.stdout.endswith("\nWRONG\n")


@pytest.mark.parametrize(
    ("term", "rows"),
    [
        (f"if (p != 17 && p != 20) {TERM}", "12 to 17 of B; products with rows of B before row 12 are right"),
        ("sum += A[row * k + p] * B[p % 16 * n + column + (p >= 16 ? 1 : 0)];", "0 to 5 of B"),
    ],
    ids=["missing", "A and B of different k"],
)
def test_rows_of_b_are_named_if_there_is_no_time_to_find_a_wrong_product(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, term: str, rows: str
) -> None:
    """Time for two runs alone. The second kernel's products are right for each k of the loop up to 15."""
    monkeypatch.setattr(wrong_sum, "_SECONDS", 3)
    monkeypatch.setattr(wrong_sum, "time", SimpleNamespace(monotonic=itertools.count().__next__))
    made = proof(tmp_path, (TERM, term))
    assert made.sentences[0] == f"C[0][0] is wrong in a product with an element of rows {rows}"


@pytest.mark.parametrize(
    ("change", "size", "proof", "difference"),
    [
        (("p < k", "p < k"), 80, r"proved at \d+×\d+×\d+ on the emulator", ""),
        ((TERM, SKIPS), 80, r"not proved at \d+×\d+×\d+ on the emulator\n\w+ at own.cu:9: .*", ""),
        (
            ("p < k", "p < k - 3"),
            40,
            "wrong at 40×40×40 on the emulator",
            r"at 40×40×40, C\[0\]\[0\] lacks .* the last 3 of 40",
        ),
        (("p < k", "p < k"), 8, r"proved at \d+×\d+×\d+ on the emulator", ""),
    ],
)
def test_run_reports_a_proof_that_takes_less_time_than_its_products(
    tmp_path: Path, change: tuple[str, str], size: int, proof: str, difference: str
) -> None:
    path = tmp_path / "own.cu"
    path.write_text(RIGHT.replace(*change))
    options = ("--device", "emulator", "--size", str(size), "--seed", "1", "--json")
    document = json.loads(mmcore("run", str(path), *options).stdout)
    assert re.fullmatch(proof, document["proof"])
    assert re.fullmatch(difference, next((each for each in document["warnings"] if " C[0][0] " in each), ""))


@pytest.mark.parametrize(
    ("type_", "term"),
    [
        ("float16", "sum += __half2float(__float2half(A[row * k + p])) * B[p * n + column];"),
        ("float16", "sum += __low2float(__floats2half2_rn(A[row * k + p], 0.0f)) * B[p * n + column];"),
        ("bfloat16", "sum += __bfloat162float(__float2bfloat16(A[row * k + p])) * B[p * n + column];"),
        ("", "sum += A[row * k + p] * B[p * n + column] + 1.0f;"),
    ],
)
def test_a_wrong_product_of_fewer_digits_names_the_line_that_rounds(tmp_path: Path, type_: str, term: str) -> None:
    path = tmp_path / "own.cu"
    exact = RIGHT.replace("float sum = 0.0f;", "float sum = __half2float(__float2half(0.0f));")
    assert exact != RIGHT
    path.write_text("#include <cuda_bf16.h>\n#include <cuda_fp16.h>\n" + exact.replace(TERM, term))
    result = mmcore("run", str(path), "--device", "emulator", "--size", "33", "--seed", "1", "--quiet")
    assert result.exit_code == 1
    lines = re.findall(r"^warning: rounding at own.cu:11: .*; the line rounds to (\w+)$", result.stdout, re.MULTILINE)
    assert lines == [type_] * bool(type_)


def test_a_branch_by_a_value_of_a_matrix_is_a_warning(tmp_path: Path) -> None:
    path = tmp_path / "own.cu"
    path.write_text(RIGHT.replace(STORE, f"if (A[0] == 1 && B[0] == 1) sum = k;\n    {STORE}"))
    run = ("run", str(path), "--device", "emulator", "--size", "40", "--seed", "1", "--quiet")
    result = mmcore(*run)
    assert result.exit_code == 0
    by_value = (
        r"branch at own.cu:\d+: branches by a value of a matrix, so that the product of other values may be wrong"
    )
    assert re.search(rf"^warning: {by_value}\n", result.stdout)
    other = tmp_path / "other.cu"
    other.write_text(RIGHT)
    assert mmcore(run[0], str(other), *run[2:]).stdout == "TEST PASS\n"
    compared = mmcore("compare", str(other), str(path), *run[2:4], "--size", "33", "--seed", "1", "--quiet")
    assert re.search(rf"^B, \S*own.cu: warning: {by_value}\n", compared.stdout, re.MULTILINE)
    path.write_text(RIGHT.replace(STORE, f"if (A[0] == 7 || m % 16 == 0) {STORE} else if (row) C[0] = k;"))
    failed = mmcore(*run).stdout
    assert re.search(rf"^warning: {by_value}\n", failed, re.MULTILINE)
    assert "without a remainder" not in failed


@pytest.mark.parametrize("condition", ["m == k", "m == n", "m % 64 == 0", "n > 256"])
def test_a_branch_by_a_value_at_other_sizes_is_a_warning_of_each_command(tmp_path: Path, condition: str) -> None:
    path = tmp_path / "own.cu"
    path.write_text(RIGHT.replace(STORE, f"if ({condition} && A[row * k] == 0.123f) sum = k;\n    {STORE}"))
    by_value = r"at \d+×\d+×\d+, (branches by a value of a matrix|computes no sum of products), so that .*\n"
    proved = mmcore("prove", str(path), "--size", "21x23x19", "--quiet").stdout
    assert re.search(rf"^warning: \w+ at own.cu:10: {by_value}PROVED at 21×23×19$", proved, re.MULTILINE)
    assert re.search(rf"^  {by_value}\nCHECK PASS$", mmcore("check", str(path), "--quiet").stdout, re.MULTILINE)
    result = mmcore("run", str(path), "--device", "emulator", "--seed", "1", "--quiet").stdout
    assert re.search(rf"^warning: \w+ at own.cu:10: {by_value}", result)


def test_a_branch_by_a_value_at_the_sizes_of_its_code_is_no_proof_that_conform_counts(tmp_path: Path) -> None:
    path = tmp_path / "own.cu"
    path.write_text(RIGHT.replace(STORE, f"if (n > 300 && A[row * k] == 0.123f) sum = k;\n    {STORE}"))
    conforms = mmcore("conform", str(path), "--device", "emulator", "--seed", "1").stdout
    assert re.search(r"^proof .*1 skipped \(not proved: \w+ at own.cu:10: ", conforms, re.MULTILINE)


@pytest.mark.parametrize("factor", ["1.1f", "1.1", "(float)(__half)1.1f"])
def test_a_factor_may_be_rounded_to_the_type_in_which_a_kernel_has_it(tmp_path: Path, factor: str) -> None:
    changes = (STORE, f"C[row * n + column] = {factor} * sum;"), ('extern "C"', '#include <cuda_fp16.h>\nextern "C"')
    own = kernel(tmp_path, *changes, alpha=1.1)
    made = prove_cell(Cell(own.name, 20, 18, 24, device="emulator", seed=1), Emulator(), own)
    assert made.outcome == (NOT_PROVED if "half" in factor else PROVED), made.reasons
    assert made.bound is not None


def test_another_factor_is_wrong(tmp_path: Path) -> None:
    own = kernel(tmp_path, (STORE, "C[row * n + column] = 1.1001f * sum;"), alpha=1.1)
    assert prove_cell(Cell(own.name, 20, 18, 24, device="emulator", seed=1), Emulator(), own).outcome == WRONG


def test_a_ring_is_proved_at_a_k_that_refills_each_stage_twice_unless_a_size_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MMCORE_IN_PROCESS", "1")
    monkeypatch.setattr(size_runs.SizeRuns, "_refills", lambda runs, problem: problem.k // 64)
    path = tmp_path / "own.cu"
    path.write_text(RIGHT)
    assert mmcore("prove", str(path), "--quiet").stdout.endswith("PROVED at 64×64×192\n")
    assert mmcore("prove", str(path), "--size", "64", "--quiet").stdout.endswith("PROVED at 64×64×64\n")

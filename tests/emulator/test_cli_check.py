"""``mmcore check``: violations with their lines for a student, a document for a program."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import mmcore as api
import mmcore_emulator
from mmcore.plugin_table import Origin, Registered
from mmcore.registry import registry
from mmcore_emulator import Check
from tests.command_line import mmcore
from tests.kernel_sources import kernel_source
from tests.wrong_kernels import kernel

FORCED = ("check", "upc.kernel10", "--size", "65", "--block", "32", "--force", "--seed", "1")


def test_nothing_found_passes() -> None:
    result = mmcore("check", "upc.kernel11", "--size", "17", "--block", "8")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.endswith("\n\nno hazard found; mmcore run verifies the product\nCHECK PASS\n")


def test_findings_are_reported_with_their_lines_and_exit_with_1() -> None:
    result = mmcore(*FORCED)
    assert result.exit_code == 1
    assert result.stdout.endswith("\n\nCHECK FAIL\n")
    assert "forced   m = n = k = 65 is not a multiple of block.x = 32" in result.stdout
    source = api.kernels()["upc.kernel10"].source.read_text(encoding="utf-8").splitlines()
    (heading,) = (at for at, line in enumerate(source, 1) if "= A[row * k" in line)
    lines = result.stdout.splitlines()
    begin = lines.index(f"out-of-bounds-read of A at kernel10.cu:{heading}, 2,976 threads")
    assert lines[begin + 1].strip() == source[heading - 1].strip()
    assert lines[begin + 2] == "    ^"
    assert lines[begin + 3].strip().startswith("thread (0, 1) of block (0, 2) reads the first byte past the end of A")


def test_a_launch_with_too_much_work_is_checked_at_half_the_usual_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mmcore_emulator.adapter.check_command._MOST_WORK", 1e6)
    result = mmcore("check", "upc.kernel11", "--block", "16")
    assert result.exit_code == 0
    assert "m×n×k = 64×64×64" in result.stdout
    assert mmcore("check", "upc.kernel11", "--block", "16", "--size", "96").exit_code == 0


@pytest.mark.parametrize("seed", ["6", "12"])
def test_a_sum_of_halves_that_overflows_is_no_unwritten_value(tmp_path: Path, seed: str) -> None:
    source = tmp_path / "halves.cu"
    body = "half sum = 0; for (int p = 0; p < k; p++) sum += A[i * k + p] * B[p * n + j]; C[i * n + j] = sum;"
    source.write_text(
        "#include <cuda_fp16.h>\n"
        "__global__ void product(const half *A, const half *B, half *C, int m, int n, int k)\n{\n"
        "    int i = blockIdx.y * blockDim.y + threadIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;\n"
        f"    if (i < m && j < n) {{ {body} }}\n}}\n"
    )
    result = mmcore("check", str(source), "--size", "40x50x60", "--accumulator", "float16", "--seed", seed)
    assert (result.exit_code, result.stdout.splitlines()[-1]) == (0, "CHECK PASS")


def test_a_nan_that_the_kernel_computes_is_no_unwritten_value(tmp_path: Path) -> None:
    path = tmp_path / "halves.cu"
    text = kernel_source("right").replace("+= A[", "+= (float)(half)A[").replace("* B[", "* (float)(half)B[")
    path.write_text(f"#include <cuda_fp16.h>\n{text}")
    output = mmcore("check", str(path), "--block", "16x8", "--seed", "1").stdout
    assert "wrong-product of C, " in output
    assert "although A and B are numbers: the kernel computes it, for example as inf - inf" in output
    assert "unwritten value" not in output


GAPS = """#include <mma.h>
using namespace nvcuda::wmma;
__global__ void gaps(const half *A, const half *B, float *C, int m, int n, int k, int lda, int ldb, int ldc)
{
    fragment<matrix_a, 16, 16, 16, half, row_major> a;
    fragment<matrix_b, 16, 16, 16, half, col_major> b;
    fragment<accumulator, 16, 16, 16, float> c;
    fill_fragment(c, 0.0f);
    load_matrix_sync(a, A, lda);
    load_matrix_sync(b, B, ldb);
    mma_sync(c, a, b, c);
    store_matrix_sync(C, c, ldc, mem_row_major);
}
"""


def test_a_nan_from_between_the_rows_is_an_unwritten_value(tmp_path: Path) -> None:
    path = tmp_path / "gaps.cu"
    path.write_text(GAPS)
    options = (
        "--block",
        "32",
        "--grid",
        "n / 16, m / 16",
        "--size",
        "17x17x8",
        "--lda",
        "16",
        "--ldb",
        "16",
        "--column-major",
        "B",
    )
    output = mmcore("check", str(path), *options).stdout
    assert "uninitialized-read of C, 256 elements\n  element (0, 0) of C is NaN although A and B are num" in output
    assert ": an unwritten value has reached it, from behind a matrix or between its rows, or from" in output


def test_json_is_the_check() -> None:
    result = mmcore(*FORCED, "--json")
    assert result.exit_code == 1
    document, found = json.loads(result.stdout), mmcore_emulator.check("upc.kernel10", 65, block=32, force=True, seed=1)
    further: dict[str, Any] = {"sizes": [], "not_executed": [], "not_tried": "", "source_warnings": []}  # of one size
    assert document == found.to_json() | further
    assert Check.from_json(found.to_json()) == found
    violation = document["violations"][0]
    where = {"source", "line", "column", "callers", "block", "thread", "count"}
    assert violation.keys() == {"kind", "array", "message", "hint", "fatal"} | where
    assert (document["kernel"], violation["kind"]) == ("upc.kernel10", "out-of-bounds-read")


def test_without_a_size_every_size_that_the_code_asks_for_is_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = kernel(tmp_path, ("p < k", "p < k + (k == 1000)"))
    monkeypatch.setitem(registry().kernels, made.name, Registered(made, Origin("acme", "acme")))
    result = mmcore("check", made.name)
    assert result.exit_code == 1
    assert "×1000: line 8 compares k with 1000\n\n" in result.stdout
    assert "out-of-bounds-read of A at own.cu:9" in result.stdout
    rows = json.loads(mmcore("check", made.name, "--json").stdout)["sizes"]
    assert [row["right"] for row in rows] == [True] * (len(rows) - 1) + [False]
    asked = mmcore("check", made.name, "--size", "24")
    assert (asked.exit_code, "sizes" in asked.stdout) == (0, False)


def test_a_file_that_is_right_only_in_an_unusual_reading_fails(tmp_path: Path) -> None:
    path = tmp_path / "adds.cu"
    path.write_text(kernel_source("right").replace("column] = sum", "column] += sum"))
    result = mmcore("check", str(path), "--block", "16x8")
    assert result.exit_code == 1
    place = "\nunusual-reading at adds.cu:10\n"
    assert place in result.stdout
    assert "  line 10 adds to C: write = instead of +=, or zero C before the launch; right only if" in result.stdout
    assert "\n  try --beta 1 if this is meant\n" in result.stdout


def test_elements_are_not_called_threads() -> None:
    output = mmcore("check", "upc.kernel00", "--size", "65", "--block", "32", "--force").stdout
    assert "unwritten-output of C, 129 elements\n  no thread writes element (0, 64) of C" in output


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("if (n % 16) __trap();", "comes to a trap: __trap(), or an access through a null pointer; a GPU would"),
        ("float* p = 0; *p = 1;", "comes to a trap: __trap(), or an access through a null pointer; a GPU would"),
        ("assert(n % 16 == 0);", "fails the assertion 'n % 16 == 0'; a GPU would stop the launch"),
    ],
)
def test_a_trap_is_named_alone(statement: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "traps.cu"
    path.write_text(f"#include <cassert>\n{kernel_source('right').replace('{', f'{{ {statement}', 1)}")
    output = mmcore("check", str(path), "--block", "16x8", "--size", "33").stdout
    assert said in output
    assert output.count(" of block ") == 1
    assert "unwritten-output" not in output, "the threads did not come to the store"


def test_a_size_that_the_kernels_own_assertion_refuses_is_no_fault(tmp_path: Path) -> None:
    path = tmp_path / "asserts.cu"
    path.write_text(f"#include <cassert>\n{kernel_source('right').replace('{', '{ assert(n % 16 == 0);', 1)}")
    for command, verdict in (("run", "TEST PASS at"), ("check", "CHECK PASS")):
        result = mmcore(command, str(path), "--block", "16x8", "--device", "emulator")
        assert result.exit_code == 0
        assert verdict in result.stdout
        assert "; not tried at other sizes: the assertion in line " in result.stdout


def test_128_is_taken_or_the_next_size_that_is_allowed() -> None:
    assert "m×n×k = 140×140×140" in mmcore("check", "unsa.tiled", "--block", "20").stdout


@pytest.mark.parametrize(
    ("column", "hint"),
    [
        ("blockIdx.x * 16 + threadIdx.x", "try a guard, so that threads outside of the array write nothing"),
        ("(blockIdx.x * 16 + threadIdx.x) % 8", "try an atomic operation, or one thread that writes"),
    ],
)
def test_a_race_of_threads_outside_of_the_product_asks_for_a_guard(column: str, hint: str, tmp_path: Path) -> None:
    path = tmp_path / "my.cu"
    path.write_text(f"""
    __global__ void mul(const float *A, const float *B, float *C, int n)
    {{
        int row = blockIdx.y * 16 + threadIdx.y, column = {column};
        float sum = 0;
        for (int i = 0; i < n; ++i)
            sum += A[min(row, n - 1) * n + i] * B[i * n + min(threadIdx.x, n - 1)];
        C[row * n + column] = row < n ? sum : 1;
    }}
    """)
    lines = mmcore("check", str(path), "--block", "16x16", "--size", "17" if "%" not in column else "16").output
    assert hint in lines, lines
    assert lines.count("  try ") == 1

"""``mmcore prove``: the outcome, its reason with the line, and the exit status."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mmcore.cell import Cell
from mmcore_emulator.adapter.device import Emulator
from mmcore_emulator.adapter.proof import NOT_PROVED, PROVED, WRONG, Proof, prove_cell
from tests.command_line import mmcore
from tests.wrong_kernels import RIGHT, kernel

TERM = "sum += A[row * k + p] * B[p * n + column];"
STORE = "C[row * n + column] = sum;"
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
    changes = [change, ('extern "C"', '#include <cuda_bf16.h>\nextern "C"')] if name == "bfloat16" else [change]
    made = proof(tmp_path, *changes)
    assert made.outcome == NOT_PROVED
    first = made.reasons[0]
    assert first.kind in kinds
    assert first.line == (line and line + len(changes) - 1)


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
        assert (result.exit_code, result.stdout.splitlines()[-1]) == (status, outcome.upper())
        if outcome == NOT_PROVED:
            assert f"own.cu:9\n    {SKIPS}\n" in result.stdout
    document = json.loads(mmcore("prove", str(path), "--size", "16", "--json").stdout)
    assert (document["outcome"], document["reasons"][0]["line"]) == (NOT_PROVED, 9)

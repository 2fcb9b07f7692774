"""Proofs of kernels that are wrong for a few values, or right in an unusual way."""

from __future__ import annotations

from pathlib import Path

import pytest

from mmcore.cell import Cell
from mmcore_emulator.adapter.device import Emulator
from mmcore_emulator.adapter.proof import PROVED, WRONG, Proof, prove_cell
from tests.emulator.proof_corpus import SIZES, kernel, read

RIGHT, WRONG_KERNELS = read("right"), read("wrong")


def proof(folder: Path, title: str, macros: dict[str, str]) -> Proof:
    """Return the proof of a kernel of the corpus."""
    return prove_cell(Cell("tests.own", *SIZES, seed=1), Emulator(), kernel(folder, title, macros))


@pytest.mark.parametrize("title", WRONG_KERNELS)
def test_a_wrong_kernel_is_not_proved(title: str, tmp_path: Path) -> None:
    made = proof(tmp_path, title, WRONG_KERNELS[title])
    assert made.outcome != PROVED
    assert made.outcome == WRONG or made.reasons


@pytest.mark.parametrize("title", RIGHT)
def test_a_right_kernel_is_proved_or_not_for_its_reason(title: str, tmp_path: Path) -> None:
    made, reason = proof(tmp_path, title, RIGHT[title]), RIGHT[title].get("reason")
    assert made.outcome != WRONG
    assert made.outcome == PROVED or (reason and any(reason in each.message for each in made.reasons)), made.reasons

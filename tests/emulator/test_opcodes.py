"""Opcodes compute what the tables in opcodes/ say, to the bit.

A line such as ``add.sat.<f32|f64> | 0.75 0.75 = 1 | -0.75 0.25 = 0x0`` has opcodes, as templates, and their cases.
Operands and results are numbers of the opcode's types, as Python expressions without blanks, or bits (0x…).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.emulation import computed
from tests.emulator.numbers import bits_of, types_of, width
from tests.emulator.templates import expanded

TABLES = Path(__file__).parent / "opcodes"


def cases() -> Iterator[Any]:
    """Yield the opcode and the text of every case."""
    for path in sorted(TABLES.glob("*.txt")):
        for line in path.read_text(encoding="utf-8").splitlines():
            opcodes, *texts = line.partition("#")[0].strip().split(" | ")
            for opcode in expanded(opcodes):
                yield from (pytest.param(opcode, text, id=f"{opcode} | {text}") for text in texts)


def bits(text: str, kind: str) -> int:
    """Return the bits of a number of a type."""
    number = eval(text, {"inf": math.inf, "nan": math.nan})
    if kind in ("f16", "bf16", "f32", "f64") and "0x" not in text:
        return bits_of(float(number), kind)
    return int(int(number) & (2 ** width(kind) - 1))


@pytest.mark.parametrize(("opcode", "case"), list(cases()))
def test_an_opcode_computes_its_cases(opcode: str, case: str) -> None:
    types, result = types_of(opcode)
    operands, _, expected = case.partition(" = ")
    found = computed(opcode, *(bits(text, kind) for text, kind in zip(operands.split(), types, strict=True)))[0]
    assert [hex(each) for each in found.tolist()] == [hex(bits(expected, result))]


def test_a_comparison_of_pairs_sets_a_predicate_for_each_half() -> None:
    """The pairs are (1, 0.5), (NaN, 3), (-0, 0) and (2, NaN), the lower half first."""
    pairs = [0x38003C00, 0x42007E00, 0x00008000, 0x7E004000]
    first, second = computed("setp.leu.f16x2", pairs, [0x3C003C00] * 4, results=2)
    assert first.tolist() == [True, True, True, False]
    assert second.tolist() == [True, False, True, True]

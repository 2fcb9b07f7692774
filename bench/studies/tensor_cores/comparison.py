"""The comparison of a GPU's results with the emulator's, and vectors of dot products."""

from __future__ import annotations

import base64
import zlib
from typing import Any

import numpy as np

from bench.studies.tensor_cores.numbers import Case, Values, operands, unsigned
from mmcore_emulator.tensor_cores.arithmetic import Arithmetic, arithmetic_of
from mmcore_emulator.tensor_cores.elements import values
from mmcore_emulator.tensor_cores.summation import multiply_add

#: Dot products of each case and kind in the file of vectors.
KEPT = 128
CAPABILITY = (9, 0)


def arithmetic_for(case: Case) -> Arithmetic:
    """Return the emulator's arithmetic of an instruction."""
    return arithmetic_of(CAPABILITY, case.instruction, case.a, case.b, case.result, case.k, saturate=case.saturate)


def computed(case: Case, a: Values, b: Values, c: Values, arithmetic: Arithmetic) -> Values:
    """Return the bit patterns of A·B + C on the emulator."""
    result = multiply_add(values(a, case.a), values(b, case.b), values(c, case.result), arithmetic)
    return result.view(unsigned(case.result))


def compare(case: Case, kind: str, got: Values) -> dict[str, Any]:
    """Count the results that differ, and among them zeros of another sign and NaN of other bits; add an example."""
    a, b, c = operands(case, kind)
    expected = computed(case, a, b, c, arithmetic_for(case))
    differ = got != expected
    found: dict[str, Any] = {
        "dot products": got.size,
        "differ": int(differ.sum()),
        "signs of zeros": 0,
        "bits of NaN": 0,
    }
    if case.result != "s32":
        left, right = (values(each[differ], case.result) for each in (got, expected))
        found["signs of zeros"] = int(((left == 0) & (right == 0)).sum())
        found["bits of NaN"] = int((np.isnan(left) & np.isnan(right)).sum())
    for tile, row, column in np.argwhere(differ)[:1]:
        terms = {"a": a[tile, row], "b": b[tile, :, column], "c": c[tile, row, column]}
        results = {"gpu": got[tile, row, column], "emulator": expected[tile, row, column]}
        found["example"] = {name: [hex(each) for each in np.ravel(bits)] for name, bits in (terms | results).items()}
    return found


def packed(bits: Values) -> str:
    return base64.b85encode(zlib.compress(bits.tobytes(), 9)).decode()


def unpacked(text: str, dtype: np.dtype[Any], *shape: int) -> Values:
    return np.frombuffer(zlib.decompress(base64.b85decode(text)), dtype).reshape(shape)


def vector(case: Case, a: Values, b: Values, c: Values, d: Values) -> dict[str, Any]:
    """Return a few rows of dot products, packed."""
    rows = min(case.rows, KEPT // 8)
    tiles = KEPT // 8 // rows
    parts = a[:tiles, :rows], b[:tiles], c[:tiles, :rows], d[:tiles, :rows]
    return {"tiles": tiles, "rows": rows} | dict(zip("abcd", map(packed, parts), strict=True))


def from_vector(case: Case, vector: dict[str, Any]) -> tuple[Values, Values, Values, Values]:
    """Return the bit patterns of A, B, C and the result."""
    tiles, rows, result = vector["tiles"], vector["rows"], unsigned(case.result)
    return (
        unpacked(vector["a"], unsigned(case.a), tiles, rows, case.k),
        unpacked(vector["b"], unsigned(case.b), tiles, case.k, 8),
        unpacked(vector["c"], result, tiles, rows, 8),
        unpacked(vector["d"], result, tiles, rows, 8),
    )

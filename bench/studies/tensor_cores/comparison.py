"""The comparison of a GPU's results with the emulator's under each hypothesis, and vectors of dot products."""

from __future__ import annotations

import base64
import zlib
from dataclasses import replace
from typing import Any

import numpy as np

from bench.studies.tensor_cores.numbers import Case, Values, operands, unsigned
from mmcore_emulator.tensor_cores.arithmetic import NEVER, Arithmetic, arithmetic_of
from mmcore_emulator.tensor_cores.elements import values
from mmcore_emulator.tensor_cores.summation import multiply_add

#: Dot products of each case and kind in the file of vectors.
KEPT = 128
EXAMPLES = 8
CAPABILITY = (9, 0)
ZEROS = {"0 at 2^-126": -126, "0 at its least": None, "0 never": NEVER}
ZEROS_OF_C = {"C = 0 at its least": None, "C = 0 never": NEVER}


def hypotheses(case: Case) -> dict[str, Arithmetic]:
    """Return the arithmetics that the instruction may have, by name."""
    usual = arithmetic_of(CAPABILITY, case.instruction, case.a, case.b, case.result, case.k, saturate=case.saturate)
    if usual.result in ("s32", "f64"):
        return {"exact": usual}
    made = {
        f"{name}, {name_of_c}": replace(usual, zero=zero, zero_of_c=zero_of_c)
        for name, zero in ZEROS.items()
        for name_of_c, zero_of_c in ZEROS_OF_C.items()
    }
    if usual.kept == 13 and usual.result == "f16":
        made |= {f"{name}, float22 first": replace(each, result="f16 of float22") for name, each in made.items()}
    return made


def computed(case: Case, a: Values, b: Values, c: Values, arithmetic: Arithmetic) -> Values:
    """Return the bit patterns of A·B + C on the emulator."""
    result = multiply_add(values(a, case.a), values(b, case.b), values(c, case.result), arithmetic)
    return result.view(unsigned(case.result))


def compare(case: Case, kind: str, got: Values) -> dict[str, Any]:
    """Return the number of results that differ by hypothesis, and examples of the best hypothesis."""
    a, b, c = operands(case, kind)
    found = {name: computed(case, a, b, c, each) for name, each in hypotheses(case).items()}
    counts = {name: _differences(case, got, each) for name, each in found.items()}
    best = min(counts, key=lambda name: (counts[name]["differ"], name))
    places = np.argwhere(got != found[best])[:EXAMPLES].tolist()
    examples = [
        {
            "a": _hex(a[tile, row]),
            "b": _hex(b[tile, :, column]),
            "c": _hex(c[tile, row, column]),
            "gpu": _hex(got[tile, row, column]),
            "emulator": _hex(found[best][tile, row, column]),
        }
        for tile, row, column in places
    ]
    return {"dot products": got.size, "hypotheses": counts, "best": best, "examples": examples}


def _differences(case: Case, got: Values, expected: Values) -> dict[str, int]:
    """Return the number of differing results, of zeros with another sign, and of NaN with other bits."""
    differ = got != expected
    if case.result == "s32":
        return {"differ": int(differ.sum())}
    left, right = (values(each[differ], case.result) for each in (got, expected))
    zeros, nan = (left == 0) & (right == 0), np.isnan(left) & np.isnan(right)
    return {"differ": int(differ.sum()), "signs of zeros": int(zeros.sum()), "bits of NaN": int(nan.sum())}


def _hex(bits: Values) -> str:
    width = bits.dtype.itemsize * 2
    return " ".join(f"{int(each):0{width}x}" for each in np.atleast_1d(bits))


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

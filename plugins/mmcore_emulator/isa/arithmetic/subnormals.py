"""Instructions with ``.ftz``, to which subnormal float32 numbers, given or made, are zeros of their sign.

A result is subnormal if it is below the least normal number 2^-126 once it is rounded to 24 bits, as if there were
smaller exponents: so has NVIDIA's assembler it where it works out an instruction itself. A few results are then zero
although without ``.ftz`` they round up to 2^-126.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from mmcore_emulator.isa.entries import Compute
from mmcore_emulator.numerics.floats import LEAST_NORMAL, Values, flushed
from mmcore_emulator.numerics.rounding import EXACT

Exact: TypeAlias = Callable[..., tuple[Values, Values]]

# From here on 24 bits round up to 2^-126, though there were smaller exponents; without them, from 2^-126 - 2^-150 on.
_LEAST_ROUNDED_UP = 2.0**-126 - 2.0**-151
# Beyond this they do so where they are not rounded to nearest.
_LARGEST_BELOW = 2.0**-126 - 2.0**-150
_NOTHING = np.zeros(())


def flushing(name: str, plain: Compute, *, nearest: bool = True) -> Compute | None:
    """What ``name`` computes with .ftz, and ``plain`` without; None where there is no such instruction.

    ``nearest`` says that it rounds to nearest.
    """
    if name not in _FLUSHING or "f32" not in (*plain.sources, plain.result):
        return None
    exact = _FLUSHING[name]

    def compute(*sources: Values) -> Values:
        kinds = zip(sources, plain.sources, strict=True)
        operands = [flushed(each) if kind == "f32" else each for each, kind in kinds]
        result = plain.compute(*operands)
        if plain.result != "f32":
            return np.asarray(result)
        least = np.abs(result) == LEAST_NORMAL
        if exact is not None and least.any():
            short = _falls_short(*exact(*(each.astype(np.float64) for each in operands)), nearest=nearest)
            result = np.where(least & short, np.copysign(np.float32(0), result), result)
        return flushed(result)

    return Compute(compute, plain.sources, plain.result)


def _falls_short(high: Values, low: Values, *, nearest: bool) -> Values:
    """Where the sum of two float64, of which the second tells only between equals, does not round up to 2^-126."""
    magnitude, rest = np.abs(high), np.where(np.signbit(high), -low, low)
    if nearest:
        return np.asarray((magnitude < _LEAST_ROUNDED_UP) | ((magnitude == _LEAST_ROUNDED_UP) & (rest < 0)))
    return np.asarray((magnitude < _LARGEST_BELOW) | ((magnitude == _LARGEST_BELOW) & (rest <= 0)))


def _same(a: Values) -> tuple[Values, Values]:
    return a, _NOTHING


# How to know a result exactly that may have been rounded up; None where none is.
_FLUSHING: dict[str, Exact | None] = {
    **dict.fromkeys(("add", "sub", "min", "max", "abs", "neg", "sqrt", "setp", "set")),
    **{name: EXACT[name] for name in ("mul", "fma", "mad", "div", "rcp")},
    "cvt": _same,
}

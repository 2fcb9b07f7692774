"""Instructions with ``.ftz``: subnormal float32 operands and results become zeros of their sign.

A result counts as subnormal if it is below the least normal number 2^-126 after rounding to 24 bits with an unbounded
exponent. NVIDIA's assembler does the same when it evaluates an instruction. A few results therefore become zero
although they round up to 2^-126 without ``.ftz``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from mmcore_emulator.isa.entries import Compute
from mmcore_emulator.numerics.floats import LEAST_NORMAL, Values, flushed
from mmcore_emulator.numerics.rounding import EXACT

Exact: TypeAlias = Callable[..., tuple[Values, Values]]

# From here on, 24 bits with an unbounded exponent round up to 2^-126; a bounded one does so from 2^-126 - 2^-150 on.
_LEAST_ROUNDED_UP = 2.0**-126 - 2.0**-151
# Beyond this, numbers round up to 2^-126 in the other rounding modes.
_LARGEST_BELOW = 2.0**-126 - 2.0**-150
_NOTHING = np.zeros(())


def flushing(name: str, plain: Compute, *, nearest: bool = True) -> Compute | None:
    """Return the semantics of ``name`` with .ftz, from ``plain`` without; None if there is no such instruction.

    ``nearest`` is true if it rounds to nearest.
    """
    if name not in _FLUSHING or "f32" not in (*plain.sources, plain.result):
        return None
    exact = _FLUSHING[name]

    def compute(*sources: Values) -> Values:
        kinds = zip(sources, plain.sources, strict=True)
        operands = [flushed(operand) if kind == "f32" else operand for operand, kind in kinds]
        result = plain.compute(*operands)
        if plain.result != "f32":
            return np.asarray(result)
        least = np.abs(result) == LEAST_NORMAL
        if exact is not None and least.any():
            short = _falls_short(*exact(*(operand.astype(np.float64) for operand in operands)), nearest=nearest)
            result = np.where(least & short, np.copysign(np.float32(0), result), result)
        return flushed(result)

    return Compute(compute, plain.sources, plain.result)


def _falls_short(high: Values, low: Values, *, nearest: bool) -> Values:
    """Return True where ``high`` + ``low`` does not round up to 2^-126; ``low`` only decides between equals."""
    magnitude, rest = np.abs(high), np.where(np.signbit(high), -low, low)
    if nearest:
        return np.asarray((magnitude < _LEAST_ROUNDED_UP) | ((magnitude == _LEAST_ROUNDED_UP) & (rest < 0)))
    return np.asarray((magnitude < _LARGEST_BELOW) | ((magnitude == _LARGEST_BELOW) & (rest <= 0)))


def _same(a: Values) -> tuple[Values, Values]:
    return a, _NOTHING


# The exact form of results that may have been rounded up; None if none may.
_FLUSHING: dict[str, Exact | None] = {
    **dict.fromkeys(("add", "sub", "min", "max", "abs", "neg", "sqrt", "setp", "set")),
    **{name: EXACT[name] for name in ("mul", "fma", "mad", "div", "rcp")},
    "cvt": _same,
}

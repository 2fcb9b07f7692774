"""What opcodes compute, asked without a launch, and numbers to ask with."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mmcore_emulator.isa.table import operation
from mmcore_emulator.numerics.floats import from_bfloat16, to_bfloat16
from mmcore_emulator.numerics.types import NUMPY

RNG = np.random.default_rng(11)


def computed(opcode: str, *operands: Any) -> Any:
    """What an opcode makes of numbers, given as the bits of their types; an integer, or several."""
    found = operation(tuple(opcode.split(".")), 2 if "|" in opcode else 1)
    assert found is not None, opcode
    sources = []
    for value, kind in zip(operands, found.sources, strict=True):
        dtype = NUMPY[kind]
        bits = np.asarray(value, np.uint64)
        sources.append(bits.astype(np.bool_) if kind == "pred" else bits.astype(f"u{dtype.itemsize}").view(dtype))
    with np.errstate(all="ignore"):
        result = np.asarray(found.compute(*map(np.atleast_1d, sources)))
    assert result.dtype == NUMPY[found.result], (opcode, result.dtype)
    return result.view(f"u{result.itemsize}").astype(np.uint64)


def drawn(bits: int, count: int = 400) -> list[int]:
    """Whole numbers of so many bits: any, small ones, and those with few significant bits."""
    every = (
        RNG.integers(0, 2**bits, count, np.uint64, endpoint=False)
        if bits < 64
        else RNG.integers(0, 2**64, count, np.uint64)
    )
    kept = RNG.integers(0, bits, count).astype(np.uint64)
    numbers = np.where(RNG.random(count) < 0.4, every >> kept, every)
    return [int(each) for each in numbers] + [0, 1, 2**bits - 1, 2 ** (bits - 1), 2 ** (bits - 1) - 1]


def signed(number: int, bits: int) -> int:
    return number - 2**bits if number >> (bits - 1) else number


def clamp(number: int, low: int, high: int) -> int:
    return max(low, min(high, number))


def value(bits: int, kind: str) -> float:
    if kind == "bf16":
        return float(from_bfloat16(np.array([bits], np.uint16))[0])
    return float(np.array([bits], f"u{NUMPY[kind].itemsize}").view(NUMPY[kind])[0])


def bits_of(number: float, kind: str) -> int:
    if math.isnan(number):
        return {2: 0x7FFF, 4: 0x7FFFFFFF}[NUMPY[kind].itemsize]
    if kind == "bf16":
        return int(to_bfloat16(np.array([number], np.float32))[0])
    with np.errstate(over="ignore"):
        return int(np.array([number], NUMPY[kind]).view(f"u{NUMPY[kind].itemsize}")[0])

"""Instructions on bits, which may move whole bytes of matrix elements: shifts, permutations, masks.

A trial with test patterns shows if an instruction moves bytes: each byte of the result must be one of the pattern's, or
must not depend on it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from itertools import combinations

import numpy as np

from mmcore_emulator.isa.entries import Compute
from mmcore_emulator.numerics.types import DType, Values
from mmcore_emulator.proof.polynomials import opaque_of
from mmcore_emulator.proof.table import Table
from mmcore_emulator.proof.tokens import PLANES
from mmcore_emulator.proof.values import Bytes, Elements, Shadow
from mmcore_emulator.ptx.instructions import Instruction

_PATTERNS = (0x5A, 0xA5)
# The operands that may be elements, of instructions whose further operands are numbers of bits.
_TEXT = "combines or cuts bits of matrix elements"


def moved_bits(
    table: Table, semantics: Compute, at: Instruction, values: Sequence[Values], shadows: Sequence[Shadow]
) -> Shadow:
    """Return the second value of an instruction on bits: the bytes that it moves, or an opaque element."""
    given = [shadow for shadow in shadows if shadow is not None]
    if any(isinstance(shadow, Elements) and shadow.kind == "pred" for shadow in given) or semantics.result == "pred":
        return opaque_of(table, at, given, semantics.result)
    data = semantics.data or len(shadows)
    if any(shadow is not None and table.dependent(shadow).any() for shadow in shadows[data:]):
        return opaque_of(table, at, given, semantics.result, "moves bits by a value of a matrix")
    pairs = list(zip(shadows, values, strict=True))
    held = [None if each is None else table.bytes(each, value.dtype) for each, value in pairs]
    unused: list[Values] = [np.zeros((1,) * 6, _bits(value.dtype)) for value in values]
    used = [none if each is None else each.used for each, none in zip(held, unused, strict=True)]
    plain: list[Values] = [_bits_of(value) & ~mask for value, mask in zip(values, used, strict=True)]

    def made(patterns: Sequence[Values]) -> Values:
        operands = [
            (each | pattern & mask).view(value.dtype)
            for each, pattern, mask, value in zip(plain, patterns, used, values, strict=True)
        ]
        return _bits_of(np.asarray(semantics.compute(*operands)))

    nothing: list[Values] = [np.zeros((1,) * 6, each.dtype) for each in plain]
    base = made(nothing)
    every: list[Values] = [~none for none in nothing]
    moved: list[Values] = [np.zeros_like(base) for _ in held]
    dependent = np.zeros_like(base)
    moves = np.ones(base.shape, np.bool_)
    for number, shadow in enumerate(held):
        if shadow is None:
            continue
        for parity in range(2):
            found = []
            for byte in _PATTERNS:
                pattern = _repeated(byte, parity, plain[number].dtype)
                changed = made([pattern if place == number else none for place, none in enumerate(nothing)]) ^ base
                octets = _octets(changed)
                moves = moves & ((octets == 0) | (octets == byte)).all(axis=-1)
                found.append(_mask(octets))
            moves = moves & (found[0] == found[1]) & ((found[0] & dependent) == 0) & ((found[0] & base) == 0)
            dependent, moved[number] = dependent | found[0], moved[number] | found[0]
    # Bitwise functions of several elements are the same for all values if they are for all combinations of bits.
    places = [place for place, shadow in enumerate(held) if shadow is not None]
    for count in range(1, len(places) + 1):
        for several in combinations(places, count):
            ones = [every[place] if place in several else none for place, none in enumerate(nothing)]
            expected = reduce(np.bitwise_or, (moved[place] for place in several))
            moves = moves & ((made(ones) ^ base) == expected)
    opaque = None if moves.all() else opaque_of(table, at, given, f"u{8 * base.itemsize}", _TEXT)
    if not moves.any():
        return opaque
    planes = [
        made([nothing[place] if each is None else each.planes[rank] for place, each in enumerate(held)]) & dependent
        for rank in range(PLANES)
    ]
    if opaque is not None:
        others = table.bytes(opaque, base.dtype).planes
        planes = [np.where(moves, plane, other) for plane, other in zip(planes, others, strict=True)]
    return Bytes(tuple(planes)) if any(plane.any() for plane in planes) else None


def _bits(dtype: DType) -> DType:
    return np.dtype(f"u{dtype.itemsize}")


def _bits_of(value: Values) -> Values:
    return value.view(_bits(value.dtype))


def _octets(values: Values) -> Values:
    return np.ascontiguousarray(values)[..., np.newaxis].view(np.uint8)


def _mask(octets: Values) -> Values:
    return np.where(octets != 0, np.uint8(0xFF), np.uint8(0)).view(f"u{octets.shape[-1]}")[..., 0]


def _repeated(byte: int, parity: int, bits: DType) -> Values:
    """Return a pattern with ``byte`` in its even or odd bytes."""
    octets = bytes(byte if place % 2 == parity else 0 for place in range(bits.itemsize))
    return np.full((1,) * 6, np.frombuffer(octets, bits)[0])

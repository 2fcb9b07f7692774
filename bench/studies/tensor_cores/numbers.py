"""Instructions of tensor cores, and kinds of numbers that distinguish hypotheses about them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mmcore_emulator.tensor_cores.arithmetic import LEAST_EXPONENTS

Values = NDArray[Any]
Operands = tuple[Values, Values, Values]
Make = Callable[["Draw"], Operands]

#: For each case, spread over its kinds: a million and more.
DOT_PRODUCTS = 3 << 20
#: For float64, which is slower: its fused multiply-add takes exact fractions at the ends of its range.
DOT_PRODUCTS_OF_F64 = 3 << 19
BITS = {"f16": 16, "bf16": 16, "tf32": 32, "e4m3": 8, "e5m2": 8, "s8": 8, "u8": 8, "f32": 32, "s32": 32, "f64": 64}
#: Bits of exponent and fraction; tf32 fills a register, and tensor cores ignore its low 13 bits.
FORMATS = {
    "f16": (5, 10),
    "bf16": (8, 7),
    "tf32": (8, 23),
    "e4m3": (4, 3),
    "e5m2": (5, 2),
    "f32": (8, 23),
    "f64": (11, 52),
}


@dataclass(frozen=True)
class Case:
    """An instruction: types of A, of B, and of C and the result, and the length of a dot product."""

    instruction: str
    a: str
    b: str
    result: str
    k: int
    saturate: bool = False

    @property
    def rows(self) -> int:
        return 64 if self.instruction == "wgmma" else 8 if self.a == "f64" else 16

    @property
    def shape(self) -> str:
        return f"m{self.rows}n8k{self.k}"

    @property
    def types(self) -> str:
        return f"{self.result}.{self.a}.{self.b}"

    @property
    def name(self) -> str:
        return f"{self.instruction} {self.shape} {self.types}{'.satfinite' if self.saturate else ''}"


_MMA = """f16 f16 f32 16; f16 f16 f32 8; f16 f16 f16 16; f16 f16 f16 8; bf16 bf16 f32 16; bf16 bf16 f32 8;
tf32 tf32 f32 8; tf32 tf32 f32 4; e4m3 e4m3 f32 32; e5m2 e5m2 f32 32; e4m3 e5m2 f32 16; e4m3 e4m3 f16 32;
e5m2 e5m2 f16 16; s8 s8 s32 32; u8 u8 s32 32; s8 u8 s32 16; s8 s8 s32 32 satfinite; f64 f64 f64 4"""
_WGMMA = """f16 f16 f32 16; f16 f16 f16 16; bf16 bf16 f32 16; tf32 tf32 f32 8; e4m3 e4m3 f32 32; e5m2 e5m2 f32 32;
e4m3 e5m2 f32 32; e4m3 e4m3 f16 32; e5m2 e5m2 f16 32; s8 s8 s32 32; u8 u8 s32 32; s8 s8 s32 32 satfinite"""


def _cases(instruction: str, table: str) -> Iterator[Case]:
    """Yield the cases of a table: types of A, B and the result, and k."""
    for row in table.split(";"):
        a, b, result, k, *saturate = row.split()
        yield Case(instruction, a, b, result, int(k), bool(saturate))


CASES = (*_cases("mma", _MMA), *_cases("wgmma", _WGMMA))


class Draw:
    """Random operands of a case: bit patterns of A [W, M, K], B [W, K, 8] and C [W, M, 8]."""

    def __init__(self, case: Case, seed: Sequence[int], dot_products: int) -> None:
        self.case = case
        self.rng = np.random.default_rng(seed)
        tiles = -(-dot_products // (case.rows * 8))
        self.shapes = (tiles, case.rows, case.k), (tiles, case.k, 8), (tiles, case.rows, 8)
        self.kinds = case.a, case.b, case.result

    def any_bits(self) -> Operands:
        """Return every bit pattern with the same probability."""
        drawn = [
            self.rng.integers(0, 2 ** BITS[kind], shape, np.uint64, endpoint=False).astype(unsigned(kind))
            if BITS[kind] < 64
            else self.rng.integers(0, 2**64 - 1, shape, np.uint64, endpoint=True)
            for kind, shape in zip(self.kinds, self.shapes, strict=True)
        ]
        return drawn[0], drawn[1], drawn[2]

    def numbers(self, *exponents: Values, significant: int = 52) -> Operands:
        """Return finite numbers with these exponents and ``significant`` random bits of fraction."""
        drawn = [self.number(kind, each, significant) for kind, each in zip(self.kinds, exponents, strict=True)]
        return drawn[0], drawn[1], drawn[2]

    def number(self, kind: str, exponents: Values, significant: int = 52) -> Values:
        """Return bit patterns of finite numbers; exponents beyond the type's range become its ends."""
        exponent_bits, fraction_bits = FORMATS[kind]
        top = (1 << exponent_bits) - (1 if kind == "e4m3" else 2)
        biased = np.clip(exponents + ((1 << (exponent_bits - 1)) - 1), 0, top).astype(np.uint64)
        fraction = self.rng.integers(0, 1 << fraction_bits, exponents.shape, np.uint64)
        dropped = np.uint64(max(0, fraction_bits - significant))
        fraction = fraction >> dropped << dropped
        if kind == "e4m3":  # all ones is its NaN
            fraction = np.where((biased == top) & (fraction == 7), np.uint64(6), fraction)
        sign = self.rng.integers(0, 2, exponents.shape, np.uint64) << np.uint64(exponent_bits + fraction_bits)
        bits: Values = sign | biased << np.uint64(fraction_bits) | fraction
        return bits.astype(unsigned(kind))

    def uniform(self, operand: int, low: int, high: int) -> Values:
        """Return exponents between ``low`` and ``high``, both included."""
        return self.rng.integers(low, high, self.shapes[operand], endpoint=True)

    def of_normal(self, operand: int, scale: float = 1.0) -> Values:
        """Return exponents of normally distributed numbers."""
        return np.frexp(self.rng.standard_normal(self.shapes[operand]) * scale)[1] - 1

    def chosen(self, operand: int, probability: float) -> Values:
        return self.rng.random(self.shapes[operand]) < probability

    def signs(self, operand: int) -> Values:
        """Return bit patterns of zeros of either sign."""
        kind = self.kinds[operand]
        return self.rng.integers(0, 2, self.shapes[operand], np.uint64).astype(unsigned(kind)) << (BITS[kind] - 1)

    def least(self, operand: int) -> int:
        return -1022 if self.kinds[operand] == "f64" else LEAST_EXPONENTS[self.kinds[operand]]

    def top(self, operand: int) -> int:
        """Return the largest exponent of the type."""
        exponent_bits = FORMATS[self.kinds[operand]][0]
        return int((1 << (exponent_bits - 1)) - (0 if self.kinds[operand] == "e4m3" else 1))

    def with_zeros(self, operands: Operands, *probabilities: float) -> Operands:
        a, b, c = (
            np.where(self.chosen(index, probability), self.signs(index), each)
            for index, (each, probability) in enumerate(zip(operands, probabilities, strict=True))
        )
        return a, b, c


def unsigned(kind: str) -> np.dtype[Any]:
    return np.dtype(f"u{BITS[kind] // 8}")


def _normal(draw: Draw) -> Operands:
    return draw.numbers(draw.of_normal(0), draw.of_normal(1), draw.of_normal(2, draw.case.k**0.5))


def _uniform(*ranges: tuple[int, int], significant: int = 52) -> Make:
    """Return a function that draws exponents of A, B and C from these ranges."""
    return lambda draw: draw.numbers(
        *(draw.uniform(operand, *each) for operand, each in enumerate(ranges)), significant=significant
    )


_very_wide = _uniform((-75, 60), (-75, 60), (-149, 100))


def _subnormal(draw: Draw) -> Operands:
    """Return subnormal and least normal numbers in A or B, and in both where products would not vanish."""
    least = [draw.least(index) for index in range(3)]
    odd = (np.arange(draw.shapes[0][0]) % 2 == 1)[:, None, None]
    near = [draw.uniform(index, least[index] - 1, least[index] + 2) for index in (0, 1)]
    far = [draw.uniform(index, max(-25, 2 * least[index]), 10) for index in (0, 1)]
    if least[0] < -100:
        near = [np.where(odd, far[0], near[0]), np.where(odd, near[1], far[1])]
    lowest = max(least[0] + least[1], least[0] - 15)
    return draw.numbers(*near, draw.uniform(2, lowest - 20, lowest + 12))


def _tiny(draw: Draw) -> Operands:
    """Return numbers whose sums are near the least exponent of the alignment; C is mostly zero."""
    lowest = max(draw.least(0), -90), max(draw.least(1), -90)
    a, b, c = draw.numbers(
        draw.uniform(0, lowest[0] - 1, lowest[0] + 25), draw.uniform(1, lowest[1] - 1, lowest[1] + 25),
        draw.uniform(2, -160, -120)
    )  # fmt: skip
    return draw.with_zeros((a, b, c), 0, 0, 0.8)


def _cancellation(draw: Draw) -> Operands:
    """Return products whose second half is the opposite of the first, or nearly so."""
    a, b, c = draw.numbers(draw.uniform(0, -6, 6), draw.uniform(1, -6, 6), draw.uniform(2, -30, 0))
    half = draw.case.k // 2
    a[:, :, half:] = a[:, :, :half]
    b[:, half:] = b[:, :half] ^ unsigned(draw.case.b).type(1 << (BITS[draw.case.b] - 1))
    flipped = (draw.chosen(1, 0.03)[:, half:]).astype(b.dtype)
    # The lowest bit that tf32 does not ignore.
    b[:, half:] ^= flipped << (13 if draw.case.b == "tf32" else 0)
    return draw.with_zeros((a, b, c), 0, 0, 0.5)


def _cut_off(draw: Draw) -> Operands:
    """Return one large product in each row, and terms near the last bits that are kept beside it."""
    large = np.arange(draw.case.k) == draw.rng.integers(0, draw.case.k, (draw.shapes[0][0], draw.case.rows, 1))
    kept = draw.rng.choice([13, 23, 24, 25], (draw.shapes[0][0], draw.case.rows, 1))
    top = min(draw.top(0), 20)
    small = top - kept + draw.uniform(0, -3, 2)
    a, b, c = draw.numbers(
        np.where(large, top, small), draw.uniform(1, -1, 0), top - kept + draw.uniform(2, -3, 3), significant=3
    )
    return draw.with_zeros((a, b, c), 0.1, 0, 0.3)


def _least(draw: Draw) -> Operands:
    """Return one product of the least float32, or half the least float16, and products near its last bits."""
    place = draw.rng.integers(0, draw.case.k, (draw.shapes[0][0], 1, 1))
    large = np.arange(draw.case.k) == place, np.arange(draw.case.k)[:, None] == place
    exponents = ((-11, -14), (-14, -14)) if draw.case.result == "f16" else ((-70, -79), (-80, -72))
    a, b = (
        np.where(large[i], *(draw.number(draw.kinds[i], np.full(draw.shapes[i], each[i]), 0) for each in exponents))
        for i in (0, 1)
    )
    if draw.case.result == "f16":
        # Subnormal numbers of a few units.
        a, b = (
            np.where(
                large[i], each, draw.signs(i) | draw.rng.integers(0, (32, 4)[i], draw.shapes[i]).astype(each.dtype)
            )
            for i, each in enumerate((a, b))
        )
    else:
        a = np.where(large[0], a, draw.number(draw.case.a, draw.uniform(0, -92, -80), 2))
    return draw.with_zeros((a, b, draw.signs(2)), 0.1, 0, 1)


def _sparse(draw: Draw) -> Operands:
    """Return zeros opposite to large numbers, beside small ones."""
    return draw.with_zeros(_very_wide(draw), 0.6, 0.6, 0.5)


def _zeros(draw: Draw) -> Operands:
    """Return zeros of both signs, and few of the least numbers."""
    operands = draw.numbers(*(draw.uniform(index, draw.least(index) - 1, draw.least(index)) for index in range(3)))
    ones = draw.numbers(*(np.zeros(shape, np.int64) for shape in draw.shapes), significant=0)
    a, b, c = (np.where(draw.chosen(i, 0.5), operands[i], ones[i]) for i in range(3))
    return draw.with_zeros((a, b, c), 0.7, 0.7, 0.7)


def _overflow(draw: Draw) -> Operands:
    largest = draw.top(2)
    factors = [min(largest // 2 + 1, draw.top(index)) for index in (0, 1)]
    exponents = [draw.uniform(index, high - 3, high) for index, high in enumerate(factors)]
    return draw.numbers(*exponents, draw.uniform(2, largest - 5, largest))


def _special(draw: Draw) -> Operands:
    """Return infinities, NaN and zeros among normal numbers."""
    operands = list(draw.with_zeros(_normal(draw), 0.05, 0.05, 0.05))
    for index, kind in enumerate(draw.kinds):
        exponent_bits, fraction_bits = FORMATS[kind]
        special = draw.signs(index) | unsigned(kind).type(((1 << exponent_bits) - 1) << fraction_bits)
        infinite, nan = draw.chosen(index, 0.03), draw.chosen(index, 0.005)
        if kind == "e4m3":
            special, infinite, nan = special | 7, nan, nan
        operands[index] = np.where(infinite, special, operands[index])
        payload = draw.rng.integers(0, 1 << fraction_bits, draw.shapes[index], np.uint64).astype(unsigned(kind))
        operands[index] = np.where(nan, special | payload, operands[index])
    return operands[0], operands[1], operands[2]


def _extremes(draw: Draw) -> Operands:
    """Return the least and largest integers, and C near the ends of its range."""
    rng = draw.rng
    a, b = (
        rng.choice(np.array([0, 1, 127, 128, 129, 255], np.uint8), shape, p=[0.05, 0.05, 0.3, 0.3, 0.1, 0.2])
        for shape in draw.shapes[:2]
    )
    near = rng.integers(-600000, 600000, draw.shapes[2]) + rng.choice([-(2**31), 0, 2**31 - 1], draw.shapes[2])
    return a, b, np.clip(near, -(2**31), 2**31 - 1).astype(np.int32).view(np.uint32)


FLOATS: dict[str, Make] = {
    "any bits": Draw.any_bits,
    "normal": _normal,
    "wide": _uniform((-15, 15), (-15, 15), (-45, 35)),
    "very wide": _very_wide,
    # Their sums are exact, or ties of float16.
    "few bits": _uniform((-3, 3), (-3, 3), (-4, 8), significant=2),
    "subnormal": _subnormal,
    "tiny": _tiny,
    "cancellation": _cancellation,
    "cut off": _cut_off,
    "least": _least,
    "sparse": _sparse,
    "zeros": _zeros,
    "overflow": _overflow,
    "infinities and NaN": _special,
}
INTEGERS: dict[str, Make] = {"any bits": Draw.any_bits, "extremes": _extremes}


def kinds_of(case: Case) -> dict[str, Make]:
    return INTEGERS if case.result == "s32" else FLOATS


def operands(case: Case, kind: str, dot_products: int | None = None) -> Operands:
    """Return the operands of a case and kind, the same in every process."""
    if dot_products is None:
        dot_products = (DOT_PRODUCTS_OF_F64 if case.a == "f64" else DOT_PRODUCTS) // len(kinds_of(case))
    seed = [*case.name.encode(), 0, *kind.encode()]
    return kinds_of(case)[kind](Draw(case, seed, dot_products))

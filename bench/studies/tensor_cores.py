"""Tensor cores of the GPU at hand against the emulator's arithmetic of them, bit for bit.

``python -m bench.studies.tensor_cores RESULTS.json [VECTORS.json]`` runs ``mma`` and ``wgmma`` on an H200 over many
kinds of numbers and writes how many results differ under each hypothesis about zeros, and a few dot products of each
kind, which tests/emulator/tensor_cores/test_arithmetic.py checks on any machine.
"""

from __future__ import annotations

import base64
import json
import multiprocessing
import os
import sys
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from cuda.core import Device as Gpu
from cuda.core import Kernel, LaunchConfig, Program, ProgramOptions, launch
from numpy.typing import NDArray

from mmcore_cuda.guarded_memory import host_view
from mmcore_emulator.tensor_cores.arithmetic import LEAST_EXPONENTS, NEVER, Arithmetic, arithmetic_of
from mmcore_emulator.tensor_cores.elements import values
from mmcore_emulator.tensor_cores.summation import multiply_add

Values = NDArray[Any]
Operands = tuple[Values, Values, Values]
Make = Callable[["Draw"], Operands]

#: Of each case, spread over its kinds: a million and more.
DOT_PRODUCTS = 3 << 20
#: Of float64, whose fused multiply-add takes exact fractions at the ends of its range.
DOT_PRODUCTS_OF_F64 = 3 << 19
#: Of each case and kind, in the file of vectors.
KEPT = 128
EXAMPLES = 8
CAPABILITY = (9, 0)
BITS = {"f16": 16, "bf16": 16, "tf32": 32, "e4m3": 8, "e5m2": 8, "s8": 8, "u8": 8, "f32": 32, "s32": 32, "f64": 64}
#: Bits of exponent and fraction; tf32 fills a register, and its low 13 bits are to be ignored.
FORMATS = {
    "f16": (5, 10),
    "bf16": (8, 7),
    "tf32": (8, 23),
    "e4m3": (4, 3),
    "e5m2": (5, 2),
    "f32": (8, 23),
    "f64": (11, 52),
}
ZEROS = {"0 at 2^-126": -126, "0 at its least": None, "0 never": NEVER}
ZEROS_OF_C = {"C = 0 at its least": None, "C = 0 never": NEVER}


@dataclass(frozen=True)
class Case:
    """An instruction: types of A, of B, and of C and the result, and the products of one dot product."""

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


CASES = (
    Case("mma", "f16", "f16", "f32", 16),
    Case("mma", "f16", "f16", "f32", 8),
    Case("mma", "f16", "f16", "f16", 16),
    Case("mma", "f16", "f16", "f16", 8),
    Case("mma", "bf16", "bf16", "f32", 16),
    Case("mma", "bf16", "bf16", "f32", 8),
    Case("mma", "tf32", "tf32", "f32", 8),
    Case("mma", "tf32", "tf32", "f32", 4),
    Case("mma", "e4m3", "e4m3", "f32", 32),
    Case("mma", "e5m2", "e5m2", "f32", 32),
    Case("mma", "e4m3", "e5m2", "f32", 16),
    Case("mma", "e4m3", "e4m3", "f16", 32),
    Case("mma", "e5m2", "e5m2", "f16", 16),
    Case("mma", "s8", "s8", "s32", 32),
    Case("mma", "u8", "u8", "s32", 32),
    Case("mma", "s8", "u8", "s32", 16),
    Case("mma", "s8", "s8", "s32", 32, saturate=True),
    Case("mma", "f64", "f64", "f64", 4),
    Case("wgmma", "f16", "f16", "f32", 16),
    Case("wgmma", "f16", "f16", "f16", 16),
    Case("wgmma", "bf16", "bf16", "f32", 16),
    Case("wgmma", "tf32", "tf32", "f32", 8),
    Case("wgmma", "e4m3", "e4m3", "f32", 32),
    Case("wgmma", "e5m2", "e5m2", "f32", 32),
    Case("wgmma", "e4m3", "e5m2", "f32", 32),
    Case("wgmma", "e4m3", "e4m3", "f16", 32),
    Case("wgmma", "e5m2", "e5m2", "f16", 32),
    Case("wgmma", "s8", "s8", "s32", 32),
    Case("wgmma", "u8", "u8", "s32", 32),
    Case("wgmma", "s8", "s8", "s32", 32, saturate=True),
)


# Numbers


class Draw:
    """Random operands of a case: bit patterns of A [W, M, K], B [W, K, 8] and C [W, M, 8]."""

    def __init__(self, case: Case, seed: Sequence[int], dot_products: int) -> None:
        self.case = case
        self.rng = np.random.default_rng(seed)
        tiles = -(-dot_products // (case.rows * 8))
        self.shapes = (tiles, case.rows, case.k), (tiles, case.k, 8), (tiles, case.rows, 8)
        self.kinds = case.a, case.b, case.result

    def any_bits(self) -> Operands:
        """Every bit pattern, as likely as any other."""
        drawn = [
            self.rng.integers(0, 2 ** BITS[kind], shape, np.uint64, endpoint=False).astype(_unsigned(kind))
            if BITS[kind] < 64
            else self.rng.integers(0, 2**64 - 1, shape, np.uint64, endpoint=True)
            for kind, shape in zip(self.kinds, self.shapes, strict=True)
        ]
        return drawn[0], drawn[1], drawn[2]

    def numbers(self, *exponents: Values, significant: int = 52) -> Operands:
        """Finite numbers with such exponents and ``significant`` random bits of fraction."""
        drawn = [self.number(kind, each, significant) for kind, each in zip(self.kinds, exponents, strict=True)]
        return drawn[0], drawn[1], drawn[2]

    def number(self, kind: str, exponents: Values, significant: int = 52) -> Values:
        """Bit patterns of finite numbers: exponents beyond the type's range become its ends."""
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
        return bits.astype(_unsigned(kind))

    def uniform(self, operand: int, low: int, high: int) -> Values:
        """Exponents between ``low`` and ``high``, both included."""
        return self.rng.integers(low, high, self.shapes[operand], endpoint=True)

    def of_normal(self, operand: int, scale: float = 1.0) -> Values:
        """Exponents of normally distributed numbers."""
        return np.frexp(self.rng.standard_normal(self.shapes[operand]) * scale)[1] - 1

    def chosen(self, operand: int, probability: float) -> Values:
        return self.rng.random(self.shapes[operand]) < probability

    def signs(self, operand: int) -> Values:
        """Bit patterns of zeros of either sign."""
        kind = self.kinds[operand]
        return self.rng.integers(0, 2, self.shapes[operand], np.uint64).astype(_unsigned(kind)) << (BITS[kind] - 1)

    def least(self, operand: int) -> int:
        return -1022 if self.kinds[operand] == "f64" else LEAST_EXPONENTS[self.kinds[operand]]

    def top(self, operand: int) -> int:
        """The largest exponent of the type."""
        exponent_bits = FORMATS[self.kinds[operand]][0]
        return int((1 << (exponent_bits - 1)) - (0 if self.kinds[operand] == "e4m3" else 1))

    def with_zeros(self, operands: Operands, *probabilities: float) -> Operands:
        a, b, c = (
            np.where(self.chosen(index, probability), self.signs(index), each)
            for index, (each, probability) in enumerate(zip(operands, probabilities, strict=True))
        )
        return a, b, c


def _unsigned(kind: str) -> np.dtype[Any]:
    return np.dtype(f"u{BITS[kind] // 8}")


def _normal(draw: Draw) -> Operands:
    return draw.numbers(draw.of_normal(0), draw.of_normal(1), draw.of_normal(2, draw.case.k**0.5))


def _wide(draw: Draw) -> Operands:
    return draw.numbers(draw.uniform(0, -15, 15), draw.uniform(1, -15, 15), draw.uniform(2, -45, 35))


def _very_wide(draw: Draw) -> Operands:
    return draw.numbers(draw.uniform(0, -75, 60), draw.uniform(1, -75, 60), draw.uniform(2, -149, 100))


def _few_bits(draw: Draw) -> Operands:
    """Sums that are exact, or ties of float16."""
    return draw.numbers(draw.uniform(0, -3, 3), draw.uniform(1, -3, 3), draw.uniform(2, -4, 8), significant=2)


def _subnormal(draw: Draw) -> Operands:
    """A or B of subnormal and of the smallest normal numbers; the other too where products would not vanish."""
    least = [draw.least(index) for index in range(3)]
    odd = (np.arange(draw.shapes[0][0]) % 2 == 1)[:, None, None]
    near = [draw.uniform(index, least[index] - 1, least[index] + 2) for index in (0, 1)]
    far = [draw.uniform(index, max(-25, 2 * least[index]), 10) for index in (0, 1)]
    if least[0] < -100:
        near = [np.where(odd, far[0], near[0]), np.where(odd, near[1], far[1])]
    lowest = max(least[0] + least[1], least[0] - 15)
    return draw.numbers(*near, draw.uniform(2, lowest - 20, lowest + 12))


def _tiny(draw: Draw) -> Operands:
    """Sums about the least exponent that all are aligned to; C is mostly zero."""
    lowest = max(draw.least(0), -90), max(draw.least(1), -90)
    a, b, c = draw.numbers(
        draw.uniform(0, lowest[0] - 1, lowest[0] + 25), draw.uniform(1, lowest[1] - 1, lowest[1] + 25),
        draw.uniform(2, -160, -120)
    )  # fmt: skip
    return draw.with_zeros((a, b, c), 0, 0, 0.8)


def _cancellation(draw: Draw) -> Operands:
    """Every product of the second half is the opposite of one of the first, or nearly so."""
    a, b, c = draw.numbers(draw.uniform(0, -6, 6), draw.uniform(1, -6, 6), draw.uniform(2, -30, 0))
    half = draw.case.k // 2
    a[:, :, half:] = a[:, :, :half]
    b[:, half:] = b[:, :half] ^ _unsigned(draw.case.b).type(1 << (BITS[draw.case.b] - 1))
    flipped = (draw.chosen(1, 0.03)[:, half:]).astype(b.dtype)
    # The lowest bit that tf32 does not ignore.
    b[:, half:] ^= flipped << (13 if draw.case.b == "tf32" else 0)
    return draw.with_zeros((a, b, c), 0, 0, 0.5)


def _cut_off(draw: Draw) -> Operands:
    """One large product in each row, and terms about the last bits that are kept beside it."""
    large = np.arange(draw.case.k) == draw.rng.integers(0, draw.case.k, (draw.shapes[0][0], draw.case.rows, 1))
    kept = draw.rng.choice([13, 23, 24, 25], (draw.shapes[0][0], draw.case.rows, 1))
    top = min(draw.top(0), 20)
    small = top - kept + draw.uniform(0, -3, 2)
    a, b, c = draw.numbers(
        np.where(large, top, small), draw.uniform(1, -1, 0), top - kept + draw.uniform(2, -3, 3), significant=3
    )
    return draw.with_zeros((a, b, c), 0.1, 0, 0.3)


def _least(draw: Draw) -> Operands:
    """One product of the least float32, or half the least float16, and products about the last bits that are kept."""
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
    """Zeros opposite to large numbers, beside small ones."""
    return draw.with_zeros(_very_wide(draw), 0.6, 0.6, 0.5)


def _zeros(draw: Draw) -> Operands:
    """Zeros of both signs, and few of the least numbers."""
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
    """Infinities, NaN and zeros among normal numbers."""
    operands = list(draw.with_zeros(_normal(draw), 0.05, 0.05, 0.05))
    for index, kind in enumerate(draw.kinds):
        exponent_bits, fraction_bits = FORMATS[kind]
        special = draw.signs(index) | _unsigned(kind).type(((1 << exponent_bits) - 1) << fraction_bits)
        infinite, nan = draw.chosen(index, 0.03), draw.chosen(index, 0.005)
        if kind == "e4m3":
            special, infinite, nan = special | 7, nan, nan
        operands[index] = np.where(infinite, special, operands[index])
        payload = draw.rng.integers(0, 1 << fraction_bits, draw.shapes[index], np.uint64).astype(_unsigned(kind))
        operands[index] = np.where(nan, special | payload, operands[index])
    return operands[0], operands[1], operands[2]


def _extremes(draw: Draw) -> Operands:
    """The least and largest integers, and C near the ends of its range."""
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
    "wide": _wide,
    "very wide": _very_wide,
    "few bits": _few_bits,
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
    """The same operands whenever they are asked for, in whatever process."""
    if dot_products is None:
        dot_products = (DOT_PRODUCTS_OF_F64 if case.a == "f64" else DOT_PRODUCTS) // len(kinds_of(case))
    seed = [*case.name.encode(), 0, *kind.encode()]
    return kinds_of(case)[kind](Draw(case, seed, dot_products))


# Fragments


def fragments(case: Case, a: Values, b: Values, c: Values) -> tuple[Values, Values, Values]:
    """The bytes that the kernel reads: what each lane has in registers, or what lies in shared memory."""
    return _a(case, a), _b(case, b), _c(c)


def _a(case: Case, a: Values) -> Values:
    tiles, rows, k = a.shape
    if case.instruction == "wgmma":
        return np.ascontiguousarray(a.reshape(tiles, rows // 8, 8, 2, k // 2).transpose(0, 1, 3, 2, 4))
    held = max(1, 4 // a.itemsize)
    parts = a.reshape(tiles, rows // 8, 8, k // (4 * held), 4, held)
    return np.ascontiguousarray(parts.transpose(0, 2, 4, 3, 1, 5))


def _b(case: Case, b: Values) -> Values:
    tiles, k, columns = b.shape
    if case.instruction == "wgmma":
        return np.ascontiguousarray(b.reshape(tiles, 2, k // 2, columns).transpose(0, 1, 3, 2))
    held = max(1, 4 // b.itemsize)
    return np.ascontiguousarray(b.reshape(tiles, k // (4 * held), 4, held, columns).transpose(0, 4, 2, 1, 3))


def _c(c: Values) -> Values:
    tiles, rows, columns = c.shape
    blocks = min(rows // 8, 2)
    parts = c.reshape(tiles, rows // (8 * blocks), blocks, 8, columns // 2, 2)
    return np.ascontiguousarray(parts.transpose(0, 1, 3, 4, 2, 5))


def result_of(case: Case, fragment: Values, tiles: int) -> Values:
    """The result [W, M, 8] of which the lanes hold ``fragment``."""
    blocks = min(case.rows // 8, 2)
    parts = fragment.reshape(tiles, case.rows // (8 * blocks), 8, 4, blocks, 2)
    return np.ascontiguousarray(parts.transpose(0, 1, 4, 2, 3, 5)).reshape(tiles, case.rows, 8)


# Kernels

_MMA = """
extern "C" __global__ void kernel(const R* a, const R* b, const C* c, C* d, int tiles) {
    const int lane = blockIdx.x * blockDim.x + threadIdx.x;
    if (lane >= tiles * 32) return;
    R x[RA], y[RB];
    C z[RC];
    #pragma unroll
    for (int i = 0; i < RA; ++i) x[i] = a[lane * RA + i];
    #pragma unroll
    for (int i = 0; i < RB; ++i) y[i] = b[lane * RB + i];
    #pragma unroll
    for (int i = 0; i < RC; ++i) z[i] = c[lane * RC + i];
    asm volatile("INSTRUCTION" : OUTPUTS : INPUTS);
    #pragma unroll
    for (int i = 0; i < RC; ++i) d[lane * RC + i] = z[i];
}
"""

_WGMMA = """
extern "C" __global__ void __launch_bounds__(128) kernel(const R* a, const R* b, const C* c, C* d, int tiles) {
    __shared__ alignas(128) unsigned left[512], right[64];
    const int tile = blockIdx.x, lane = tile * 128 + threadIdx.x;
    if (tile >= tiles) return;
    for (int i = threadIdx.x; i < 512; i += 128) left[i] = a[tile * 512 + i];
    for (int i = threadIdx.x; i < 64; i += 128) right[i] = b[tile * 64 + i];
    C z[RC];
    #pragma unroll
    for (int i = 0; i < RC; ++i) z[i] = c[lane * RC + i];
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    const unsigned long long strides = (128ull >> 4) << 16 | (256ull >> 4) << 32;
    const unsigned long long x = strides | (static_cast<unsigned>(__cvta_generic_to_shared(left)) & 0x3FFFF) >> 4;
    const unsigned long long y = strides | (static_cast<unsigned>(__cvta_generic_to_shared(right)) & 0x3FFFF) >> 4;
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    asm volatile("INSTRUCTION" : OUTPUTS : "l"(x), "l"(y) : "memory");
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    #pragma unroll
    for (int i = 0; i < RC; ++i) d[lane * RC + i] = z[i];
}
"""


def source(case: Case) -> str:
    """CUDA C++ of a kernel that computes one product of each tile."""
    held = max(1, 32 // BITS[case.a])
    per_lane = {"RA": case.rows * case.k // 32 // held, "RB": case.k * 8 // 32 // held}
    constraint, c_type = {
        "f32": ("f", "float"), "f16": ("r", "unsigned"), "s32": ("r", "int"), "f64": ("d", "double")
    }[case.result]  # fmt: skip
    sums = case.rows * 8 // (128 if case.instruction == "wgmma" else 32) // (2 if case.result == "f16" else 1)
    registers, first = [f'"+{constraint}"(z[{index}])' for index in range(sums)], _names(0, sums)
    if case.instruction == "wgmma":
        text = f"wgmma.mma_async.sync.aligned.{case.shape}.{case.types}"
        # The factors of A and B, and of float16 and bfloat16 alone, their order in memory.
        scales = "" if case.result == "s32" else ", 1, 1, 0, 0" if BITS[case.a] == 16 else ", 1, 1"
        text += f"{'.satfinite' if case.saturate else ''} {first}, %{sums}, %{sums + 1}, 1{scales};"
        inputs, template = "", _WGMMA
    else:
        x, y = per_lane["RA"], per_lane["RB"]
        text = f"mma.sync.aligned.{case.shape}.row.col{'.satfinite' if case.saturate else ''}"
        text += f".{case.types}.{case.result} {first}, {_names(sums, x)}, {_names(sums + x, y)}, {first};"
        letter = "d" if case.a == "f64" else "r"
        inputs = ", ".join([f'"{letter}"(x[{i}])' for i in range(x)] + [f'"{letter}"(y[{i}])' for i in range(y)])
        template = _MMA
    text = template.replace("INSTRUCTION", text).replace("OUTPUTS", ", ".join(registers)).replace("INPUTS", inputs)
    macros = {**per_lane, "RC": sums, "R": "double" if case.a == "f64" else "unsigned", "C": c_type}
    return "".join(f"#define {name} {value}\n" for name, value in macros.items()) + text


def _names(start: int, count: int) -> str:
    return "{" + ", ".join(f"%{index}" for index in range(start, start + count)) + "}"


def compiled(case: Case) -> Any:
    """Machine code for an H200; no GPU is needed."""
    return Program(source(case), "c++", ProgramOptions(arch="sm_90a")).compile("cubin")


class Runner:
    """Runs products on GPU 0."""

    def __init__(self) -> None:
        self.gpu = Gpu(0)
        self.gpu.set_current()
        self.stream = self.gpu.create_stream()

    def result(self, case: Case, kernel: Kernel, a: Values, b: Values, c: Values) -> Values:
        """Bit patterns of A·B + C [W, M, 8]."""
        inputs = fragments(case, a, b, c)
        tiles, out = len(a), np.empty_like(inputs[2])
        buffers = [self.gpu.allocate(each.nbytes, stream=self.stream) for each in (*inputs, out)]
        for buffer, each in zip(buffers[:3], inputs, strict=True):
            buffer.copy_from(host_view(each), stream=self.stream)
        warps = 1 if case.instruction == "wgmma" else 4
        config = LaunchConfig(grid=-(-tiles // warps), block=128)
        launch(self.stream, config, kernel, *buffers, np.int32(tiles))
        buffers[3].copy_to(host_view(out), stream=self.stream)
        self.stream.sync()
        for buffer in buffers:
            buffer.close(self.stream)
        return result_of(case, out, tiles)


# Comparison


def hypotheses(case: Case) -> dict[str, Arithmetic]:
    """What the instruction may do, by what distinguishes it."""
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
    """Bit patterns of A·B + C on the emulator."""
    result = multiply_add(values(a, case.a), values(b, case.b), values(c, case.result), arithmetic)
    return result.view(_unsigned(case.result))


def compare(case: Case, kind: str, got: Values) -> dict[str, Any]:
    """How many bit patterns of the GPU's result differ, by hypothesis; the least that differ, by example."""
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
    """All that differ; of those, the zeros that differ in sign, and NaN of other bits."""
    differ = got != expected
    if case.result == "s32":
        return {"differ": int(differ.sum())}
    left, right = (values(each[differ], case.result) for each in (got, expected))
    zeros, nan = (left == 0) & (right == 0), np.isnan(left) & np.isnan(right)
    return {"differ": int(differ.sum()), "signs of zeros": int(zeros.sum()), "bits of NaN": int(nan.sum())}


def _hex(bits: Values) -> str:
    width = bits.dtype.itemsize * 2
    return " ".join(f"{int(each):0{width}x}" for each in np.atleast_1d(bits))


# Files


def packed(bits: Values) -> str:
    return base64.b85encode(zlib.compress(bits.tobytes(), 9)).decode()


def unpacked(text: str, dtype: np.dtype[Any], *shape: int) -> Values:
    return np.frombuffer(zlib.decompress(base64.b85decode(text)), dtype).reshape(shape)


def vector(case: Case, a: Values, b: Values, c: Values, d: Values) -> dict[str, Any]:
    """A few rows of dot products, packed."""
    rows = min(case.rows, KEPT // 8)
    tiles = KEPT // 8 // rows
    parts = a[:tiles, :rows], b[:tiles], c[:tiles, :rows], d[:tiles, :rows]
    return {"tiles": tiles, "rows": rows} | dict(zip("abcd", map(packed, parts), strict=True))


def from_vector(case: Case, vector: dict[str, Any]) -> tuple[Values, Values, Values, Values]:
    """Bit patterns of A, B, C and the result."""
    tiles, rows, result = vector["tiles"], vector["rows"], _unsigned(case.result)
    return (
        unpacked(vector["a"], _unsigned(case.a), tiles, rows, case.k),
        unpacked(vector["b"], _unsigned(case.b), tiles, case.k, 8),
        unpacked(vector["c"], result, tiles, rows, 8),
        unpacked(vector["d"], result, tiles, rows, 8),
    )


def _measured(runner: Runner, pool: ProcessPoolExecutor) -> Iterator[tuple[Case, str, Future[Any], dict[str, Any]]]:
    """Every case and kind of numbers: the comparison under way, and its vector."""
    for case in CASES:
        kernel = compiled(case).get_kernel("kernel")
        for kind in kinds_of(case):
            drawn = operands(case, kind)
            got = runner.result(case, kernel, *drawn).view(_unsigned(case.result))
            yield case, kind, pool.submit(compare, case, kind, got), vector(case, *drawn, got)


EMULATED = "0 never, C = 0 never"
"""What the emulator takes the exponents of zeros for."""


def main(results: Path, vectors: Path) -> None:
    """Run everything, write both files, and print a table."""
    begin = time.perf_counter()
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    runner = Runner()
    facts = {"name": runner.gpu.name, "compute_capability": list(runner.gpu.compute_capability)}
    print("Hypotheses about zeros, in order:", "; ".join(hypotheses(CASES[0])))
    rows: list[dict[str, Any]] = []
    documents: list[dict[str, Any]] = []
    counts = vectors.with_name("tensor_core_comparison.json")
    with ProcessPoolExecutor(min(16, len(os.sched_getaffinity(0))), multiprocessing.get_context("spawn")) as pool:
        under_way = list(_measured(runner, pool))
        for case in CASES:
            kinds = {kind: (future, kept) for each, kind, future, kept in under_way if each == case}
            compared = {kind: future.result() for kind, (future, _) in kinds.items()}
            rows.append({"case": asdict(case), "name": case.name, "kinds": compared})
            documents.append({"case": asdict(case), "kinds": {kind: kept for kind, (_, kept) in kinds.items()}})
            _print(case, compared)
            for path, found in (
                (results, {"tensor_cores": rows}),
                (vectors, {"tensor_cores": documents}),
                (counts, {"rows": summary(rows)}),
            ):
                path.write_text(json.dumps({"machine": facts, **found}, indent=1) + "\n", encoding="utf-8")
    print(f"{time.perf_counter() - begin:.0f} s")


def summary(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Of each instruction how many dot products were compared, and how many differ from the emulator's."""
    found = []
    for row in rows:
        counts = {"dot products": 0, "differ": 0, "signs of zeros": 0, "bits of NaN": 0}
        for compared in row["kinds"].values():
            tried = compared["hypotheses"]
            counts["dot products"] += compared["dot products"]
            for name, count in tried.get(EMULATED, next(iter(tried.values()))).items():
                counts[name] += count
        found.append({"instruction": row["name"], **counts})
    return found


def _print(case: Case, compared: dict[str, Any]) -> None:
    """The hypothesis that fits best, how much fits each of the others, and where the best fails."""
    total = sum(each["dot products"] for each in compared.values())
    sums: Counter[str] = Counter()
    for each in compared.values():
        sums.update({name: counts["differ"] for name, counts in each["hypotheses"].items()})
    best = min(sums, key=lambda name: sums[name])
    print(f"{case.name}: {total} dot products, {sums[best]} differ if {best}; {list(sums.values())}")
    for kind, each in compared.items():
        counts = each["hypotheses"][best]
        if counts["differ"]:
            print(f"    {kind}: {', '.join(f'{name} {count}' for name, count in counts.items())}")
            print(f"        {json.dumps(each['examples'][:1])}")


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        raise SystemExit("usage: python -m bench.studies.tensor_cores RESULTS.json [VECTORS.json]")
    main(Path(sys.argv[1]), Path(sys.argv[-1] if len(sys.argv) == 3 else "tensor_cores.json"))

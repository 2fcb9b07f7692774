"""The kernels that are fuzzed, with what their sources need to be right, written down a second time.

The rules here come from reading the CUDA code and the lectures, not from the kernels' declared constraints: where the
two differ, the fuzzing says so.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import mmcore
from mmcore import Dim3, FlatBlock, Int32Index, Kernel, Problem

Step: TypeAlias = Callable[[Dim3], int]

MOST_THREADS = 1024
MOST_ALONG_Z = 64
INT_ELEMENTS = 2**31


def _any(block: Dim3) -> int:
    return 1


def _x(block: Dim3) -> int:
    return block.x


def _y(block: Dim3) -> int:
    return block.y


def _two_x(block: Dim3) -> int:
    return 2 * block.x


def _thirty_two(block: Dim3) -> int:
    return 32


def flat(block: Dim3) -> bool:
    """Any block of one layer."""
    return block.z == 1


def square(block: Dim3) -> bool:
    """As many threads along x as along y."""
    return block.z == 1 and block.x == block.y


def _16_or_32(block: Dim3) -> bool:
    return block in ((16, 16, 1), (32, 32, 1))


def _only_32(block: Dim3) -> bool:
    return block == (32, 32, 1)


@dataclass(frozen=True)
class Rule:
    """What a kernel's source takes for granted.

    Attributes:
        block: the blocks it is written for.
        one_size: whether one number stands for m, n and k.
        m, n, k: what the sizes must be multiples of.
        stamped: whether a single block walks over all of C.
    """

    block: Callable[[Dim3], bool]
    one_size: bool = False
    m: Step = _any
    n: Step = _any
    k: Step = _any
    stamped: bool = False

    def steps(self, block: Dim3) -> tuple[int, int, int]:
        """What m, n and k must be multiples of."""
        steps = self.m(block), self.n(block), self.k(block)
        return (math.lcm(*steps),) * 3 if self.one_size else steps

    def breaches(self, problem: Problem, block: Dim3) -> set[str]:
        """What keeps the source from computing this product in such blocks, on any GPU; empty where nothing does."""
        m, n, k = problem.m, problem.n, problem.k
        steps = self.m(block), self.n(block), self.k(block)
        found = {
            "sizes differ": self.one_size and not m == n == k,
            "not a multiple": any(size % step for size, step in zip((m, n, k), steps, strict=True)),
            "block's shape": not self.block(block),
            "int index": max(m * n, m * k, k * n) >= INT_ELEMENTS,
            "threads": block.size > MOST_THREADS or block.z > MOST_ALONG_Z,
        }
        return {name for name, broken in found.items() if broken}


_RULES = {
    "hpsee.simple": Rule(flat, one_size=True),
    "hpsee.tiled": Rule(_16_or_32, one_size=True, n=_x),
    "lezione9.kernel1": Rule(flat, m=_x, n=_y),
    "lezione9.kernel2": Rule(_only_32, m=_thirty_two, n=_thirty_two, k=_thirty_two),
    "poznan.v1": Rule(flat, one_size=True, m=_y, n=_x, stamped=True),
    "poznan.v2": Rule(flat, one_size=True, m=_y, n=_x),
    "poznan.v3": Rule(square, one_size=True, n=_x),
    "poznan.v4a": Rule(square, one_size=True, n=_x),
    "poznan.v4b": Rule(square, one_size=True, n=_x),
    "poznan.v5": Rule(square, one_size=True, n=_two_x),
    "unsa.tiled": Rule(square, one_size=True, n=_x),
    "unsa.traditional": Rule(flat, one_size=True),
    "upc.kernel00": Rule(flat, one_size=True, m=_y, n=_x),
    "upc.kernel01": Rule(flat),
    "upc.kernel10": Rule(square, m=_x, n=_x, k=_x),
    "upc.kernel11": Rule(square),
    # Wrong on purpose, but right where its constraints allow it.
    "upc.kernel11_naive_guard": Rule(square, m=_x, n=_x, k=_x),
}

# Types of A and B, of the sum and of C, as CUDA and as mmcore call them.
_TYPES = {
    "tests.f16": (("__half", "float16"), ("float", "float32"), ("float", "float32"), False),
    "tests.f16_narrow": (("__half", "float16"), ("float", "float32"), ("__half", "float16"), False),
    "tests.bf16": (("__nv_bfloat16", "bfloat16"), ("float", "float32"), ("float", "float32"), False),
    "tests.bf16_narrow": (("__nv_bfloat16", "bfloat16"), ("float", "float32"), ("__nv_bfloat16", "bfloat16"), True),
    "tests.f32": (("float", "float32"), ("float", "float32"), ("float", "float32"), False),
    "tests.f32_added": (("float", "float32"), ("float", "float32"), ("float", "float32"), True),
    "tests.f64": (("double", "float64"), ("double", "float64"), ("double", "float64"), False),
}


@dataclass(frozen=True)
class Subject:
    """A kernel to be fuzzed, and when it must be right."""

    kernel: Kernel
    rule: Rule


def subjects() -> dict[str, Subject]:
    """The lectures' kernels, and small ones of every type that take leading dimensions, by name."""
    registered = mmcore.kernels()
    return {name: Subject(registered[name], rule) for name, rule in _RULES.items()} | {
        name: Subject(_strided(name), Rule(flat)) for name in _TYPES
    }


def _strided(name: str) -> Kernel:
    inputs, accumulator, output, added = _TYPES[name]
    types = ", ".join(cuda for cuda, _ in (inputs, accumulator, output))
    return Kernel(
        name=name,
        source=Path(__file__).with_name("strided.cu"),
        entry=f"strided<{types}, {str(added).lower()}>",
        configs=[{"block": (16, 16)}, {"block": (32, 4)}, {"block": (64, 1)}],
        dtype=inputs[1],
        accumulator=accumulator[1],
        output=output[1],
        beta=added,
        constraints=(FlatBlock(), Int32Index()),
    )

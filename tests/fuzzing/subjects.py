"""The kernels that are fuzzed, with what their sources need to be right, written down a second time.

The rules here come from reading the CUDA code and the lectures, not from the kernels' declared constraints: where the
two differ, the fuzzing says so.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import mmcore
from mmcore import Config, Dim3, FlatBlock, Int32Index, Kernel, Problem, ceil_div

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

# Types of A and B, of the sum and of C as CUDA calls them, and what is declared.
_STRIDED: dict[str, tuple[str, str, str, dict[str, Any]]] = {
    "tests.f16": ("__half", "float", "float", {"dtype": "float16", "accumulator": "float32"}),
    "tests.f16_narrow": ("__half", "float", "__half", {"dtype": "float16", "output": "float16"}),
    "tests.bf16": ("__nv_bfloat16", "float", "float", {"dtype": "bfloat16", "accumulator": "float32"}),
    "tests.bf16_narrow": ("__nv_bfloat16", "float", "__nv_bfloat16", {"dtype": "bfloat16", "beta": 1}),
    "tests.f32": ("float", "float", "float", {}),
    "tests.f32_added": ("float", "float", "float", {"beta": 1}),
    "tests.f64": ("double", "double", "double", {"dtype": "float64"}),
    "tests.tf32": ("float", "float", "float", {"dtype": "tf32", "column_major": "B"}),
    "tests.e4m3": ("E4M3", "float", "float", {"dtype": "float8_e4m3fn", "column_major": "B"}),
    "tests.e4m3_cut": (
        *("E4M3", "float", "__nv_bfloat16"),
        {"dtype": "float8_e4m3fn", "accumulator": "float22", "output": "bfloat16", "column_major": "AC"},
    ),
    "tests.e5m2": ("E5M2", "float", "float", {"dtype": "float8_e5m2", "column_major": "AB", "alpha": 0.5}),
    "tests.e5m2_cut": ("E5M2", "float", "float", {"dtype": "float8_e5m2", "accumulator": "float22", "alpha": 0.3}),
    "tests.int8": ("signed char", "int", "int", {"dtype": "int8", "column_major": "B"}),
    "tests.int8_added": ("signed char", "int", "int", {"dtype": "int8", "column_major": "C", "beta": 1}),
    "tests.f32_scaled": ("float", "float", "float", {"column_major": "C", "alpha": -0.25}),
    "tests.f32_columns": ("float", "float", "float", {"column_major": "ABC", "alpha": 0.3, "beta": -1.5}),
    "tests.f16_scaled": (
        *("__half", "float", "__half"),
        {"dtype": "float16", "output": "float16", "column_major": "BC", "alpha": -1.5, "beta": 0.3},
    ),
    "tests.f64_scaled": ("double", "double", "double", {"dtype": "float64", "column_major": "A", "alpha": 0.3}),
}
# The same of kernels that add to a C of zeros.
_LAYERS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "tests.f64_layers": ("double", "double", {"dtype": "float64", "column_major": "BC"}),
    "tests.int8_layers": ("signed char", "int", {"dtype": "int8", "column_major": "A"}),
}


@dataclass(frozen=True)
class Subject:
    """A kernel to be fuzzed, and when it must be right."""

    kernel: Kernel
    rule: Rule


def subjects() -> dict[str, Subject]:
    """The lectures' kernels, and small ones of every type that take leading dimensions, by name."""
    registered = mmcore.kernels()
    own = [
        *(_strided(name, *of) for name, of in _STRIDED.items()),
        *(_layers(name, *of) for name, of in _LAYERS.items()),
    ]
    return {name: Subject(registered[name], rule) for name, rule in _RULES.items()} | {
        kernel.name: Subject(kernel, Rule(flat)) for kernel in own
    }


_DECLARED: dict[str, Any] = {
    "source": Path(__file__).with_name("strided.cu"),
    "configs": [{"block": (16, 16)}, {"block": (32, 4)}, {"block": (64, 1)}],
    "constraints": (FlatBlock(), Int32Index()),
}
_POINTERS_AND_SIZES = ("A", "B", "C", "m", "n", "k", "lda", "ldb", "ldc")


def _layout(declared: Mapping[str, Any]) -> int:
    return sum(1 << "ABC".index(matrix) for matrix in declared.get("column_major", ""))


def _strided(name: str, inputs: str, accumulator: str, output: str, declared: dict[str, Any]) -> Kernel:
    # Factors are float, but double where C is.
    factor = "double" if output == "double" else "float"
    cut = str(declared.get("accumulator") == "float22").lower()
    entry = f"strided<{inputs}, {accumulator}, {output}, {factor}, {_layout(declared)}, {cut}>"
    kept = {"float": "float32", "double": "float64", "int": "int32"}[accumulator]
    stored = {"__half": "float16", "__nv_bfloat16": "bfloat16"}.get(output, kept)
    types = {"accumulator": kept, "output": stored}
    arguments = (*_POINTERS_AND_SIZES, "alpha", "beta")
    return Kernel(name=name, entry=entry, arguments=arguments, **_DECLARED | types | declared)


def _layers(name: str, inputs: str, accumulator: str, declared: dict[str, Any]) -> Kernel:
    def grid(problem: Problem, config: Config) -> tuple[int, int, int]:
        return ceil_div(problem.n, config.block.x), ceil_div(problem.m, config.block.y), 3

    entry = f"layers<{inputs}, {accumulator}, {_layout(declared)}>"
    further = {"entry": entry, "arguments": _POINTERS_AND_SIZES, "grid": grid, "initial_c": "zeros"}
    return Kernel(name=name, **_DECLARED | further | declared)

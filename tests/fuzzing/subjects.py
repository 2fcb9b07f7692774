"""The kernels to fuzz, with the conditions under which each is right, stated a second time.

These conditions come from reading the CUDA code and the lectures, and not from the kernels' declared constraints.
Fuzzing reports where the two differ.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mmcore
from mmcore import Config, Dim3, FlatBlock, Int32Index, Kernel, Problem, ceil_div

MOST_THREADS = 1024
MOST_ALONG_Z = 64
INT_ELEMENTS = 2**31

BLOCKS: dict[str, Callable[[Dim3], bool]] = {
    "flat": lambda block: block.z == 1,
    "square": lambda block: block.z == 1 and block.x == block.y,
    "16 or 32": lambda block: block in ((16, 16, 1), (32, 32, 1)),
    "32": lambda block: block == (32, 32, 1),
}
STEPS: dict[str, Callable[[Dim3], int]] = {
    "1": lambda block: 1,
    "x": lambda block: block.x,
    "y": lambda block: block.y,
    "2x": lambda block: 2 * block.x,
    "32": lambda block: 32,
}


@dataclass(frozen=True)
class Rule:
    """The assumptions of a kernel's source.

    Attributes:
        blocks: the blocks that it is written for, by their name in :data:`BLOCKS`.
        m, n, k: numbers that the sizes must be multiples of, by their name in :data:`STEPS`.
        one_size: whether m, n and k must be equal.
        stamped: whether a single block computes all of C.
    """

    blocks: str
    m: str = "1"
    n: str = "1"
    k: str = "1"
    one_size: bool = False
    stamped: bool = False

    def block(self, block: Dim3) -> bool:
        """Return whether the source is written for such a block."""
        return BLOCKS[self.blocks](block)

    def steps(self, block: Dim3) -> tuple[int, int, int]:
        """Return the numbers that m, n and k must be multiples of."""
        steps = STEPS[self.m](block), STEPS[self.n](block), STEPS[self.k](block)
        return (math.lcm(*steps),) * 3 if self.one_size else steps

    def breaches(self, problem: Problem, block: Dim3) -> set[str]:
        """Return the reasons why the source cannot compute a product in such blocks on any GPU."""
        m, n, k = problem.m, problem.n, problem.k
        steps = [STEPS[step](block) for step in (self.m, self.n, self.k)]
        broken = {
            "sizes differ": self.one_size and not m == n == k,
            "not a multiple": any(size % step for size, step in zip((m, n, k), steps, strict=True)),
            "block's shape": not self.block(block),
            "int index": max(m * n, m * k, k * n) >= INT_ELEMENTS,
            "threads": block.size > MOST_THREADS or block.z > MOST_ALONG_Z,
        }
        return {name for name, is_broken in broken.items() if is_broken}


_RULES = {
    "hpsee.simple": Rule("flat", one_size=True),
    "hpsee.tiled": Rule("16 or 32", n="x", one_size=True),
    "lezione9.kernel1": Rule("flat", m="x", n="y"),
    "lezione9.kernel2": Rule("32", m="32", n="32", k="32"),
    "poznan.v1": Rule("flat", m="y", n="x", one_size=True, stamped=True),
    "poznan.v2": Rule("flat", m="y", n="x", one_size=True),
    "poznan.v3": Rule("square", n="x", one_size=True),
    "poznan.v4a": Rule("square", n="x", one_size=True),
    "poznan.v4b": Rule("square", n="x", one_size=True),
    "poznan.v5": Rule("square", n="2x", one_size=True),
    "unsa.tiled": Rule("square", n="x", one_size=True),
    "unsa.traditional": Rule("flat", one_size=True),
    "upc.kernel00": Rule("flat", m="y", n="x", one_size=True),
    "upc.kernel01": Rule("flat"),
    "upc.kernel10": Rule("square", m="x", n="x", k="x"),
    "upc.kernel11": Rule("square"),
    # Wrong on purpose, but right where its constraints allow it.
    "upc.kernel11_naive_guard": Rule("square", m="x", n="x", k="x"),
}

# The C++ types of A and B, of the sum and of C, and attributes of the kernel.
_STRIDED: dict[str, tuple[str, dict[str, Any]]] = {
    "f16": ("__half, float, float", {"dtype": "float16", "accumulator": "float32"}),
    "f16_narrow": ("__half, float, __half", {"dtype": "float16", "output": "float16"}),
    "bf16": ("__nv_bfloat16, float, float", {"dtype": "bfloat16", "accumulator": "float32"}),
    "bf16_narrow": ("__nv_bfloat16, float, __nv_bfloat16", {"dtype": "bfloat16", "beta": 1}),
    "f32": ("float, float, float", {}),
    "f32_added": ("float, float, float", {"beta": 1}),
    "f64": ("double, double, double", {"dtype": "float64"}),
    "tf32": ("float, float, float", {"dtype": "tf32", "column_major": "B"}),
    "e4m3": ("E4M3, float, float", {"dtype": "float8_e4m3fn", "column_major": "B"}),
    "e4m3_cut": (
        "E4M3, float, __nv_bfloat16",
        {"dtype": "float8_e4m3fn", "accumulator": "float22", "output": "bfloat16", "column_major": "AC"},
    ),
    "e5m2": ("E5M2, float, float", {"dtype": "float8_e5m2", "column_major": "AB", "alpha": 0.5}),
    "e5m2_cut": ("E5M2, float, float", {"dtype": "float8_e5m2", "accumulator": "float22", "alpha": 0.3}),
    "int8": ("signed char, int, int", {"dtype": "int8", "column_major": "B"}),
    "int8_added": ("signed char, int, int", {"dtype": "int8", "column_major": "C", "beta": 1}),
    "f32_scaled": ("float, float, float", {"column_major": "C", "alpha": -0.25}),
    "f32_columns": ("float, float, float", {"column_major": "ABC", "alpha": 0.3, "beta": -1.5}),
    "f16_scaled": (
        "__half, float, __half",
        {"dtype": "float16", "output": "float16", "column_major": "BC", "alpha": -1.5, "beta": 0.3},
    ),
    "f64_scaled": ("double, double, double", {"dtype": "float64", "column_major": "A", "alpha": 0.3}),
}
# Kernels that add to a C of zeros: the types of A and B and of the sum, and attributes.
_LAYERS: dict[str, tuple[str, dict[str, Any]]] = {
    "f64_layers": ("double, double", {"dtype": "float64", "column_major": "BC"}),
    "int8_layers": ("signed char, int", {"dtype": "int8", "column_major": "A"}),
}
_POINTERS_AND_SIZES = ("A", "B", "C", "m", "n", "k", "lda", "ldb", "ldc")


@dataclass(frozen=True)
class Subject:
    """A kernel to fuzz, and the conditions under which it is right."""

    kernel: Kernel
    rule: Rule


def subjects() -> dict[str, Subject]:
    """Return the lectures' kernels by name, and kernels of strided.cu of every type, with leading dimensions."""
    registered = mmcore.kernels()
    own = [
        *(_strided(name, types, declared) for name, (types, declared) in _STRIDED.items()),
        *(_layers(name, types, declared) for name, (types, declared) in _LAYERS.items()),
    ]
    lectures = {name: Subject(registered[name], rule) for name, rule in _RULES.items()}
    return lectures | {kernel.name: Subject(kernel, Rule("flat")) for kernel in own}


def _kernel(name: str, entry: str, types: str, declared: Mapping[str, Any], further: str = "", **usual: Any) -> Kernel:
    layout = sum(1 << "ABC".index(matrix) for matrix in declared.get("column_major", ""))
    usual |= {
        "source": Path(__file__).with_name("strided.cu"),
        "configs": [{"block": (16, 16)}, {"block": (32, 4)}, {"block": (64, 1)}],
        "constraints": (FlatBlock(), Int32Index()),
    }
    return Kernel(name=f"tests.{name}", entry=f"{entry}<{types}, {layout}{further}>", **{**usual, **declared})


def _strided(name: str, types: str, declared: dict[str, Any]) -> Kernel:
    _, accumulator, output = types.split(", ")
    # Factors are float, but double where C is.
    factor = "double" if output == "double" else "float"
    cut = str(declared.get("accumulator") == "float22").lower()
    kept = {"float": "float32", "double": "float64", "int": "int32"}[accumulator]
    stored = {"__half": "float16", "__nv_bfloat16": "bfloat16"}.get(output, kept)
    arguments = (*_POINTERS_AND_SIZES, "alpha", "beta")
    usual: dict[str, Any] = {"accumulator": kept, "output": stored, "arguments": arguments}
    return _kernel(name, "strided", f"{types}, {factor}", declared, f", {cut}", **usual)


def _layers(name: str, types: str, declared: dict[str, Any]) -> Kernel:
    def grid(problem: Problem, config: Config) -> tuple[int, int, int]:
        return ceil_div(problem.n, config.block.x), ceil_div(problem.m, config.block.y), 3

    usual: dict[str, Any] = {"arguments": _POINTERS_AND_SIZES, "grid": grid, "initial_c": "zeros"}
    return _kernel(name, "layers", types, declared, **usual)

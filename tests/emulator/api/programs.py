"""Fifteen programs that are no matrix products, with what numpy says that they compute.

Each is a .cu file in ``programs/``. A comment such as ``// MISSING_BARRIER: shared-race`` in it says which hazard is
found at that line when the macro is defined.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mmcore_emulator import TensorMap
from mmcore_emulator.api.arguments import Argument

FOLDER = Path(__file__).parent / "programs"


@dataclass(frozen=True)
class Program:
    """A kernel, its launch, and what its arrays hold afterwards.

    Attributes:
        file: the .cu file, without its extension.
        kernel: name of the kernel.
        grid, block: geometry of the launch.
        arguments: arguments in order.
        expected: arrays among them, by their position, as they must be after the launch.
        further: further arguments of ``launch``.
        tolerance: relative tolerance of floats; 0 for equal bits.
    """

    file: str
    kernel: str
    grid: int | Sequence[int]
    block: int | Sequence[int]
    arguments: tuple[Argument, ...]
    expected: Mapping[int, NDArray[Any]]
    further: Mapping[str, Any] = field(default_factory=dict)
    tolerance: float = 0.0

    @property
    def path(self) -> Path:
        return FOLDER / f"{self.file}.cu"


def random() -> np.random.Generator:
    return np.random.default_rng(7)


def vector_add() -> Program:
    a, b = random().standard_normal((2, 1000), np.float32)
    c = np.zeros(1000, np.float32)
    return Program("vector_add", "vector_add", 8, 128, (a, b, c, 1000), {2: a + b})


def reduction() -> Program:
    x = random().integers(-9, 9, 3000).astype(np.float32)
    return Program("reduction", "reduce", 3, 256, (x, np.zeros(1, np.float32), 3000), {1: x.sum(keepdims=True)})


def scan() -> Program:
    x = random().integers(-99, 99, (2, 256), np.int32)
    return Program("scan", "scan", 2, 256, (x, np.zeros_like(x)), {1: x.cumsum(axis=1, dtype=np.int32)})


def softmax() -> Program:
    x = random().standard_normal((3, 70), np.float32)
    y = np.exp(x - x.max(axis=1, keepdims=True))
    expected = y / y.sum(axis=1, keepdims=True)
    return Program("softmax", "softmax", 3, 32, (x, np.zeros_like(x), 70), {1: expected}, tolerance=1e-6)


def histogram() -> Program:
    data = random().integers(0, 256, 2000, np.uint8)
    counts = np.bincount(data, minlength=256).astype(np.uint32)
    return Program("histogram", "histogram", 2, 256, (data, np.zeros(256, np.uint32), 2000), {1: counts})


def stencil() -> Program:
    x = random().standard_normal((20, 37))
    padded = np.pad(x, 1)
    around = padded[:-2, 1:-1] + padded[2:, 1:-1] + padded[1:-1, :-2] + padded[1:-1, 2:]
    arguments = (x, np.zeros_like(x), *x.shape)
    return Program("stencil", "stencil", (3, 2), (16, 16), arguments, {1: (x + around) / 5}, tolerance=1e-12)


def transpose() -> Program:
    x = np.arange(40 * 50, dtype=np.float64).reshape(40, 50)
    arguments = (x, np.zeros((50, 40)), 40, 50)
    return Program("transpose", "transpose<double>", (2, 2), (32, 32), arguments, {1: x.T})


def matrix_vector() -> Program:
    a, x = random().integers(-9, 9, (6, 136)).astype(np.float32), np.arange(136, dtype=np.float32)
    return Program("matrix_vector", "matrix_vector", 3, (32, 2), (a, x, np.zeros(6, np.float32), 136), {2: a @ x})


def bitonic_sort() -> Program:
    x = random().integers(-999, 999, 512, np.int16)
    return Program("bitonic_sort", "bitonic_sort", 1, 256, (x,), {0: np.sort(x)})


def mandelbrot() -> Program:
    height, width, most = 11, 19, 50
    steps = np.zeros((height, width), np.uint8)
    c = (-2 + np.arange(width) * 0.15) + 1j * (0.75 - np.arange(height)[:, None] * 0.15)
    x, y = np.zeros(c.shape), np.zeros(c.shape)
    for _ in range(most):
        inside = x * x + y * y <= 4
        steps += inside
        x, y = np.where(inside, x * x - y * y + c.real, 9), np.where(inside, 2 * x * y + c.imag, 9)
    window = struct.pack("dddii", -2, 0.75, 0.15, width, height)
    arguments = (window, np.zeros_like(steps), most)
    return Program("mandelbrot", "mandelbrot", (2, 2), (16, 8), arguments, {1: steps})


def cluster_sum() -> Program:
    x = random().integers(-99, 99, (2, 4, 32), np.int32)
    sums = np.broadcast_to(x.sum(axis=1, keepdims=True, dtype=np.int32), x.shape)
    return Program("cluster_sum", "cluster_sum", 8, 32, (x, np.zeros_like(x)), {1: sums})


def async_copy() -> Program:
    x = np.arange(4 * 64 * 5, dtype=np.int32)
    return Program("async_copy", "async_double", 1, 64, (x, np.zeros_like(x), 5), {1: 2 * x})


def tensor_core() -> Program:
    a, b = random().integers(-4, 4, (2, 16, 16)).astype(np.float16)
    c = random().integers(-4, 4, (16, 16)).astype(np.float32)
    product = a.astype(np.float32) @ b.astype(np.float32) + c
    return Program("tensor_core", "tensor_core", 1, 32, (a, b, c, np.zeros_like(c)), {3: product})


def tensor_map() -> Program:
    x = np.arange(20 * 40, dtype=np.float32).reshape(20, 40)
    arguments = (TensorMap(x, box=(8, 32)), np.zeros((8, 32), np.float32), 15, 20)
    return Program("tensor_map", "copy_box", 1, 32, arguments, {1: np.pad(x, ((0, 3), (0, 12)))[15:, 20:]})


def constant_filter() -> Program:
    x, weights = random().standard_normal(100, np.float32), np.arange(1, 6, dtype=np.float32) / 15
    expected = np.convolve(np.pad(x, 2, mode="edge"), weights[::-1], "valid")
    further = {"variables": {"weights": weights, "filtered": np.zeros(1, np.uint32)}}
    return Program(
        "constant_filter", "filter", 2, 64, (x, np.zeros_like(x), 100), {1: expected}, further, tolerance=1e-5
    )


PROGRAMS: tuple[Callable[[], Program], ...] = (
    vector_add,
    reduction,
    scan,
    softmax,
    histogram,
    stencil,
    transpose,
    matrix_vector,
    bitonic_sort,
    mandelbrot,
    cluster_sum,
    async_copy,
    tensor_core,
    tensor_map,
    constant_filter,
)


def broken() -> list[tuple[Callable[[], Program], str, str, int]]:
    """Return each broken variant: the program, the macro that breaks it, the hazard's kind, and its line."""
    variants = []
    for program in PROGRAMS:
        for number, line in enumerate(program().path.read_text().splitlines(), start=1):
            _, _, comment = line.partition("// ")
            variants += [(program, macro, kind, number) for macro, kind in re.findall(r"([A-Z_]+): ([a-z-]+)", comment)]
    return variants

"""Kernels that compute products on a GPU's tensor cores, from templates in mma.cu and wgmma.cu."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from cuda.core import Device as Gpu
from cuda.core import Kernel, LaunchConfig, Program, ProgramOptions, launch

from bench.studies.tensor_cores.numbers import BITS, Case, Values
from mmcore_cuda.guarded_memory import host_view


def fragments(case: Case, a: Values, b: Values, c: Values) -> tuple[Values, Values, Values]:
    """Return the kernel's arrays: the registers of each lane, or the content of shared memory."""
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
    """Return the result [W, M, 8] from the fragments of the lanes."""
    blocks = min(case.rows // 8, 2)
    parts = fragment.reshape(tiles, case.rows // (8 * blocks), 8, 4, blocks, 2)
    return np.ascontiguousarray(parts.transpose(0, 1, 4, 2, 3, 5)).reshape(tiles, case.rows, 8)


def source(case: Case) -> str:
    """Return the CUDA C++ of a kernel that computes one product of each tile."""
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
        inputs = ""
    else:
        x, y = per_lane["RA"], per_lane["RB"]
        text = f"mma.sync.aligned.{case.shape}.row.col{'.satfinite' if case.saturate else ''}"
        text += f".{case.types}.{case.result} {first}, {_names(sums, x)}, {_names(sums + x, y)}, {first};"
        letter = "d" if case.a == "f64" else "r"
        inputs = ", ".join([f'"{letter}"(x[{i}])' for i in range(x)] + [f'"{letter}"(y[{i}])' for i in range(y)])
    template = Path(__file__).with_name(f"{case.instruction}.cu").read_text(encoding="utf-8")
    text = template.replace("INSTRUCTION", text).replace("OUTPUTS", ", ".join(registers)).replace("INPUTS", inputs)
    macros = {**per_lane, "RC": sums, "R": "double" if case.a == "f64" else "unsigned", "C": c_type}
    return "".join(f"#define {name} {value}\n" for name, value in macros.items()) + text


def _names(start: int, count: int) -> str:
    return "{" + ", ".join(f"%{index}" for index in range(start, start + count)) + "}"


def compiled(case: Case) -> Any:
    """Return machine code for an H200; no GPU is needed."""
    return Program(source(case), "c++", ProgramOptions(arch="sm_90a")).compile("cubin")


class Runner:
    """A runner of products on GPU 0."""

    def __init__(self) -> None:
        self.gpu = Gpu(0)
        self.gpu.set_current()
        self.stream = self.gpu.create_stream()

    def result(self, case: Case, kernel: Kernel, a: Values, b: Values, c: Values) -> Values:
        """Return the bit patterns of A·B + C [W, M, 8]."""
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

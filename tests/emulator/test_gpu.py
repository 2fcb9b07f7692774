"""Assumptions of the emulator, on a GPU: every instruction it computes, and what PTX leaves to the machine."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from mmcore.devices.base import Device
from mmcore.devices.loaded_kernel import LoadedKernel
from mmcore.executor.choose_device import open_device
from mmcore.kernel.declaration import Kernel
from mmcore.kernel.launch import Launch
from mmcore.planning.plan import Plan
from tests.conftest import DEVICES
from tests.emulation import dtype_of
from tests.emulator.kernels import kernel_source
from tests.emulator.numbers import types_of
from tests.emulator.templates import expanded, template_file

Words = NDArray[np.uint64]

pytestmark = pytest.mark.skipif("cuda" not in DEVICES, reason="there is no GPU on this machine")
THREADS = 4096

# The letter of a register's type in inline assembly, and the C type of that register.
_CONSTRAINTS = {"f32": "f", "f64": "d", "16": "h", "32": "r", "64": "l"}
_C_TYPES = {"f": "float", "d": "double", "h": "unsigned short", "r": "unsigned", "l": "unsigned long long"}


def constraint(kind: str) -> str:
    return _CONSTRAINTS.get(kind) or _CONSTRAINTS[kind[-2:]]


def from_word(kind: str, word: str) -> str:
    casts = {"f": "__uint_as_float", "d": "__longlong_as_double"}
    letter = constraint(kind)
    return f"{casts.get(letter, f'({_C_TYPES[letter]})')}({word})"


def to_word(kind: str, value: str) -> str:
    return f"{ {'f': '__float_as_uint', 'd': '__double_as_longlong'}.get(constraint(kind), '') }({value})"


def source_of(opcode: str) -> str:
    """Return a kernel in which thread t applies an opcode to words 4t, 4t+1, … of ``in`` and stores the result."""
    types, result = types_of(opcode)
    kinds = [kind.replace("b", "u") if kind != "bf16" else "u16" for kind in types]
    inputs = ", ".join(
        f'"{constraint(kind)}"({from_word(kind, f"in[4 * t + {place}]")})' for place, kind in enumerate(kinds)
    )
    names = ", ".join(f"%{place}" for place in range(1, 1 + len(kinds)))
    text = f"{opcode} %0, {names};"
    if result == "pred":
        text = f"{{ .reg .pred p; {opcode} p, {names}; selp.u32 %0, 1, 0, p; }}"
    result = {"pred": "u32", "bf16": "u16"}.get(result, result)
    return f"""
    extern "C" __global__ void f(unsigned long long* out, const unsigned long long* in) {{
        const int t = blockIdx.x * blockDim.x + threadIdx.x;
        {_C_TYPES[constraint(result)]} x;
        asm volatile("{text}" : "={constraint(result)}"(x) : {inputs});
        out[t] = {to_word(result, "x")};
    }}"""


def run_on(device: Device, path: Path, source: str, words: Words) -> Words:
    """Return the words of 64 bits, zero before, that the threads of a kernel of (out, in) store."""
    path.write_text(source, encoding="utf-8")
    launch, result = Launch(grid=(THREADS // 128,), block=(128,)), np.zeros(THREADS, np.uint64)
    kernel = Kernel(
        name="test.f", source=path, entry="f", arguments=("C", "A"), configs=[{"block": (128, 1)}], dtype="float64"
    )
    # C has 4096 elements of 64 bits, and A four times as many.
    plan = Plan(kernel, kernel.problem(64, 64, 256), kernel.usual_configs[0], (launch,))
    with LoadedKernel(plan, device) as loaded:
        loaded.buffers["C"].upload(result)
        loaded.buffers["A"].upload(words)
        assert loaded.run() == []
        loaded.buffers["C"].download(result)
    return result


def on_both(path: Path, source: str, words: Words) -> list[Words]:
    """Return the results of a kernel on the emulator and on the GPU."""
    return [run_on(open_device(name), path, source, words) for name in ("emulator", "cuda")]


def operands(kinds: Sequence[str], seed: int) -> Words:
    """Return operands: any bits, small numbers, ends of the range, floats near one another, zeros, NaN."""
    rng = np.random.default_rng(seed)
    columns = np.empty((THREADS, 4), np.uint64)
    for place in range(4):
        dtype = dtype_of(kinds[place] if place < len(kinds) else "u64")
        bits = 8 * dtype.itemsize
        any_bits = rng.integers(0, 2**64 - 1, THREADS, np.uint64, endpoint=True) >> np.uint64(64 - bits)
        ends = rng.choice(np.array([0, 1, 2 ** (bits - 1) - 1, 2 ** (bits - 1), 2**bits - 1], np.uint64), THREADS)
        choices = [any_bits, any_bits & np.uint64(63), ends]
        if dtype.kind == "f":
            near = (rng.choice([1.0, 1.5, -1.25, 3.0], THREADS) * 2.0 ** rng.integers(-12, 12, THREADS)).astype(dtype)
            special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, 1024.5, 60000.0, -40000.0], dtype)
            unsigned = f"u{bits // 8}"
            large = near.astype(np.float64) * 2.0 ** rng.integers(10, 60, THREADS)
            choices += [large.astype(dtype).view(unsigned)] if bits > 16 else []
            choices += [near.view(unsigned), rng.choice(special, THREADS).view(unsigned)]
        columns[:, place] = np.choose(
            rng.integers(0, len(choices), THREADS), [each.astype(np.uint64) for each in choices]
        )
    return columns.reshape(-1)


@pytest.mark.parametrize("opcode", expanded(template_file("on_a_gpu")))
def test_an_instruction_computes_the_same_bits_on_the_gpu(opcode: str, cu_file: Path) -> None:
    types, result = types_of(opcode)
    words = operands(types, seed=len(opcode))
    if opcode.startswith("bf"):
        # The begin and the length of a field are numbers up to 255; the PTX manual leaves others open.
        words.reshape(-1, 4)[:, len(types) - 2 : len(types)] &= np.uint64(255)
    emulated, on_the_gpu = on_both(cu_file, source_of(opcode), words)
    if result == "f64":
        # PTX leaves open which NaN a 64-bit operation returns.
        nan = np.isnan(emulated.view(np.float64))
        np.testing.assert_array_equal(nan, np.isnan(on_the_gpu.view(np.float64)))
        emulated, on_the_gpu = emulated[~nan], on_the_gpu[~nan]
    wrong = np.flatnonzero(emulated != on_the_gpu)
    examples = [
        [hex(word) for word in (*words[4 * t : 4 * t + 4], emulated[t], on_the_gpu[t])] for t in wrong[:5].tolist()
    ]
    assert not examples, f"{len(wrong)} differ: operands, emulator, GPU = {examples}"


@pytest.mark.parametrize("name", ["subnormal_sums", "wrapping_addresses"])
def test_a_kernel_computes_the_same_on_the_gpu(name: str, cu_file: Path) -> None:
    rng = np.random.default_rng(1)
    bits = rng.choice([0, 1, 3, 0x7FFFFF, 0x800000, 0x800001, 0x1000000, 0x3F800000], (THREADS, 4))
    words = (bits | rng.integers(0, 2, (THREADS, 4)) << 31).astype(np.uint64).reshape(-1)
    emulated, on_the_gpu = on_both(cu_file, kernel_source(name), words)
    np.testing.assert_array_equal(emulated, on_the_gpu)

"""What the emulator takes for granted, on a GPU: every instruction it computes, and what PTX leaves to the machine."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from mmcore.compile.compiler import compile_plan
from mmcore.devices.base import BoundLaunch, Device
from mmcore.executor.choose_device import open_device
from mmcore.kernel.declaration import Kernel
from mmcore.kernel.launch import Launch
from mmcore.planning.plan import Plan
from mmcore_emulator.isa.table import operation
from mmcore_emulator.numerics.types import NUMPY
from tests.conftest import DEVICES

Words = NDArray[np.uint64]

pytestmark = pytest.mark.skipif("cuda" not in DEVICES, reason="there is no GPU on this machine")
THREADS = 4096

INTEGERS = [f"{sign}{bits}" for sign in "us" for bits in (16, 32, 64)]
OPCODES = [
    *(f"{name}.{kind}" for name in ("add", "sub", "mul.lo", "mul.hi", "min", "max", "div", "rem") for kind in INTEGERS),
    *(f"{name}.{kind}" for name in ("mul.wide", "mad.wide") for kind in ("u16", "s16", "u32", "s32")),
    *(f"mad.{part}.{kind}" for part in ("lo", "hi") for kind in INTEGERS),
    *(f"{name}.s{bits}" for name in ("neg", "abs") for bits in (16, 32, 64)),
    *(f"{name}.b{bits}" for name in ("and", "or", "xor", "not", "shl") for bits in (16, 32, 64)),
    *(f"shr.{kind}" for kind in INTEGERS),
    *(f"dp4a.{one}.{other}" for one in ("s32", "u32") for other in ("s32", "u32")),
    *("bfe.u32", "bfe.u64", "bfi.b32", "bfi.b64", "popc.b32", "popc.b64", "prmt.b32"),
    *(f"shf.{side}.{mode}.b32" for side in "lr" for mode in ("wrap", "clamp")),
    *(f"{name}.{kind}" for name in ("add.rn", "sub.rn", "mul.rn", "fma.rn", "div.rn") for kind in ("f32", "f64")),
    *(f"{name}.{kind}" for name in ("min", "max", "neg", "abs", "sqrt.rn", "rcp.rn") for kind in ("f32", "f64")),
    *("add.rn.f16", "sub.rn.f16", "mul.rn.f16", "fma.rn.f16", "fma.rn.bf16"),
    *(f"cvt.rzi.{to}.{origin}" for to in ("s16", "u16", "s32", "u32", "s64", "u64") for origin in ("f32", "f64")),
    *(f"cvt.rn.{to}.{origin}" for to in ("f16", "f32", "f64") for origin in ("s32", "u32", "s64", "u64")),
    *(f"{name}.ftz.f32" for name in ("add", "sub", "mul.rn", "fma.rn", "div.rn", "min", "max", "neg", "abs")),
    *("sqrt.rn.ftz.f32", "rcp.rn.ftz.f32", "cvt.rn.ftz.f32.f64", "cvt.ftz.f64.f32", "cvt.rn.ftz.f16.f32"),
    *(f"setp.{name}.ftz.f32" for name in ("eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "num")),
    *(f"cvt.{rounding}.{kind}.{kind}" for rounding in ("rni", "rzi", "rmi", "rpi") for kind in ("f32", "f64")),
    *(f"cvt.{rounding}{ftz}.s32.f32" for rounding in ("rni", "rmi", "rpi") for ftz in ("", ".ftz")),
    *("cvt.rn.f16.f32", "cvt.rn.f16.f64", "cvt.rn.bf16.f32", "cvt.rn.f32.f64"),
    *("cvt.f32.f16", "cvt.f64.f16", "cvt.f32.bf16", "cvt.f64.f32"),
    *(f"setp.{name}.{kind}" for name in ("eq", "ne", "lt", "le", "gt", "ge") for kind in (*INTEGERS, "f32", "f64")),
    *(f"setp.{name}.f32" for name in ("equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan")),
]

_CONSTRAINTS = {"f32": "f", "f64": "d", "16": "h", "32": "r", "64": "l"}
_C_TYPES = {"f": "float", "d": "double", "h": "unsigned short", "r": "unsigned", "l": "unsigned long long"}


def constraint(kind: str) -> str:
    """Letter by which inline assembly asks for a register of a type."""
    return _CONSTRAINTS.get(kind) or _CONSTRAINTS[kind[-2:]]


def from_word(kind: str, word: str) -> str:
    letter = constraint(kind)
    if letter in "fd":
        return f"__uint_as_float({word})" if letter == "f" else f"__longlong_as_double({word})"
    return f"({_C_TYPES[letter]}){word}"


def to_word(kind: str, value: str) -> str:
    letter = constraint(kind)
    if letter in "fd":
        return f"__float_as_uint({value})" if letter == "f" else f"__double_as_longlong({value})"
    return value


def source_of(opcode: str) -> str:
    """A kernel in which thread t applies an instruction to words 4t, 4t+1, … of ``in`` and keeps the result."""
    found = operation(tuple(opcode.split(".")))
    assert found is not None
    kinds = [kind.replace("b", "u") if kind != "bf16" else "u16" for kind in found.sources]
    inputs = ", ".join(
        f'"{constraint(kind)}"({from_word(kind, f"in[4 * t + {place}]")})' for place, kind in enumerate(kinds)
    )
    names = ", ".join(f"%{place}" for place in range(1, 1 + len(kinds)))
    result = "u32" if found.result == "pred" else "u16" if found.result == "bf16" else found.result
    text = f"{opcode} %0, {names};"
    if found.result == "pred":
        text = f"{{ .reg .pred p; {opcode} p, {names}; selp.u32 %0, 1, 0, p; }}"
    return f"""
    extern "C" __global__ void f(unsigned long long* out, const unsigned long long* in) {{
        const int t = blockIdx.x * blockDim.x + threadIdx.x;
        {_C_TYPES[constraint(result)]} x;
        asm volatile("{text}" : "={constraint(result)}"(x) : {inputs});
        out[t] = {to_word(result, "x")};
    }}"""


def run_on(device: Device, path: Path, source: str, out: int, words: Words, block: int, threads: int) -> Words:
    """What a kernel of (out, in) puts in its ``out`` words of 64 bits, zero before."""
    path.write_text(source, encoding="utf-8")
    launch = Launch(grid=(threads // block,), block=(block,))
    kernel = Kernel(
        name="test.f",
        source=path,
        entry="f",
        arguments=("C", "A"),
        launch=lambda problem, config, device: launch,
        configs=[{"block": (block, 1)}],
    )
    plan = Plan(kernel, kernel.problem(8, 8, 8), kernel.usual_configs[0], (launch,))
    code = compile_plan(plan, device.architecture)
    result, buffers = np.zeros(out, np.uint64), (device.allocate("C", 8 * out), device.allocate("A", words.nbytes))
    program = device.load(code)
    try:
        buffers[0].upload(result)
        buffers[1].upload(words)
        assert program.run([BoundLaunch(code.functions["f"], launch, buffers)]) == []
        buffers[0].download(result)
    finally:
        program.close()
        for buffer in buffers:
            buffer.close()
    return result


def on_both(path: Path, source: str, out: int, words: Words, block: int = 128, threads: int = THREADS) -> list[Words]:
    """The same on the emulator and on the GPU."""
    devices = [open_device(name) for name in ("emulator", "cuda")]
    return [run_on(device, path, source, out, words, block, threads) for device in devices]


def operands(kinds: Sequence[str], seed: int) -> Words:
    """Words that hold operands: any bits, small numbers, ends of the range, floats near one another, zeros, NaN."""
    rng = np.random.default_rng(seed)
    columns = np.empty((THREADS, 4), np.uint64)
    for place in range(4):
        kind = kinds[place] if place < len(kinds) else "u64"
        bits = 8 * NUMPY[kind].itemsize
        any_bits = rng.integers(0, 2**64 - 1, THREADS, np.uint64, endpoint=True) >> np.uint64(64 - bits)
        small = any_bits & np.uint64(63)
        ends = rng.choice(np.array([0, 1, 2 ** (bits - 1) - 1, 2 ** (bits - 1), 2**bits - 1], np.uint64), THREADS)
        choices = [any_bits, small, ends]
        if kind in ("f16", "f32", "f64"):
            near = (rng.choice([1.0, 1.5, -1.25, 3.0], THREADS) * 2.0 ** rng.integers(-12, 12, THREADS)).astype(
                NUMPY[kind]
            )
            special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, 1024.5, 60000.0, -40000.0], NUMPY[kind])
            unsigned = f"u{bits // 8}"
            large = near.astype(np.float64) * 2.0 ** rng.integers(10, 60, THREADS)
            choices += [large.astype(NUMPY[kind]).view(unsigned)] if kind != "f16" else []
            choices += [near.view(unsigned), rng.choice(special, THREADS).view(unsigned)]
        columns[:, place] = np.choose(
            rng.integers(0, len(choices), THREADS), [each.astype(np.uint64) for each in choices]
        )
    return columns.reshape(-1)


@pytest.mark.parametrize("opcode", OPCODES)
def test_an_instruction_makes_the_same_bits_on_the_gpu(opcode: str, cu_file: Path) -> None:
    found = operation(tuple(opcode.split(".")))
    assert found is not None
    words = operands(found.sources, seed=len(opcode))
    if opcode.startswith("bf"):
        # Where a field begins and how long it is are numbers up to 255; the PTX manual leaves others open.
        words.reshape(-1, 4)[:, len(found.sources) - 2 : len(found.sources)] &= np.uint64(255)
    ours, theirs = on_both(cu_file, source_of(opcode), THREADS, words)
    if found.result == "f64":
        # Which NaN a 64-bit operation makes is open.
        nan = np.isnan(ours.view(np.float64))
        np.testing.assert_array_equal(nan, np.isnan(theirs.view(np.float64)))
        ours, theirs = ours[~nan], theirs[~nan]
    wrong = np.flatnonzero(ours != theirs)
    cases = [[hex(word) for word in (*words[4 * t : 4 * t + 4], ours[t], theirs[t])] for t in wrong[:5].tolist()]
    assert not cases, f"{len(wrong)} differ: operands, emulator, GPU = {cases}"


def test_atomic_additions_flush_subnormals_in_global_memory_only_as_on_the_gpu(cu_file: Path) -> None:
    source = """
    extern "C" __global__ void f(unsigned long long* out, const unsigned long long* in) {
        __shared__ float s[128];
        const int t = blockIdx.x * blockDim.x + threadIdx.x;
        float* global = (float*)out + 2 * t;
        s[threadIdx.x] = *global = __uint_as_float(in[4 * t]);
        atomicAdd(global, __uint_as_float(in[4 * t + 1]));
        atomicAdd(&s[threadIdx.x], __uint_as_float(in[4 * t + 1]));
        global[1] = s[threadIdx.x];
    }"""
    rng = np.random.default_rng(1)
    bits = rng.choice([0, 1, 3, 0x7FFFFF, 0x800000, 0x800001, 0x1000000, 0x3F800000], (THREADS, 4))
    words = (bits | rng.integers(0, 2, (THREADS, 4)) << 31).astype(np.uint64).reshape(-1)
    ours, theirs = on_both(cu_file, source, THREADS, words)
    np.testing.assert_array_equal(ours, theirs)


def test_shared_addresses_wrap_as_on_the_gpu(cu_file: Path) -> None:
    source = """
    extern "C" __global__ void f(unsigned long long* out, const unsigned long long* in) {
        __shared__ unsigned s[128];
        unsigned address, loaded;
        asm("{ .reg .u64 a; cvta.to.shared.u64 a, %1; cvt.u32.u64 %0, a; }" : "=r"(address) : "l"(s));
        address += 4 * threadIdx.x - 0x100000u;
        asm volatile("st.shared.u32 [%0+1048576], %1;" :: "r"(address), "r"(threadIdx.x) : "memory");
        asm volatile("ld.shared.u32 %0, [%1+1048576];" : "=r"(loaded) : "r"(address) : "memory");
        out[blockIdx.x * blockDim.x + threadIdx.x] = loaded + in[0];
    }"""
    ours, theirs = on_both(cu_file, source, THREADS, np.ones(1, np.uint64))
    np.testing.assert_array_equal(ours, theirs)

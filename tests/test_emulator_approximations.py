"""Functions that a GPU approximates: within the bounds of the PTX ISA, with its special values, and told of."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest
from numpy.typing import NDArray

from mmcore import Kernel
from mmcore.cell import Cell
from mmcore.devices.base import Device
from mmcore.measure import measure
from mmcore_emulator.adapter.device import Emulator
from mmcore_emulator.numerics.floats import from_bfloat16, to_bfloat16
from tests.command_line import mmcore as mmcore_command
from tests.emulation import emulate, ptx_kernel

Numbers: TypeAlias = NDArray[Any]
RNG = np.random.default_rng(7)
INF, NAN = np.inf, np.nan
TINY = 2.0**-140  # subnormal in float32


def computed(opcode: str, *operands: Numbers) -> Numbers:
    """What an instruction makes of float32, float64 or 16-bit operands, one thread for each."""
    dtype, count = operands[0].dtype, len(operands[0])
    register, suffix = {2: ("%h", "b16"), 4: ("%f", "f32"), 8: ("%g", "f64")}[dtype.itemsize]
    loads, stride = [], dtype.itemsize
    for number in range(len(operands)):
        loads.append(f"ld.global.{suffix} {register}{number + 2}, [%d3+{stride * count * (number + 1)}];")
    sources = ", ".join(f"{register}{number + 2}" for number in range(len(operands)))
    body = f"""
    mov.u32 %r2, %ctaid.x; mad.lo.u32 %r1, %r2, 64, %r1; mul.wide.u32 %d3, %r1, {stride}; add.s64 %d3, %d3, %d1;
    {" ".join(loads)} {opcode} {register}1, {sources}; st.global.{suffix} [%d3], {register}1;"""
    data = np.concatenate([np.zeros(count, dtype), *operands])
    made = emulate("", data, grid=(count // 64,), block=(64,), text=ptx_kernel(body), architecture="90a")
    assert made.violations == []
    return made.arrays[0][:count]


def single(*values: float) -> Numbers:
    return np.resize(np.array(values, np.float32), 64)


def ulps(found: Numbers, exact: Numbers) -> float:
    """The largest distance of float32 from exact values, in units in the last place of these, correctly rounded."""
    return float(np.max(np.abs(found.astype(np.longdouble) - exact) / np.spacing(np.abs(exact.astype(np.float32)))))


def relative(found: Numbers, exact: Numbers) -> float:
    return float(np.max(np.abs(found.astype(np.longdouble) - exact) / np.abs(exact)))


def absolute(found: Numbers, exact: Numbers) -> float:
    return float(np.max(np.abs(found.astype(np.longdouble) - exact)))


def wide(exponents: tuple[int, int], signed: bool = True) -> Numbers:
    magnitude = (1 + RNG.random(4096)) * 2.0 ** RNG.integers(*exponents, 4096)
    return (magnitude * (RNG.choice([-1, 1], 4096) if signed else 1)).astype(np.float32)


# Bounds: of the manual, against 80-bit arithmetic.

Bound: TypeAlias = tuple[str, Callable[..., Numbers], tuple[Numbers, ...], Callable[[Numbers, Numbers], float], float]
BOUNDS: list[Bound] = [
    ("rcp.approx.f32", lambda a: 1 / a, (wide((-126, 126)),), ulps, 1),
    ("rcp.approx.f32", lambda a: 1 / a, (wide((-128, -126)),), ulps, 1),
    ("div.approx.f32", lambda a, b: a / b, (wide((-20, 20)), wide((-60, 60))), ulps, 2),
    ("div.full.f32", lambda a, b: a / b, (wide((-126, 126)), wide((0, 126))), ulps, 2),
    ("sqrt.approx.f32", np.sqrt, (wide((-149, 127), signed=False),), relative, 2**-23),
    ("rsqrt.approx.f32", lambda a: 1 / np.sqrt(a), (wide((-149, 127), signed=False),), relative, 2**-22.9),
    ("sin.approx.f32", np.sin, (wide((-30, 2)),), absolute, 2**-20.5),
    ("cos.approx.f32", np.cos, (wide((-30, 2)),), absolute, 2**-20.5),
    ("cos.approx.f32", np.cos, (wide((2, 8)),), absolute, 2**-14.7),
    ("lg2.approx.f32", np.log2, (wide((-1, 1), signed=False),), absolute, 2**-22),
    ("lg2.approx.f32", np.log2, (wide((1, 127), signed=False),), relative, 2**-22),
    ("ex2.approx.f32", np.exp2, (wide((-30, 6)),), ulps, 2),
    ("tanh.approx.f32", np.tanh, (wide((-140, 8)),), relative, 2**-11),
    (
        "rsqrt.approx.f64",
        lambda a: 1 / np.sqrt(a),
        (wide((-126, 127), signed=False).astype(np.float64),),
        relative,
        2**-52,
    ),
    ("ex2.approx.f16", np.exp2, (wide((-14, 3)).astype(np.float16),), relative, 2**-9.9),
    ("tanh.approx.f16", np.tanh, (wide((-14, 3)).astype(np.float16),), absolute, 2**-10.987),
]


@pytest.mark.parametrize("bound", BOUNDS, ids=lambda bound: str(bound[0]))
def test_results_are_within_the_bounds_of_the_manual(bound: Bound) -> None:
    opcode, exact, operands, error, most = bound
    found = computed(opcode, *operands)
    assert error(found, exact(*(each.astype(np.longdouble) for each in operands))) <= most


@pytest.mark.parametrize(
    ("opcode", "exact", "most"), [("ex2.approx.ftz.bf16", np.exp2, 2**-7), ("tanh.approx.bf16", np.tanh, 2**-8)]
)
def test_those_of_bfloat16_too(opcode: str, exact: Callable[[Numbers], Numbers], most: float) -> None:
    bits = to_bfloat16(wide((-14, 5)))
    numbers = from_bfloat16(bits).astype(np.longdouble)
    found = from_bfloat16(computed(opcode, bits))
    assert relative(found, exact(numbers)) <= most if "ex2" in opcode else absolute(found, exact(numbers)) <= most


def test_pairs_are_computed_half_by_half() -> None:
    halves = wide((-10, 3)).astype(np.float16)
    pairs = halves.view(np.float32)
    for name in ("ex2.approx", "tanh.approx"):
        found = computed_pairs(f"{name}.f16x2", pairs)
        np.testing.assert_array_equal(found.view(np.float16), computed(f"{name}.f16", halves))


def computed_pairs(opcode: str, pairs: Numbers) -> Numbers:
    body = f"""
    mov.u32 %r2, %ctaid.x; mad.lo.u32 %r1, %r2, 64, %r1; mul.wide.u32 %d3, %r1, 4; add.s64 %d3, %d3, %d1;
    ld.global.b32 %r3, [%d3]; {opcode} %r4, %r3; st.global.b32 [%d3], %r4;"""
    return emulate("", pairs, grid=(len(pairs) // 64,), block=(64,), text=ptx_kernel(body), architecture="90a").arrays[
        0
    ]


# Special values: the manual's tables.

SPECIAL = {
    "rcp.approx.f32": ((-INF, -0.0), (-0.0, -INF), (0.0, INF), (INF, 0.0), (NAN, NAN), (2.0**127, 2.0**-127)),
    "rcp.approx.ftz.f32": ((TINY, INF), (-TINY, -INF), (2.0**127, 0.0), (-(2.0**127), -0.0)),
    "sqrt.approx.f32": ((-INF, NAN), (-1.0, NAN), (-0.0, -0.0), (0.0, 0.0), (INF, INF), (NAN, NAN), (TINY, 2.0**-70)),
    "sqrt.approx.ftz.f32": ((-TINY, -0.0), (TINY, 0.0)),
    "rsqrt.approx.f32": ((-INF, NAN), (-1.0, NAN), (-0.0, -INF), (0.0, INF), (INF, 0.0), (NAN, NAN), (TINY, 2.0**70)),
    "rsqrt.approx.ftz.f32": ((-TINY, -INF), (TINY, INF)),
    "sin.approx.f32": ((-INF, NAN), (-0.0, -0.0), (0.0, 0.0), (INF, NAN), (NAN, NAN), (TINY, TINY)),
    "sin.approx.ftz.f32": ((-TINY, -0.0), (TINY, 0.0)),
    "cos.approx.f32": ((-INF, NAN), (-0.0, 1.0), (0.0, 1.0), (INF, NAN), (NAN, NAN)),
    "cos.approx.ftz.f32": ((TINY, 1.0),),
    "lg2.approx.f32": (
        (-INF, NAN),
        (-1.0, NAN),
        (-0.0, -INF),
        (0.0, -INF),
        (INF, INF),
        (NAN, NAN),
        (TINY, -140.0),
        (-TINY, NAN),
    ),
    "lg2.approx.ftz.f32": ((-TINY, -INF), (TINY, -INF)),
    "ex2.approx.f32": ((-INF, 0.0), (-0.0, 1.0), (0.0, 1.0), (INF, INF), (NAN, NAN), (-140.0, TINY), (128.0, INF)),
    "ex2.approx.ftz.f32": ((-140.0, 0.0), (TINY, 1.0)),
    "tanh.approx.f32": ((-INF, -1.0), (-0.0, -0.0), (0.0, 0.0), (INF, 1.0), (NAN, NAN), (TINY, TINY)),
}


@pytest.mark.parametrize("opcode", SPECIAL)
def test_special_values(opcode: str) -> None:
    for given, expected in SPECIAL[opcode]:
        found = computed(opcode, single(given))[:1]
        wanted = np.array([expected], np.float32) if expected == expected else np.array([0x7FFFFFFF], np.uint32)
        assert found.view(np.uint32) == wanted.view(np.uint32), given


@pytest.mark.parametrize(
    ("opcode", "a", "b", "expected"),
    [
        ("div.approx.f32", 3.0, 2.0**127, 0.0),
        ("div.approx.f32", -3.0, 2.0**127, -0.0),
        ("div.approx.f32", INF, 2.0**127, NAN),
        ("div.approx.f32", 3.0, 2.0**126, 3 * 2.0**-126),
        ("div.approx.f32", INF, INF, NAN),
        ("div.approx.f32", 3.0, INF, 0.0),
        ("div.approx.f32", 0.0, 0.0, NAN),
        ("div.full.f32", 3.0 * 2.0**100, 2.0**127, 3 * 2.0**-27),
        ("div.approx.ftz.f32", TINY, 2.0, 0.0),
        ("div.full.ftz.f32", 2.0**-126, 4.0, 0.0),
        ("div.full.ftz.f32", 1.0, -TINY, -INF),
    ],
)
def test_special_quotients(opcode: str, a: float, b: float, expected: float) -> None:
    found = computed(opcode, single(a), single(b))[:1]
    wanted = np.array([expected], np.float32) if expected == expected else np.array([0x7FFFFFFF], np.uint32)
    assert found.view(np.uint32) == wanted.view(np.uint32)


@pytest.mark.parametrize(
    ("opcode", "given", "expected"),
    [
        ("rcp.approx.ftz.f64", 0x4000_0000_FFFF_FFFF, 0x3FE0_0000_0000_0000),  # the lower word is ignored
        ("rcp.approx.ftz.f64", 0x7FF0_0000_0000_0001, 0),  # so this is no NaN
        ("rcp.approx.ftz.f64", 0x7FF8_0000_0000_0000, 0x7FFF_FFFF_0000_0000),
        ("rcp.approx.ftz.f64", 0x8008_0000_0000_0000, 0xFFF0_0000_0000_0000),
        ("rcp.approx.ftz.f64", 0x4008_0000_0000_0000, 0x3FD5_5555_0000_0000),
        ("rsqrt.approx.ftz.f64", 0x0008_0000_0000_0000, 0x7FF0_0000_0000_0000),
        ("rsqrt.approx.ftz.f64", 0xBFF0_0000_0000_0000, 0x7FFF_FFFF_0000_0000),
        ("rsqrt.approx.ftz.f64", 0x4010_0000_0000_0000, 0x3FE0_0000_0000_0000),
    ],
)
def test_the_upper_words_of_float64(opcode: str, given: int, expected: int) -> None:
    found = computed(opcode, np.full(64, given, np.uint64).view(np.float64))
    assert hex(found.view(np.uint64)[0]) == hex(expected)


# What results say.

SCALED = """
extern "C" __global__ void scaled(const float* A, const float* B, float* C, int n)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < n; ++k)
        sum += A[row * n + k] * B[k * n + column];
    C[row * n + column] = WRITTEN;
}"""


def scaled(folder: Path, written: str) -> Kernel:
    (folder / "scaled.cu").write_text(SCALED.replace("WRITTEN", written))
    return Kernel(name="tests.scaled", source=folder / "scaled.cu", configs=[{"block": (8, 8)}])


@pytest.mark.parametrize(
    ("written", "count"),
    [
        ("sum", None),
        ("sum * rsqrtf(1.0f)", 256),
        ("sum * exp2f(n == 17)", 256),
        ("n == 17 ? __fdividef(sum, row) : sum", None),  # where no thread comes by
    ],
)
def test_a_result_says_how_many_operations_are_approximate(tmp_path: Path, written: str, count: int | None) -> None:
    result = measure(Cell("tests.scaled", 16, 16, 16), Emulator(), scaled(tmp_path, written))
    assert result.verified
    assert result.to_json().get("approximate_operations") == count


def test_the_report_says_that_bits_may_differ(tmp_path: Path, device: Device) -> None:
    if device.supports_timing:
        pytest.skip("a GPU has bits of its own")
    kernel = scaled(tmp_path, "sum * exp2f(n == 17)")
    asked = ("run", str(kernel.source), "--size", "16", "--block", "8", "--device", "emulator")
    said = "256 operations (such as div.approx or ex2.approx) are only approximate on a GPU"
    report = " ".join(mmcore_command(*asked).stdout.split())
    assert f"{said}: bits of C may differ there, within the bounds of the PTX manual TEST PASS" in report
    assert json.loads(mmcore_command(*asked, "--json").stdout)["figures"]["approximate_operations"] == 256
    scaled(tmp_path, "sum")
    assert "approximate" not in mmcore_command(*asked).stdout

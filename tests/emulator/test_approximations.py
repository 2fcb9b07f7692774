"""Functions that a GPU approximates: within the bounds of the PTX manual, with its special values, and reported."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from mmcore import Kernel
from mmcore.cell import Cell
from mmcore.executor.choose_device import open_device
from mmcore.measure import measure
from tests.command_line import mmcore as mmcore_command
from tests.emulation import computed
from tests.emulator.kernels import kernel_source
from tests.emulator.numbers import types_of, value

Numbers = NDArray[Any]
RNG = np.random.default_rng(7)


def ulps(found: Numbers, exact: Numbers) -> Numbers:
    """Return distances in units in the last place of the correctly rounded float32."""
    return absolute(found, exact) / np.spacing(np.abs(exact.astype(np.float32)))


def relative(found: Numbers, exact: Numbers) -> Numbers:
    return absolute(found, exact) / np.abs(exact)


def absolute(found: Numbers, exact: Numbers) -> Numbers:
    return np.asarray(np.abs(found - exact))


#: Opcode; function, as 80-bit arithmetic has it; exponents of the operands (of positive ones with "+"); error; bound.
BOUNDS: list[tuple[str, Callable[..., Numbers], str, Callable[[Numbers, Numbers], Numbers], float]] = [
    ("rcp.approx.f32", lambda a: 1 / a, "-126,126", ulps, 1),
    ("rcp.approx.f32", lambda a: 1 / a, "-128,-126", ulps, 1),
    ("div.approx.f32", lambda a, b: a / b, "-20,20 -60,60", ulps, 2),
    ("div.full.f32", lambda a, b: a / b, "-126,126 0,126", ulps, 2),
    ("sqrt.approx.f32", np.sqrt, "+-149,127", relative, 2**-23),
    ("rsqrt.approx.f32", lambda a: 1 / np.sqrt(a), "+-149,127", relative, 2**-22.9),
    ("sin.approx.f32", np.sin, "-30,2", absolute, 2**-20.5),
    ("cos.approx.f32", np.cos, "-30,2", absolute, 2**-20.5),
    ("cos.approx.f32", np.cos, "2,8", absolute, 2**-14.7),
    ("lg2.approx.f32", np.log2, "+-1,1", absolute, 2**-22),
    ("lg2.approx.f32", np.log2, "+1,127", relative, 2**-22),
    ("ex2.approx.f32", np.exp2, "-30,6", ulps, 2),
    ("tanh.approx.f32", np.tanh, "-140,8", relative, 2**-11),
    ("rsqrt.approx.f64", lambda a: 1 / np.sqrt(a), "+-126,127", relative, 2**-52),
    ("ex2.approx.f16", np.exp2, "-14,3", relative, 2**-9.9),
    ("tanh.approx.f16", np.tanh, "-14,3", absolute, 2**-10.987),
    ("ex2.approx.ftz.bf16", np.exp2, "-14,5", relative, 2**-7),
    ("tanh.approx.bf16", np.tanh, "-14,5", absolute, 2**-8),
]


def to_type(numbers: Numbers, kind: str) -> tuple[Numbers, Numbers]:
    """Return bits of numbers of a type that are near others, and these numbers in 80 bits."""
    if kind == "bf16":
        bits = numbers.astype(np.float32).view(np.uint32) >> 16
    else:
        dtype = {"f16": np.float16, "f32": np.float32, "f64": np.float64}[kind]
        bits = numbers.astype(dtype).view(f"u{np.dtype(dtype).itemsize}")
    return bits, from_type(bits, kind)


def from_type(bits: Numbers, kind: str) -> Numbers:
    return np.array([value(int(each), kind) for each in bits], np.longdouble)


@pytest.mark.parametrize(("opcode", "function", "exponents", "error", "bound"), BOUNDS)
def test_a_result_is_within_the_bound_of_the_manual(
    opcode: str, function: Callable[..., Numbers], exponents: str, error: Callable[..., Numbers], bound: float
) -> None:
    kind, operands = types_of(opcode)[1], []
    for ends in exponents.split():
        low, high = map(int, ends.removeprefix("+").split(","))
        magnitude = (1 + RNG.random(4096)) * 2.0 ** RNG.integers(low, high, 4096)
        numbers = magnitude if ends[0] == "+" else magnitude * RNG.choice([-1, 1], 4096)
        operands.append(to_type(numbers.astype(np.float32), kind))
    found = from_type(computed(opcode, *(bits for bits, _ in operands))[0], kind)
    assert np.max(error(found, function(*(numbers for _, numbers in operands)))) <= bound


# What results say.

SCALED = kernel_source("scaled")


def scaled(folder: Path, written: str) -> Kernel:
    (folder / "scaled.cu").write_text(SCALED.replace("WRITTEN", written))
    return Kernel(name="tests.scaled", source=folder / "scaled.cu", configs=[{"block": (8, 8)}])


@pytest.mark.parametrize(
    ("written", "count"),
    [
        ("sum", None),
        ("sum * rsqrtf(1.0f)", 256),
        ("sum * exp2f(n == 17)", 256),
        ("n == 17 ? __fdividef(sum, row) : sum", None),  # no thread takes this branch
    ],
)
def test_a_result_contains_the_number_of_approximate_operations(
    tmp_path: Path, written: str, count: int | None
) -> None:
    result = measure(Cell("tests.scaled", 16, 16, 16), open_device("emulator"), scaled(tmp_path, written))
    assert result.verified
    assert result.to_json().get("approximate_operations") == count


def test_the_report_warns_that_bits_may_differ(tmp_path: Path) -> None:
    kernel = scaled(tmp_path, "sum * exp2f(n == 17)")
    command = ("run", str(kernel.source), "--size", "16", "--block", "8", "--device", "emulator")
    sentence = "256 operations (such as div.approx or ex2.approx) are only approximate on a GPU"
    report = " ".join(mmcore_command(*command).stdout.split())
    assert f"{sentence}: bits of C may differ there, within the bounds of the PTX manual TEST PASS" in report
    assert json.loads(mmcore_command(*command, "--json").stdout)["figures"]["approximate_operations"] == 256
    scaled(tmp_path, "sum")
    assert "approximate" not in mmcore_command(*command).stdout

"""Tensor cores compared with MMA-Sim, an independent model: all its instructions on all architectures."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from mmcore_emulator.isa.matrix.mma import MmaKind, mma_kind
from mmcore_emulator.tensor_cores.elements import values
from tests.emulation import emulate

pytest.importorskip("mmasim", reason="mmasim is not installed; python -m tox run -e mmasim installs it")
from bench.studies.mmasim_comparison import ARCHITECTURES, Compared, compared
from bench.studies.tensor_cores.numbers import FLOATS

EVERY = [pytest.param(each, id=f"{each.name} on {each.capability}") for each in compared()]
WARPS = 4


def test_each_architecture_has_instructions_to_compare() -> None:
    assert {each.capability for each in compared()} == ARCHITECTURES.keys()


@pytest.mark.parametrize("each", EVERY)
def test_sums_have_the_bits_of_mmasim(each: Compared) -> None:
    for kind in FLOATS:
        counts = each.differences(kind, 128)
        assert counts["differ"] == 0, (kind, counts)
        # A NaN of float64 has the payload of an operand, which no two implementations choose alike.
        assert counts["NaN"] == 0 or each.result == "f64", (kind, counts)


@pytest.mark.parametrize("each", [param for param in EVERY if str(param.id).startswith("mma ")])
def test_an_emulated_instruction_has_the_bits_of_mmasim(each: Compared) -> None:
    shape, *types = each.form.split(".")
    opcode = "mma", "sync", "aligned", shape, "row", "col", *types
    kind = mma_kind(opcode)
    assert kind is not None
    rng = np.random.default_rng(7)
    d, *fragments = kind.fragments()
    size = 8 if kind.a == "f64" else 4
    registers = [rng.integers(0, 256, (WARPS, 32, x.register_count * size), np.uint8) for x in fragments]
    empty = np.zeros((WARPS, 32, d.register_count * size), np.uint8)
    architecture = "".join(map(str, each.capability))
    source = kernel(".".join(opcode), kind, size)
    made = emulate(source, *registers, empty, block=(WARPS * 32,), architecture=architecture)
    assert made.violations == []
    a, b, c, found = (
        x.unpack(words(held, size)).reshape(-1, *x.shape)
        for x, held in zip((*fragments, d), (*registers, made.arrays[3]), strict=True)
    )
    expected = each.simulated(a, b, c).reshape(found.shape)
    nan = np.isnan(values(expected.view(found.dtype), kind.d))
    assert not nan.all()
    np.testing.assert_array_equal(np.isnan(values(found, kind.d)), nan)
    np.testing.assert_array_equal(found[~nan], expected.view(found.dtype)[~nan])


def words(held: NDArray[np.uint8], size: int) -> list[NDArray[np.generic]]:
    """Return the registers [W, 32] of bytes [W, 32, registers · size]."""
    whole = held.view(np.float64 if size == 8 else np.uint32)
    return [whole[..., index] for index in range(whole.shape[2])]


def kernel(opcode: str, kind: MmaKind, size: int) -> str:
    """Return a kernel that loads each lane's registers, runs the instruction and stores the result."""
    lines, lists = [], {}
    counts = [fragment.register_count for fragment in kind.fragments()]
    for letter, count in zip("dabc", counts, strict=True):
        names = [f"{letter}{index}" for index in range(count)]
        lists[letter] = "{" + ", ".join(names) + "}"
        lines.append(f".reg .{'f64' if size == 8 else 'b32'} {', '.join(names)};")
        if letter != "d":
            place = "abcd".index(letter)
            lines += [f"ld.global.b{size * 8} {name}, [%{place}+{size * i}];" for i, name in enumerate(names)]
    lines.append(f"{opcode} {lists['d']}, {lists['a']}, {lists['b']}, {lists['c']};")
    lines += [f"st.global.b{size * 8} [%3+{size * index}], d{index};" for index in range(counts[0])]
    steps = dict(zip("dabc", (count * size for count in counts), strict=True))
    pointers = ", ".join(f'"l"({letter} + threadIdx.x * {steps[letter]})' for letter in "abcd")
    return f"""
    extern "C" __global__ void f(const char* a, const char* b, const char* c, char* d) {{
        asm volatile("{{ {" ".join(lines)} }}" :: {pointers} : "memory");
    }}"""

"""Tensor cores of each architecture: how an instruction adds up."""

from __future__ import annotations

import numpy as np
import pytest

from mmcore_emulator.isa.matrix.mma import mma_kind
from mmcore_emulator.isa.matrix.wmma import wmma_mma_kind
from mmcore_emulator.tensor_cores.arithmetic import arithmetic_of
from mmcore_emulator.tensor_cores.summation import multiply_add
from tests.emulation import CAPABILITIES, emulate
from tests.emulator.kernels import kernel_source
from tests.emulator.oracles import HEADERS, zeros

NAMES = [name for name in CAPABILITIES if name != "emulator"]


MMA = "mma.sync.aligned.m8n8k4.row.col."
WMMA = "wmma.mma.sync.aligned.row.col.m16n16k16."


def of_equal_lanes(opcode: str, a: list[float], b: list[float], c: int, architecture: str) -> str:
    """Return D's first register where each lane has the elements ``a`` and ``b`` over and over, and registers ``c``."""
    kind = mma_kind(tuple(opcode.split("."))) or wmma_mma_kind(tuple(opcode.split(".")))
    assert kind is not None
    names, moves = [], []
    halves = (np.array(each, np.float16).view(np.uint32).tolist() for each in (a, b))
    counts = [fragment.register_count for fragment in kind.fragments()]
    for letter, count, registers in zip("dabc", counts, ([0], *halves, [c]), strict=True):
        names.append("{" + ", ".join(f"{letter}{index}" for index in range(count)) + "}")
        moves += [f".reg .b32 {names[-1][1:-1]};"]
        moves += [f"mov.b32 {letter}{index}, {registers[index % len(registers)]};" for index in range(count)]
    asm = f"{{ {' '.join(moves)} {opcode} {', '.join(names)}; mov.b32 %0, d0; }}"
    source = f'extern "C" __global__ void f(unsigned* d) {{ asm volatile("{asm}" : "=r"(d[threadIdx.x])); }}'
    (made,) = emulate(source, zeros(32, np.uint32), architecture=architecture).arrays
    assert len(set(made.tolist())) == 1
    return hex(int(made[0]))


@pytest.mark.parametrize(
    ("opcode", "architecture", "a", "b", "c", "d"),
    [
        # Turing's tensor cores keep 23 bits as Volta's do; later ones have no such instruction, and round.
        (MMA + "f32.f16.f16.f32", "75", [1, 2**-12, 0, 0], [1, 2**-12, 0, 0], 0xBF800000, "0x0"),
        (MMA + "f32.f16.f16.f32", "75", [1, 2**-12, 0, 0], [1, 1.5 * 2**-12, 0, 0], 0, "0x3f800000"),
        (MMA + "f32.f16.f16.f32", "80", [1, 2**-12, 0, 0], [1, 1.5 * 2**-12, 0, 0], 0, "0x3f800001"),
        (MMA + "f32.f16.f16.f32", "90", [1, 2**-12, 0, 0], [1, 1.5 * 2**-12, 0, 0], 0, "0x3f800001"),
        (MMA + "f32.f16.f16.f16", "75", [2**-19] * 4, [2**-19] * 4, 0x00010001, "0x33800000"),
        (MMA + "f32.f16.f16.f16", "80", [2**-19] * 4, [2**-19] * 4, 0x00010001, "0x33800800"),
        (MMA + "f16.f16.f16.f16", "86", [16, 1, -16, 0], [1, 2**-11, 1, 0], 0x00100010, "0x10001000"),
        # Sums are kept in float32, and rounded to float16 at last.
        (WMMA + "f16.f32", "75", [2**-7] * 2, [2**-7] * 2, 0x3F800000, "0x3c013c01"),
        (WMMA + "f16.f32", "80", [2**-7] * 2, [2**-7] * 2, 0x3F800000, "0x3c013c01"),
        (WMMA + "f16.f16", "80", [2**-7] * 2, [2**-7] * 2, 0x3C003C00, "0x3c003c00"),
        (WMMA + "f32.f16", "80", [2**-7] * 2, [2**-7] * 2, 0x3C003C00, "0x3f802000"),
    ],
)
def test_an_instruction_adds_up_as_its_machine_code_does(
    opcode: str, architecture: str, a: list[float], b: list[float], c: int, d: str
) -> None:
    assert of_equal_lanes(opcode, a, b, c, architecture) == d


@pytest.mark.parametrize("name", NAMES)
def test_a_kernel_with_wmma_has_the_arithmetic_of_its_architecture(name: str) -> None:
    rng = np.random.default_rng(5)
    a, b = (rng.normal(size=(2, 16, 16)) * 2.0 ** rng.integers(-8, 8, (2, 16, 16))).astype(np.float16)
    expected, older, newer = (
        multiply_add(a, b, np.zeros((16, 16)), arithmetic_of(capability, "mma", "f16", "f16", "f32", 16))
        for capability in (CAPABILITIES[name], (8, 0), (9, 0))
    )
    architecture = "90a" if CAPABILITIES[name] == (9, 0) else name[-2:]
    out = np.zeros((16, 16), np.float32)
    made = emulate(kernel_source("wmma"), a, b, out, options=HEADERS, architecture=architecture)
    assert made.violations == []
    np.testing.assert_array_equal(made.arrays[2], expected)
    assert not np.array_equal(older, newer)

"""Tensor cores: pipelines that feed them, right ones and broken ones, and how each architecture adds up."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from mmcore_emulator.isa.matrix.mma import mma_kind
from mmcore_emulator.isa.matrix.wmma import wmma_mma_kind
from mmcore_emulator.tensor_cores.arithmetic import arithmetic_of
from mmcore_emulator.tensor_cores.summation import multiply_add
from tests.emulation import CAPABILITIES, Emulated, emulate
from tests.emulator.kernels import HANDING_ON, PIPELINE, RNG, STEPS, WARPGROUP, A, B, kernel_source
from tests.emulator.oracles import HEADERS, zeros

NAMES = [name for name in CAPABILITIES if name != "emulator"]


def product(source: str) -> NDArray[np.float32]:
    made = emulate(source, A.view(np.uint16), B.view(np.uint16), np.zeros((16, 8), np.float32), architecture="90a")
    assert source != PIPELINE or made.violations == []
    return made.arrays[2]


def test_a_pipeline_of_copies_feeds_the_tensor_cores() -> None:
    np.testing.assert_array_equal(product(PIPELINE), A.astype(np.float64) @ B.astype(np.float64))


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ('if (tile < 3) asm volatile("cp.async.wait_group 1;"); else asm volatile("cp.async.wait_group 0;");', ""),
        ("cp.async.wait_group 1", "cp.async.wait_group 2"),
        ('asm volatile("cp.async.commit_group;");', ""),
        ("x2.trans", "x2"),
        ("tile * 16 + t % 2 * 8", "tile * 16"),
    ],
    ids=["no wait", "a wait too short", "no group", "not transposed", "half a tile"],
)
def test_a_broken_pipeline_makes_a_wrong_product(right: str, wrong: str) -> None:
    assert right in PIPELINE
    assert not np.array_equal(product(PIPELINE.replace(right, wrong)), A.astype(np.float64) @ B.astype(np.float64))


def handed_on(source: str = HANDING_ON) -> Emulated:
    return emulate(source, STEPS, np.zeros(64, np.float32), block=(96,), architecture="90a")


def test_a_producer_and_consumers_take_turns() -> None:
    made = handed_on()
    assert made.violations == []
    np.testing.assert_array_equal(made.arrays[1], STEPS.sum(axis=0)[::-1])


@pytest.mark.parametrize(
    ("right", "wrong", "kind"),
    [
        ("_, [%0], 256;", "_, [%0], 512;", "deadlock"),
        ("mbarrier.init.shared::cta.b64 [%0], 64;", "mbarrier.init.shared::cta.b64 [%0], 65;", "deadlock"),
        ('asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(at(&full)));', "", "mbarrier-misuse"),
        ("mbarrier.init.shared::cta.b64 [%0], 64;", "mbarrier.init.shared::cta.b64 [%0], 8;", "deadlock"),
    ],
    ids=["missing bytes", "a missing thread", "no mbarrier", "a phase of too few threads"],
)
def test_a_broken_turn_is_a_violation(right: str, wrong: str, kind: str) -> None:
    assert right in HANDING_ON
    assert (kind, 4) in {(each.kind, each.line) for each in handed_on(HANDING_ON.replace(right, wrong)).violations}


@pytest.mark.parametrize("added", [0, 1])
def test_a_warpgroup_multiplies_the_matrices_of_its_descriptors(added: int) -> None:
    a, b = (RNG.integers(-8, 9, (rows, 16)).astype(np.float16) for rows in (64, 8))
    out = np.zeros((64, 8), np.float32)
    launch = {"block": (128,), "options": (f"-DADD={added}",), "architecture": "90a"}
    made = emulate(WARPGROUP, a.view(np.uint16), b.view(np.uint16), out, **launch)  # type: ignore[arg-type]
    assert made.violations == []
    np.testing.assert_array_equal(made.arrays[2], added - a.astype(np.float64) @ b.T.astype(np.float64))


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


WMMA_KERNEL = kernel_source("wmma")


def product_of_wmma(name: str, a: NDArray[np.float16], b: NDArray[np.float16]) -> NDArray[np.float32]:
    """Return A·B of 16×16 as a kernel with wmma computes it on an emulated architecture."""
    major, minor = CAPABILITIES[name]
    out = np.zeros((16, 16), np.float32)
    made = emulate(WMMA_KERNEL, a, b, out, options=HEADERS, architecture=f"{major}{minor}" + "a" * (major == 9))
    assert made.violations == []
    return made.arrays[2]


def test_tensor_cores_add_up_as_those_of_their_architecture() -> None:
    """Add a term of 1 and fifteen of 2^-24 or 2^-25. Only Hopper keeps the latter.

    Turing's, Ampere's and Ada's tensor cores are the same in the published model.
    """
    a, b = np.zeros((2, 16, 16), np.float16)
    a[0], a[1] = 2.0**-12, 2.0**-13
    a[:, 0], b[:, :] = 1, 2.0**-12
    b[0] = 1
    found = {name: product_of_wmma(name, a, b)[:2, 0].tolist() for name in NAMES}
    assert found.pop("emulator:sm_90") == [1 + 14 * 2.0**-24, 1 + 6 * 2.0**-24]
    assert found == {f"emulator:sm_{each}": [1 + 14 * 2.0**-24, 1.0] for each in (75, 80, 86, 89)}


@pytest.mark.parametrize("name", NAMES)
def test_a_kernel_with_wmma_has_the_arithmetic_of_its_architecture(name: str) -> None:
    rng = np.random.default_rng(5)
    a, b = (rng.normal(size=(2, 16, 16)) * 2.0 ** rng.integers(-8, 8, (2, 16, 16))).astype(np.float16)
    expected, older, newer = (
        multiply_add(a, b, np.zeros((16, 16)), arithmetic_of(capability, "mma", "f16", "f16", "f32", 16))
        for capability in (CAPABILITIES[name], (8, 0), (9, 0))
    )
    np.testing.assert_array_equal(product_of_wmma(name, a, b), expected)
    assert not np.array_equal(older, newer)

"""Accesses with hints, of vectors and of 128 bits; atomic operations on halves and vectors; which memory it is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mmcore_emulator.errors import UnsupportedInstruction
from mmcore_emulator.executor.translate import translate
from mmcore_emulator.numerics.floats import from_bfloat16, to_bfloat16
from tests.emulation import Emulated, emulate, function_of, ptx_kernel, words


def run(body: str, data: Any, block: int = 32, module: str = "") -> Emulated:
    wide = ".reg .b128 %q<9>; "
    text = ptx_kernel(wide + body, module=module)
    return emulate("", np.array(data), block=(block,), text=text, architecture="90a")


@pytest.mark.parametrize(
    "access",
    [
        "ld.global.L2::cache_hint.u32 %r2, [%d2], %d9; st.global.L1::no_allocate.L2::cache_hint.u32 [%d2], %r2, %d9;",
        "ld.global.nc.L1::no_allocate.L2::128B.u32 %r2, [%d2]; st.global.cs.u32 [%d2], %r2;",
        "ld.relaxed.cluster.global.u32 %r2, [%d2]; st.mmio.relaxed.sys.global.u32 [%d2], %r2;",
        "ldu.global.u32 %r2, [%d2]; st.release.cluster.global.u32 [%d2], %r2;",
        "ld.global.L1::evict_unchanged.u32 %r2, [%d2]; st.global.wb.u32 [%d2], %r2;",
        "prefetch.global.L2 [%d2]; prefetchu.L1 [%d2]; applypriority.global.L2::evict_normal [%d2], 128;",
        "discard.global.L2 [%d2], 128; createpolicy.fractional.L2::evict_last.b64 %d9, 1.0;",
    ],
)
def test_hints_change_nothing(access: str) -> None:
    made = words(f"mov.u64 %d9, 0; {access}", range(100, 132))
    assert made.violations == []
    assert made.arrays[0].tolist() == list(range(100, 132))


def test_128_bits_are_moved_whole_and_in_parts() -> None:
    body = """
    ld.global.b128 %q1, [%d1]; mov.b128 {%d3, %d4}, %q1; mov.b128 %q2, {%d4, %d3}; mov.b128 %q3, %q2;
    st.global.b128 [%d1+16], %q3; mov.b128 {%r2, _, %r3, %r4}, %q1; st.global.v2.u32 [%d1+32], {%r4, %r2};"""
    data = np.array([0x7FF0000000000001, 0xFFF4000000000000, 0, 0, 0], np.uint64)  # NaN, if they were numbers
    made = run(body, data, block=1)
    assert made.violations == []
    expected = [data[0], data[1], data[1], data[0], data[1] >> np.uint64(32) | data[0] << np.uint64(32)]
    assert made.arrays[0].tolist() == [int(each) for each in expected]


def test_128_bits_need_an_address_that_is_a_multiple() -> None:
    (violation,) = run("ld.global.b128 %q1, [%d1+8]; st.global.b128 [%d1], %q1;", np.zeros(4, np.uint64), 1).violations
    assert violation.kind == "misaligned"


def test_128_bits_are_swapped_bit_by_bit() -> None:
    body = """
    mov.u64 %d3, 0x7ff0000000000001; mov.u64 %d4, 5; cvt.u64.u32 %d5, %r1; add.u64 %d5, %d5, 1;
    mov.b128 %q1, {%d3, %d4}; mov.b128 %q2, {%d5, %d5};
    atom.global.cas.b128 %q3, [%d1], %q1, %q2; mov.b128 {%d6, %d7}, %q3;
    mul.wide.u32 %d8, %r1, 8; add.u64 %d8, %d8, %d1; st.global.u64 [%d8+32], %d6;
    atom.global.exch.b128 %q4, [%d1+16], %q2;"""
    data = np.array([0x7FF0000000000001, 5, 0, 0, *[0] * 4], np.uint64)
    made = run(body, data, block=4).arrays[0]
    assert made[0] == made[1] != data[0]
    assert made[2] == made[3] != 0
    assert sorted(made[4:].tolist()) == sorted([int(data[0]), *[int(made[0])] * 3])


@pytest.mark.parametrize("access", ["ld.global.v8.f32", "ld.global.v4.f64", "ld.global.v4.b64"])
def test_accesses_of_256_bits_are_refused(access: str) -> None:
    register = "%f" if access.endswith("f32") else "%g" if access.endswith("f64") else "%d"
    elements = ", ".join(f"{register}{number}" for number in range(1, 9 if "v8" in access else 5))
    with pytest.raises(UnsupportedInstruction, match=access.replace(".", r"\.")):
        translate(function_of(ptx_kernel(f"{access} {{{elements}}}, [%d1];")))


def test_eight_octets_are_a_vector() -> None:
    registers = ", ".join(f"%h{number}" for number in range(2, 10))
    backwards = ", ".join(f"%h{number}" for number in range(9, 1, -1))
    made = run(
        f"ld.global.v8.u8 {{{registers}}}, [%d1]; st.global.v8.u8 [%d1], {{{backwards}}};",
        np.arange(8, dtype=np.uint8),
        1,
    )
    assert made.arrays[0].tolist() == list(range(8))[::-1]


# Atomic operations.


@pytest.mark.parametrize(("kind", "one"), [("f16", 0x3C00), ("bf16", 0x3F80)])
@pytest.mark.parametrize("way", ["red", "atom"])
def test_halves_are_added_one_by_one(kind: str, one: int, way: str) -> None:
    target = "%h2, " if way == "atom" else ""
    body = f"mov.b16 %h1, {one}; {way}.global.add.noftz.{kind} {target}[%d1], %h1;"
    made = run(body, np.zeros(2, np.uint16)).arrays[0]
    number = made[:1].view(np.float16) if kind == "f16" else from_bfloat16(made[:1])
    assert number[0] == 32
    assert made[1] == 0


def test_pairs_are_added_half_by_half_and_found_as_they_were() -> None:
    body = """
    mov.b32 %r2, 0x40003c00; atom.global.add.noftz.f16x2 %r3, [%d1], %r2; st.global.u32 [%d2+4], %r3;"""
    made = run(body, np.zeros(33, np.uint32)).arrays[0]
    assert made[:1].view(np.float16).tolist() == [32, 64]
    found = sorted(made[1:].view(np.float16)[::2].tolist())
    assert found == list(range(32))


def test_a_sum_of_halves_is_rounded_each_time() -> None:
    body = "mov.b16 %h1, 0x3c00; red.global.add.noftz.f16 [%d1], %h1;"
    assert run(body, np.array([2048], np.float16)).arrays[0][0] == 2048
    large = to_bfloat16(np.array([256], np.float32))
    assert run(body.replace("f16", "bf16").replace("0x3c00", "0x3f80"), large).arrays[0][0] == large[0]


def test_vectors_are_added_element_by_element() -> None:
    body = """
    cvt.rn.f32.u32 %f1, %r1; mov.f32 %f2, 1.0; mov.f32 %f3, 2.0; mov.f32 %f4, 0.5;
    red.global.add.v4.f32 [%d1], {%f1, %f2, %f3, %f4};
    atom.global.v2.f32.add {%f5, _}, [%d1+16], {%f2, %f3};"""
    made = run(body, np.zeros(6, np.float32))
    assert made.violations == []
    assert made.arrays[0].tolist() == [496, 32, 64, 16, 32, 64]
    (violation,) = run("red.global.add.v2.f32 [%d1+4], {%f1, %f2};", np.zeros(6, np.float32)).violations
    assert violation.kind == "misaligned"


def test_vectors_of_halves_have_least_and_largest() -> None:
    body = """
    cvt.rn.f16.u32 %h1, %r1; neg.f16 %h2, %h1;
    red.global.max.noftz.v2.f16 [%d1], {%h1, %h2}; red.relaxed.gpu.global.v2.f16.min.noftz [%d1+4], {%h1, %h2};"""
    assert run(body, np.array([5, -40, 5, -40], np.float16)).arrays[0].tolist() == [31, 0, 0, -40]


def test_hints_and_scopes_of_atomic_operations() -> None:
    body = """
    mov.u64 %d9, 0; mov.u32 %r2, 1; atom.global.add.L2::cache_hint.u32 %r3, [%d1], %r2, %d9;
    red.release.cluster.global.add.u32 [%d1], %r2; atom.acq_rel.cluster.global.exch.b32 _, [%d1+4], %r2;"""
    assert run(body, np.zeros(2, np.uint32)).arrays[0].tolist() == [64, 1]


@pytest.mark.parametrize(
    "statement",
    [
        "red.global.add.f16 [%d1], %h1;",
        "red.global.add.noftz.f32 [%d1], %f1;",
        "red.global.add.v2.u32 [%d1], {%r1, %r2};",
        "red.global.add.v8.f32 [%d1], {%f1, %f2, %f3, %f4, %f5, %f6, %f7, %f8};",
        "atom.global.min.f32 %f1, [%d1], %f2;",
        "multimem.red.relaxed.sys.global.add.f32 [%d1], %f1;",
        "multimem.ld_reduce.relaxed.sys.global.add.f32 %f1, [%d1];",
    ],
)
def test_atomic_operations_that_there_are_not_are_refused_by_name(statement: str) -> None:
    with pytest.raises(UnsupportedInstruction, match=statement.split()[0].replace(".", r"\.")):
        translate(function_of(ptx_kernel(statement)))


# Memories.


def test_generic_addresses_tell_their_memory() -> None:
    spaces = ("global", "shared", "local", "const", "shared::cta", "shared::cluster", "param")
    module = ".const .align 4 .u32 c = 7; .shared .align 4 .b8 s[16];"
    body = ".local .align 4 .b8 l[16]; .reg .b64 %e<5>;\n"
    body += "mov.u64 %e1, %d1; mov.u64 %e2, s; cvta.shared.u64 %e2, %e2;"
    body += "mov.u64 %e3, l; cvta.local.u64 %e3, %e3; mov.u64 %e4, c; cvta.const.u64 %e4, %e4;\n"
    for number in range(1, 5):
        body += "mov.u32 %r3, 0;"
        for place, space in enumerate(spaces):
            body += f"isspacep.{space} %p1, %e{number}; selp.u32 %r4, {1 << place}, 0, %p1; or.b32 %r3, %r3, %r4;"
        body += f"st.global.u32 [%d1+{4 * number - 4}], %r3;\n"
    body += "ld.u32 %r5, [%e4]; st.global.u32 [%d1+16], %r5;"
    made = words(body, (0,) * 5, block=(1,), module=module)
    assert made.violations == []

    def told(*names: str) -> int:
        return sum(1 << spaces.index(name) for name in names)

    shared = told("shared", "shared::cta", "shared::cluster")
    assert made.arrays[0].tolist() == [told("global"), shared, told("local"), told("const"), 7]


def test_a_warp_transposes_a_matrix() -> None:
    matrix = np.arange(64, dtype=np.uint16).reshape(8, 8)
    body = "ld.global.b32 %r2, [%d2]; movmatrix.sync.aligned.m8n8.trans.b16 %r3, %r2; st.global.b32 [%d2], %r3;"
    made = words(body, matrix.view(np.uint32).reshape(-1).tolist()).arrays[0]
    np.testing.assert_array_equal(made.view(np.uint16).reshape(8, 8), matrix.T)


@pytest.mark.parametrize(
    ("form", "copied"),
    [
        ("cp.async.cg.shared.global [%r9], [%d3], 16;", 4),
        ("cp.async.cg.shared.global [%r9], [%d3], 16, %p2;", 0),
        ("cp.async.ca.shared.global [%r9], [%d3], 16, !%p2;", 0),
        ("cp.async.ca.shared::cta.global.L2::256B [%r9], [%d3], 8, %p2;", 0),
        ("cp.async.ca.shared.global [%r9], [%d3], 16, 8;", 2),
        ("cp.async.cg.shared.global.L2::cache_hint [%r9], [%d3], 16, %d9;", 4),
        ("cp.async.cg.shared.global.L2::cache_hint.L2::128B [%r9], [%d3], 16, %p2, %d9;", 0),
        ("cp.async.ca.shared.global.L2::cache_hint [%r9], [%d3], 16, %r2, %d9;", 3),
    ],
)
def test_a_copy_reads_as_much_as_its_operands_say(form: str, copied: int) -> None:
    """Odd threads copy with what ``form`` says, even ones with %p2 false and %r2 = 16."""
    body = f"""
    createpolicy.fractional.L2::evict_last.b64 %d9;
    and.b32 %r4, %r1, 1; setp.eq.u32 %p2, %r4, 1; selp.b32 %r2, 12, 16, %p2;
    mul.wide.u32 %d3, %r1, 16; add.s64 %d3, %d1, %d3;
    shl.b32 %r9, %r1, 4; mov.u32 %r8, tile; add.u32 %r9, %r8, %r9;
    st.shared.v4.u32 [%r9], {{%r1, %r1, %r1, %r1}};
    {form}
    cp.async.wait_all;
    ld.shared.v4.u32 {{%r10, %r11, %r12, %r13}}, [%r9];
    st.global.v4.u32 [%d3], {{%r10, %r11, %r12, %r13}};"""
    data = np.arange(100, 228, dtype=np.uint32).reshape(32, 4)
    text = ptx_kernel(body, module=".shared .align 16 .b8 tile[512];")
    (found,) = emulate("", data, text=text).arrays
    given = data.copy()
    inverted, size = "!" in form, 8 if " 8, %p" in form else 16
    for thread in range(32):
        whole = thread % 2 == inverted if "%p2" in form else thread % 2 == 0 and "%r2" in form
        words = 4 if whole else copied
        given[thread, words:] = 0
        given[thread, size // 4 :] = thread
    assert found.tolist() == given.tolist()

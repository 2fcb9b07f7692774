"""The meaning of instructions in a proof, compared with plain Python, and what must never count as proved."""

from __future__ import annotations

import numpy as np
import pytest

from mmcore_emulator.isa.entries import Family
from mmcore_emulator.isa.table import FAMILIES
from mmcore_emulator.proof.table import Table
from mmcore_emulator.proof.values import Bytes, Parts
from tests.emulator.proof_programs import OUTPUT, proved

# Programs that have no meaning in the field, by the type of the elements that they read and of their result.
NOTHING = {
    "an address depends on an element": ("f32", f"""
        ld.global.u32 %r2, [%d1]; and.b32 %r2, %r2, 4; cvt.u64.u32 %d3, %r2; add.s64 %d3, %d3, %d1;
        ld.global.f32 %f1, [%d3]; st.global.f32 [%d1+{OUTPUT}], %f1;"""),
    "an address of a store depends on an element": ("s32", f"""
        ld.global.u32 %r2, [%d1]; mul.wide.u32 %d3, %r2, 0; add.s64 %d3, %d3, %d1;
        ld.global.f32 %f1, [%d1+4]; st.global.f32 [%d3+{OUTPUT}], %f1;"""),
    "a table of branches": ("s32", f"""
        ld.global.u32 %r2, [%d1]; st.global.u32 [%d1+{OUTPUT}], %r2; and.b32 %r2, %r2, 1;
        ts: .branchtargets L1, L2; brx.idx %r2, ts; L1: L2:"""),
    "a vote": ("f32", f"""
        ld.global.f32 %f1, [%d2]; setp.gt.f32 %p1, %f1, 0f00000000; setp.eq.u32 %p2, %r1, 1; and.pred %p1, %p1, %p2;
        setp.ne.u32 %p3, %r1, 1; @%p3 setp.eq.u32 %p1, %r1, 77;
        vote.sync.any.pred %p4, %p1, -1; selp.b32 %r3, 1, 0, %p4; st.global.u32 [%d2+{OUTPUT}], %r3;"""),
    "a vote at a barrier": ("f32", f"""
        ld.global.f32 %f1, [%d2]; setp.gt.f32 %p1, %f1, 0f00000000;
        barrier.cta.red.or.aligned.pred %p4, 0, %p1; selp.b32 %r3, 1, 0, %p4; st.global.u32 [%d2+{OUTPUT}], %r3;"""),
    "an element read by an atomic": ("s32", f"""
        atom.global.or.b32 %r2, [%d1], 0; st.global.u32 [%d1+{OUTPUT}], %r2;"""),
    "an element read by an atomic addition": ("s32", f"""
        atom.global.add.u32 %r2, [%d1], 0; st.global.u32 [%d1+{OUTPUT}], %r2;"""),
    "an element changed by an atomic": ("f32", f"""
        ld.global.f32 %f1, [%d1]; st.global.f32 [%d1+{OUTPUT}], %f1; red.global.max.s32 [%d1+{OUTPUT}], 7;"""),
    "a maximum in bulk": ("s32", f"""
        .shared .align 16 .b8 s[16]; mov.u32 %r3, s; ld.global.u32 %r2, [%d1]; st.shared.u32 [%r3], %r2;
        cp.reduce.async.bulk.global.shared::cta.bulk_group.max.s32 [%d1+{OUTPUT}], [%r3], 16;
        cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;"""),
    "a number cut to a byte": ("s32", f"""
        ld.global.u32 %r2, [%d1]; add.s32 %r2, %r2, 0; cvt.s32.s8 %r3, %r2; st.global.u32 [%d1+{OUTPUT}], %r3;"""),
    "a number stored as a byte": ("s32", f"""
        ld.global.u32 %r2, [%d1]; add.s32 %r2, %r2, 0; st.global.u8 [%d1+256], %r2; ld.global.s8 %r3, [%d1+256];
        st.global.u32 [%d1+{OUTPUT}], %r3;"""),
    "signed bytes read as unsigned": ("s8", f"""
        ld.global.u32 %r2, [%d1]; ld.global.u32 %r3, [%d1+4]; dp4a.u32.u32 %r4, %r2, %r3, 0;
        st.global.u32 [%d1+{OUTPUT}], %r4;"""),
    "a signed byte extended by zeros": ("s8", f"""
        ld.global.u8 %r2, [%d1]; mul.lo.s32 %r3, %r2, %r2; st.global.u32 [%d1+{OUTPUT}], %r3;"""),
    "a signed byte extended by its sign, then by zeros": ("s8", f"""
        ld.global.s8 %h2, [%d1]; cvt.u32.u16 %r2, %h2; st.global.u32 [%d1+{OUTPUT}], %r2;"""),
    "unsigned bytes multiplied as signed ones": ("u8", f"""
        ld.global.u32 %r2, [%d1]; ld.global.u32 %r3, [%d1+4]; dp4a.s32.s32 %r4, %r2, %r3, 0;
        st.global.u32 [%d1+{OUTPUT}], %r4;"""),
    "a sum in 16 bits": ("s8", f"""
        ld.global.s8 %h1, [%d1]; ld.global.s8 %h2, [%d1+1]; mul.lo.s16 %h3, %h1, %h2; add.s16 %h3, %h3, %h3;
        cvt.s32.s16 %r2, %h3; st.global.u32 [%d1+{OUTPUT}], %r2;"""),
    "an element beside other bits": ("u8", f"""
        ld.global.u8 %r2, [%d1]; or.b32 %r2, %r2, 256; mul.lo.s32 %r3, %r2, 1; st.global.u32 [%d1+{OUTPUT}], %r3;"""),
    "a bfloat16 beside other bits": ("bf16", f"""
        ld.global.u16 %h1, [%d1]; mov.b16 %h2, 77; mov.b32 %r2, {{%h2, %h1}}; mov.b32 %f1, %r2;
        add.f32 %f1, %f1, 0f00000000; st.global.f32 [%d1+{OUTPUT}], %f1;"""),
    "bits chosen by an element": ("s32", f"""
        ld.global.u32 %r2, [%d1]; ld.global.u32 %r3, [%d1+4]; ld.global.u32 %r4, [%d1+8];
        lop3.b32 %r5, %r2, %r3, %r4, 0xCA; st.global.u32 [%d1+{OUTPUT}], %r5;"""),
    "bytes chosen by an element": ("s32", f"""
        ld.global.u32 %r2, [%d1]; ld.global.u32 %r3, [%d1+4]; prmt.b32 %r5, %r2, 0, %r3;
        st.global.u32 [%d1+{OUTPUT}], %r5;"""),
    "a maximum": ("f32", f"""
        ld.global.f32 %f1, [%d1]; max.f32 %f1, %f1, 0fFF800000; st.global.f32 [%d1+{OUTPUT}], %f1;"""),
    "a number clamped": ("f32", f"""
        ld.global.f32 %f1, [%d1]; add.sat.f32 %f1, %f1, 0f00000000; st.global.f32 [%d1+{OUTPUT}], %f1;"""),
    "a number selected by its value": ("f32", f"""
        ld.global.f32 %f1, [%d1]; setp.nan.f32 %p1, %f1, %f1; selp.f32 %f1, 0f00000000, %f1, %p1;
        st.global.f32 [%d1+{OUTPUT}], %f1;"""),
    "an instruction guarded by a value": ("f32", f"""
        ld.global.f32 %f1, [%d1]; setp.eq.f32 %p1, %f1, 0f42F60000; @%p1 add.f32 %f1, %f1, %f1;
        st.global.f32 [%d1+{OUTPUT}], %f1;"""),
    "memory that was never written": ("f32", f"""
        .shared .b32 s; ld.shared.f32 %f2, [s]; ld.global.f32 %f1, [%d1]; add.f32 %f1, %f1, %f2;
        st.global.f32 [%d1+{OUTPUT}], %f1;"""),
    "a register that was never written": ("f32", f"""
        ld.global.f32 %f1, [%d1]; add.f32 %f1, %f1, %f9; st.global.f32 [%d1+{OUTPUT}], %f1;"""),
}  # fmt: skip


@pytest.mark.parametrize("name", NOTHING)
def test_programs_without_a_meaning_have_a_reason(name: str) -> None:
    kind, body = NOTHING[name]
    result = {"f32": "f32", "bf16": "f32"}.get(kind, "s32")
    assert proved(body, kind, result, 1, block=32).reasons, name


def test_a_reason_names_the_instruction_that_reads_the_element() -> None:
    made = proved(NOTHING["memory that was never written"][1], "f32", "f32", 1)
    reason = made.domain.table.reasons[int(made.made.opaque.max())]
    assert reason.at is not None
    assert (reason.kind, reason.at.mnemonic) == ("undefined", "add.f32")


@pytest.mark.parametrize(("kind", "error"), [("f32", 2.0**-11), ("tf32", 0.0)])
def test_a_conversion_to_tf32_is_rounded_unless_it_is_one_and_read_as_float32(kind: str, error: float) -> None:
    body = f"ld.global.f32 %f1, [%d1]; cvt.rna.tf32.f32 %r2, %f1; st.global.b32 [%d1+{OUTPUT}], %r2;"
    made = proved(body, kind, "f32", 1)
    assert (made.reasons, float(made.made.error.max())) == ([], error)


@pytest.mark.parametrize(
    "family", [family for family in FAMILIES if family.proof == "none"], ids=lambda each: each.title
)
def test_instructions_without_a_meaning_in_a_proof_write_no_elements(family: Family) -> None:
    assert not list(family.exact())
    assert not [entry.name for entry in family.entries if entry.effect.kind in ("store", "atomic", "product")]


def test_parts_of_a_register_may_depend_on_elements_along_different_axes() -> None:
    rows, columns = np.array([[0], [1]], np.uint32), np.array([[0, 0, 1]], np.uint32)
    parts = Parts((Bytes((rows, rows, rows)), None, Bytes((columns, columns, columns))))
    assert Table().dependent(parts).tolist() == [[False, False, True], [True, True, True]]

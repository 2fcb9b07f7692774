"""Statements that the emulator takes: those that ptxas takes; and what it refuses, by name."""

from __future__ import annotations

import re

import pytest

from tests.emulation import (
    CAPABILITIES,
    UnsupportedInstruction,
    emulate,
    least_capability,
    operand_types,
    parsed_statements,
    refused_statement,
)
from tests.emulator.oracles import zeros
from tests.emulator.ptx_statements import ARITHMETIC, REGISTERS, accesses, ptxas_refuses, statements
from tests.emulator.templates import expanded

# ptxas takes these, of which the manual does not speak.
_UNDOCUMENTED = re.compile(r"(addc|madc\.hi)\.[us]16 |fma\.rm\.(relu\.)?bf16(x2)? |rcp\.r[nzmp]\.ftz\.f64 ")


def test_the_emulator_knows_the_arithmetic_that_ptxas_takes_and_no_more() -> None:
    every = [each for each in statements(ARITHMETIC) if not _UNDOCUMENTED.match(each)]
    known = set()
    for statement, (opcode, results, operands) in zip(every, parsed_statements(every), strict=True):
        types = operand_types(".".join(opcode), results)
        if types and len(types[0]) == operands:
            known.add(statement)
    refused = ptxas_refuses(every, "90a")
    assert sorted(known & refused) == []
    assert sorted({*every} - known - refused) == []
    assert len(known) > 2000


def test_the_emulator_knows_the_accesses_that_ptxas_takes() -> None:
    every = accesses()
    unknown = {each for each in every if "UnsupportedInstruction" in refused_statement(f"{{ {REGISTERS} {each} }}")}
    taken = {*every} - ptxas_refuses(every, "90a")
    assert sorted(unknown & taken) == []
    assert len(taken) > 600


# Statements that need an architecture: where the emulator refuses them, ptxas does.
NEWER = expanded("""
cp.async.commit_group;
cp.async.ca.shared.global [%r1], [%d1], 16;
cp.async.bulk.commit_group;
redux.sync.add.s32 %r1, %r2, 0xffffffff;
elect.sync %r1|%p1, 0xffffffff;
mapa.u64 %d1, %d2, %r1;
barrier.cluster.arrive;
griddepcontrol.wait;
fence.<proxy.async|acq_rel.cluster|acq_rel.gpu>;
mbarrier.init.shared.b64 [%r1], 1;
mbarrier.arrive.shared.b64 %d1, [%r1];
mbarrier.<test_wait|try_wait>.shared.b64 %p1, [%r1], %d1;
mbarrier.arrive.expect_tx.shared.b64 %d1, [%r1], %r2;
ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r1}, [%r2];
stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r1], {%r2};
mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%r1, %r2}, {%r3, %r4}, {%r5}, {%r6, %r7};
mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%r1, %r2}, {%r3, %r4, %r5, %r6}, {%r7, %r8}, {%r1, %r2};
mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%g1, %g2}, {%g3}, {%g4}, {%g1, %g2};
fma.rn<|.relu>.f16x2 %r1, %r2, %r3, %r4;
fma.rn.bf16x2 %r1, %r2, %r3, %r4;
add.rn.bf16 %h1, %h2, %h3;
min.f16 %h1, %h2, %h3;
min.NaN.f32 %f1, %f2, %f3;
max.xorsign.abs.f32 %f1, %f2, %f3;
<tanh.approx.f16|tanh.approx.bf16|ex2.approx.ftz.bf16> %h1, %h2;
cvt.<rna|rn>.tf32.f32 %r1, %f1;
cvt.rn.bf16.f32 %h1, %f1;
cvt.f32.bf16 %f1, %h1;
cvt.rn.f16x2.f32 %r1, %f1, %f2;
cvt.rn.satfinite.e4m3x2.f32 %h1, %f1, %f2;
atom.global.add.noftz.f16 %h1, [%d1], %h2;
atom.global.add.noftz.bf16x2 %r1, [%d1], %r2;
red.global.add.v4.f32 [%d1], {%f1, %f2, %f3, %f4};
atom.global.cas.b128 %q1, [%d1], %q2, %q3;
ld.global.L2::<128B|256B>.u32 %r1, [%d1];
ld.global.L2::cache_hint.u32 %r1, [%d1], %d2;
ld.shared::cluster.u32 %r1, [%r2];
createpolicy.fractional.L2::evict_last.b64 %d1, 1.0;
add.f32 %f1, %f2, %f3;
""")


@pytest.mark.parametrize("name", [name for name in CAPABILITIES if name != "emulator"])
def test_an_instruction_is_refused_where_ptxas_refuses_it(name: str) -> None:
    capability = CAPABILITIES[name]
    refused = ptxas_refuses(NEWER, f"{capability[0]}{capability[1]}{'a' * (capability == (9, 0))}")
    for each in NEWER:
        opcode = tuple(each.split()[0].removesuffix(";").split("."))
        assert (least_capability(opcode) > capability) == (each in refused), each


def test_an_architecture_refuses_what_it_lacks_by_name() -> None:
    assert refused_statement("cp.async.commit_group;", architecture="80") == ""
    said = "UnsupportedInstruction: cp.async.commit_group needs compute capability 8.0"
    assert refused_statement("cp.async.commit_group;", architecture="75") == said


UNKNOWN = """
add.sat.u32 add.cc.u32 add.ftz.rz.f32 add.rna.f32 fma.ftz.rn.f32 fma.f32 div.approx.f64 add.ftz.f64
add.ftz.s32 add.ftz.bf16 fma.rn.ftz.ftz.f32 div.ftz.approx.f32 selp.ftz.f32 cvt.ftz.rzi.s32.f32
cvt.rzi.ftz.s32.f64 cvt.rpi.f32.f64 cvt.rni.f32.s32
cvt.rpi.f16.f32 ftz.f32 div.full.f64 rcp.approx.f64 sqrt.approx.f16 ex2.approx.bf16 cvt.rna.tf32.f64 cvt.rpp.f32.f64
cvt.sat.u32.u8 cvt.rna.f16x2.f32 setp.lt.f16x2 min.NaN.f64 shf.l.b32 lop3.or.b32 prmt.b32.f5e mul.wide.u64 mad.hi.cc.u32
fma.rn.f32x2 fma.rn.oob.f16 popc.b16 add add.
"""


@pytest.mark.parametrize("opcode", [*UNKNOWN.split(), ""])
def test_an_opcode_with_an_unknown_modifier_is_an_unknown_opcode(opcode: str) -> None:
    assert operand_types(opcode) is None


# Statements, and the words of their errors, or "…" for any error; without words, the error names the opcode.
REFUSED = """
ld.global.v8.f32 {%f1, %f2, %f3, %f4, %f5, %f6, %f7, %f8}, [%d1];
ld.global.v4.<f64|b64> {%d1, %d2, %d3, %d4}, [%d1];
red.global.add.f16 [%d1], %h1;
red.global.add.noftz.f32 [%d1], %f1;
red.global.add.v2.u32 [%d1], {%r1, %r2};
red.global.add.v8.f32 [%d1], {%f1, %f2, %f3, %f4, %f5, %f6, %f7, %f8};
atom.global.min.f32 %f1, [%d1], %f2;
multimem.red.relaxed.sys.global.add.f32 [%d1], %f1;
multimem.ld_reduce.relaxed.sys.global.add.f32 %f1, [%d1];
cp.reduce.async.bulk.global.shared::cta.bulk_group.<add.f16|min.noftz.f16|add.s64|min.f32> [%d1], [%r1], 16;
cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.f32 [%r1], [%r2], 16, [%r3];
st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b64 [%r1], {%d1, %d2, %d3, %d4}, [%r3];
red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.min.u64 [%r1], %d2, [%r3];
@%p1 bar.warp.sync -1; => the instruction bar.warp.sync
bar.warp.sync<|\x20-1, 32>; => the instruction bar.warp.sync
bar.arrive 0;
bar.sync<|\x200, 64, 64>;
bar.red.<popc.u32 %d2|or.pred %r2|xor.pred %p2>, 0, %p1;
bar.red.popc.u32 %r2, 0;
@%p1 barrier.cluster.wait.aligned; => the instruction bar
mov.b32 %r2, <%envreg3|%gridid|%pm0|%is_explicit_cluster>; => does not know the instruction mov.b32 of $1
brx.idx <%r1|%r1, missing>; => PtxError: PTX branch brx.idx
<L: brx.idx %r1, L;|t: .branchtargets M; brx.idx %r1, t;|brx.idx;> => PtxError: PTX branch brx.idx
call<|\x205, (x)|\x20(x), (x)>; => PtxError: PTX call names no function
ld.global.u32 %r2, <[missing]|[%d1+x]>; => …
@5 mov.u32 %r2, 1; => PtxError: PTX guard in '@5 mov.u32 %r2, 1' is not a register
mov.b64 %d3, <08|0b2|0x|1e5|abc|²|1_0>; => …
setp.eq %p1, %r1, %r1; => …
cvt.u32 %r2, %r1; => …
<cvta|mov> %d3, %d1; => …
mov.b32 %r2, <{%h1, %h2, %h3}|0d3FF0000000000000>; => …
ld.global.u32<|\x20%r2, [%d1], %r1>; => …
st.global.u32 [%d1]; => …
st.param.u32 [f_param_0], %r1; => …
red.global.add.<u32 [%d1]|bf16 [%d1], %h1>; => …
bra; => …
shf.<|lr>.wrap.b32 %r2, %r1, %r1, %r1; => …
{ bra L; L: mov.u32 %r2, 1; L: } => PtxError: PTX label L stands twice in f
"""


@pytest.mark.parametrize("line", expanded(REFUSED))
def test_a_wrong_statement_is_refused_in_words(line: str) -> None:
    statement, _, words = line.partition(" => ")
    opcode = statement.split()[0].removesuffix(";")
    words = words or f"UnsupportedInstruction: the emulator does not know the instruction {opcode}"
    error = refused_statement(statement)
    assert error.startswith(("PtxError: ", "UnsupportedInstruction: "))
    assert words == "…" or words in error


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        ("call g, (x)", "0 results, not 1"),
        ("call (y), g, (x, x)", "2 arguments, not 1"),
        ("call (y), g", "0 arguments, not 1"),
    ],
)
def test_a_call_that_contradicts_its_function_is_refused(call: str, reason: str) -> None:
    module = ".func (.param .b32 y) g(.param .b32 x) { ret; }"
    error = refused_statement(f"{{ .param .b32 x; .param .b32 y; {call}; }}", module=module)
    assert error.startswith(f"PtxError: a PTX call of g has {reason}")


@pytest.mark.parametrize(
    ("lines", "place"),
    [
        (".loc 2 489 9, {0}0, inlined_at 1 20 3\n.loc 3 87 13, {0}1, inlined_at 2 489 9", "(test.cu:20)"),  # headers
        (".loc 1 4 3, {0}0, inlined_at 1 20 3", "(test.cu:4)"),  # a function of the same file
    ],
)
def test_an_inlined_line_is_reported_as_the_last_of_the_kernels_own_file(lines: str, place: str) -> None:
    body = ".loc 1 20 3\n" + lines.format("function_name $L__info_string") + "\nadd.xx.f32 %f1, %f1, %f1;"
    files = '.file 2 "/cuda/include/outer.h"\n.file 3 "/cuda/include/inner.h"\n'
    assert refused_statement(body, module=files).endswith(f"add.xx.f32 {place}")


@pytest.mark.parametrize(
    ("statement", "mnemonic"),
    [
        ('asm("multimem.red.relaxed.sys.global.add.u32 [%0], 1;" :: "l"(out));', "multimem.red"),
        ("out[0] = tex1Dfetch<int>((cudaTextureObject_t)out, 0);", "tex.1d"),
    ],
)
def test_an_unknown_instruction_is_refused_by_name_and_line_before_anything_runs(statement: str, mnemonic: str) -> None:
    source = f'extern "C" __global__ void f(int* out)\n{{\n    {statement}\n}}'
    with pytest.raises(UnsupportedInstruction) as refusal:
        emulate(source, zeros(1))
    pattern = (
        r"the emulator does not know the instruction ([\w.:]+)(?: of %\w+)?( \(test\.cu:3\)| \([\w_]+\.h\w*:\d+\))?"
    )
    found = re.fullmatch(pattern, str(refusal.value))
    assert found, str(refusal.value)
    assert found[1].startswith(mnemonic)

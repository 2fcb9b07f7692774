"""Statements of PTX of every family, right ones and wrong ones, and those that ptxas refuses."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence

from cuda.bindings import nvrtc

from tests.emulator.templates import expanded

REGISTERS = """.reg .pred %p<9>; .reg .b16 %h<9>; .reg .b32 %r<9>; .reg .b64 %d<9>; .reg .f32 %f<9>; .reg .f64 %g<9>;
.reg .b128 %q<9>;"""
_PREFIX = {
    **dict.fromkeys(("f16", "bf16", "b16", "u16", "s16", "u8", "s8", "e4m3x2", "e5m2x2"), "h"),
    **dict.fromkeys(("b64", "u64", "s64"), "d"),
    **dict(zip(("f32", "f64", "pred", "b128"), "fgpq", strict=True)),
}


def ptxas_refuses(statements: Sequence[str], architecture: str) -> set[str]:
    """Return the statements that ptxas refuses for an architecture such as "90a"."""
    refused: set[str] = set()
    while rest := [each for each in statements if each not in refused]:
        ptx, log = (_compiled(rest, f"-arch={kind}_{architecture}")[kind == "sm"] for kind in ("compute", "sm"))
        lines = ptx.splitlines()
        found = {lines[int(number) - 1].strip() for number in re.findall(r"line (\d+); (?:error|fatal)", log)}
        if not found:
            assert "error" not in log, log
            return refused
        assert found <= {*rest}, log
        refused |= found
    return refused


def _compiled(statements: Sequence[str], option: str) -> tuple[str, str]:
    """Return the PTX of inline assembly, with a line for each statement, and the compiler's log."""
    lines = "\\n".join(["{", *REGISTERS.splitlines(), *statements, "}"])
    source = f'extern "C" __global__ void f() {{ asm volatile("{lines}"); }}'
    _, program = nvrtc.nvrtcCreateProgram(source.encode(), b"test.cu", 0, [], [])
    nvrtc.nvrtcCompileProgram(program, 2, [option.encode(), b"--no-cache"])
    texts = []
    for what in ("PTX", "ProgramLog"):
        _, size = getattr(nvrtc, f"nvrtcGet{what}Size")(program)
        text = bytes(size)
        getattr(nvrtc, f"nvrtcGet{what}")(program, text)
        texts.append(text.decode())
    return texts[0], texts[1]


def statements(templates: str) -> list[str]:
    """Return the statements of templates: as they are, or an opcode and the types of its registers, the result's first.

    So ``add.<u32|s64> $1 $1 $1`` stands for ``add.u32 %r1, %r2, %r3;`` and ``add.s64 %d1, %d2, %d3;``. In statements,
    ``{f32}2`` stands for the second register of a type.
    """
    made = []
    for text in expanded(templates):
        if text.endswith(";"):
            made.append(re.sub(r"\{(\w+)\}(\d)", lambda found: f"%{_PREFIX.get(found[1], 'r')}{found[2]}", text))
        else:
            opcode, *types = text.split()
            registers = (f"%{_PREFIX.get(kind, 'r')}{place}" for place, kind in enumerate(types, start=1))
            made.append(f"{opcode} {', '.join(registers)};")
    return list(dict.fromkeys(made))


ARITHMETIC = """
# Integers.
mul.<lo|hi>.<INT> $2 $2 $2
mad.<lo|hi>.<INT> $2 $2 $2 $2
mul.wide.<u16|s16> u32 $1 $1
mad.wide.<u16|s16> u32 $1 $1 u32
mul.wide.<u32|s32|u64|s64> u64 $1 $1
mad.wide.<u32|s32|u64|s64> u64 $1 $1 u64
<add|sub|div|rem|min|max|add.sat|add.cc|addc|subc.cc|min.relu|mul24.hi>.<INT> $2 $2 $2
<sad|mad.lo.cc|madc.hi|madc.lo.cc|mad24.lo|mad24.hi.sat|mad.hi.sat>.<INT> $2 $2 $2 $2
<abs|neg|popc>.<INT> $2 $2
<add|sub|min|max|max.relu>.<u16x2|s16x2> $2 $2 $2
<dp4a|dp2a.lo|dp2a.hi|dp2a>.<u32|s32>.<u32|s32> b32 b32 b32 b32
# Bits.
<and|or|xor>.<b16|b32|b64|pred> $2 $2 $2
<not|cnot|brev>.<b16|b32|b64|pred> $2 $2
<popc|clz>.<b16|b32|b64|pred> u32 $2
bfi.<b16|b32|b64|pred> $1 $1 $1 u32 u32
shl.<b16|b32|b64|pred> $1 $1 u32
shr.<INT> $1 $1 u32
bfe.<INT> $1 $1 u32 u32
bfind<|.shiftamt>.<INT> u32 $2
szext<.clamp|.wrap|>.<INT> $2 $2 u32
bmsk.<clamp|wrap>.b32 b32 u32 u32
shf.<l|r>.<clamp|wrap>.b32 b32 b32 b32 u32
fns.b32 b32 b32 b32 s32
prmt.b32<|.f4e|.b4e|.rc8|.ecl|.ecr|.rc16|.rc32> b32 b32 b32 b32
lop3.b32 %r1, %r2, %r3, %r4, 0x96;
lop3.<or|and|xor>.b32 %r1|%p1, %r2, %r3, %r4, 0x96, %p2;
# Floats.
<add|sub|mul><|.rn|.rz|.rp><|.ftz><|.sat|.relu>.<HALF|f32|f64> $5 $5 $5
<fma|mad><|.rn|.rm><|.ftz><|.sat|.relu>.<HALF|f32|f64> $5 $5 $5 $5
<min|max><|.ftz><|.NaN><|.xorsign.abs|.relu>.<HALF|f32|f64> $5 $5 $5
div<|.approx|.full|.rn|.rz|.rm|.rp><|.ftz>.<HALF|f32|f64> $3 $3 $3
<rcp|sqrt|rsqrt|sin|cos|lg2|ex2|tanh|neg|abs><|.approx|.full|.rn|.rz|.rm|.rp><|.ftz>.<HALF|f32|f64> $4 $4
copysign.<HALF|f32|f64> $1 $1 $1
testp.<finite|infinite|number|notanumber|normal|subnormal|zero>.<HALF|f32|f64> pred $2
# Comparisons.
setp.<COMPARE><|.ftz>.<SINGLE> {pred}1, {$3}2, {$3}3;
setp.<COMPARE>.<and|not><|.ftz>.<SINGLE> {pred}1, {$4}2, {$4}3, %p3;
setp.<COMPARE>.xor<|.ftz>.<SINGLE> {pred}1, {$3}2, {$3}3, !%p3;
setp.<COMPARE><|.ftz>.<SINGLE|f16x2|bf16x2> %p1|%p2, {$3}2, {$3}3;
setp.<COMPARE>.<and|not><|.ftz>.<SINGLE|f16x2|bf16x2> %p1|%p2, {$4}2, {$4}3, %p3;
setp.<COMPARE>.xor<|.ftz>.<SINGLE|f16x2|bf16x2> %p1|%p2, {$3}2, {$3}3, !%p3;
set.<COMPARE>.or<|.ftz>.<u16|u32|s32|u64|f32|HALF>.<SINGLE|f16x2|bf16x2> {$3}1, {$4}2, {$4}3, %p3;
selp.<SINGLE|f16x2|bf16x2> $1 $1 $1 pred
slct<|.ftz>.<SINGLE|f16x2|bf16x2>.<s32|f32|u32> $2 $2 $2 $3
# Conversions.
cvt<|.sat|.rn>.<INT8>.<INT8> $2 $3
cvt<.rn|.rz|.rm|.rp|><|.sat>.<FLOAT>.<INT8> $3 $4
cvt<.rni|.rzi|.rmi|.rpi|.rn><|.ftz><|.sat>.<INT8>.<FLOAT> $4 $5
cvt<|.rna|.rn|.rz|.rm|.rp|.rni|.rzi|.rmi|.rpi><|.ftz><|.sat|.satfinite>.<FLOAT>.<FLOAT> $4 $5
cvt<.rn|.rz|.rm|.rp>.relu<|.satfinite>.<FLOAT>.<FLOAT> $3 $4
cvt<.rn|.rz|.rna|.rp><|.relu><|.satfinite>.<f16x2|bf16x2>.f32 $4 f32 f32
cvt<.rn|.rz|.rna|.rp|.rn.relu|.rna.relu|.rz.relu|.rna.satfinite>.tf32.f32 b32 f32
cvt<.rn|.rz|.rn.satfinite|.rn.satfinite.relu|.rn.relu>.<e4m3x2|e5m2x2>.f32 $2 f32 f32
cvt<.rn|.rz|.rn.satfinite|.rn.satfinite.relu|.rn.relu>.<e4m3x2|e5m2x2>.f16x2 $2 f16x2
cvt<.rn|.rz|.rn.satfinite|.rn.satfinite.relu|.rn.relu>.f16x2.<e4m3x2|e5m2x2> f16x2 $2
cvt.pack.sat.<u|s><16|8|4|2|32>.s32 b32 s32 s32
cvt.pack.sat.<u|s><16|8|4|2|32>.s32.b32 b32 s32 s32 b32
"""

_SPACES = (
    {"SPACE": "<|.global|.const>", "PLACE": "[%d1]"},
    {"SPACE": "<.shared|.shared::cta|.shared::cluster|.local>", "PLACE": "[%r1]"},
)
_PARAMETERS = {"SPACE": "<.param|.param::entry>", "PLACE": "[%r1]"}
_HINTS = ({"HINT": "", "POLICY": ""}, {"HINT": ".L2::cache_hint", "POLICY": ", %d9"})
_BOXES = [
    {"AXES": f"{axes}d", "BOX": f"[%d1, {{{', '.join(f'%r{axis}' for axis in range(1, axes + 1))}}}]"}
    for axes in range(1, 6)
]
_ORDER = "<|.weak|.volatile|.relaxed.gpu|.acquire.cluster|.release.sys|.mmio.relaxed.sys>"
_COPIES = """
cp.async.<ca|cg>.<shared|shared::cta>.globalHINT [%r1], [%d1], <4|8|16><|, %r3|, 8|, %p1|, !%p1>POLICY;
cp.async.<ca|cg>.<shared|shared::cta>.globalHINT.L2::<64|128|256>B [%r1], [%d1], 16<|, %r3|, 8|, %p1|, !%p1>POLICY;
"""
_LOADS = f"""
ld{_ORDER}SPACEHINT.f32 %f1, PLACEPOLICY;
ldSPACE<|.cg|.nc|.cs.nc|.L1::evict_last|.L1::no_allocate>HINT<|.L2::64B|.L2::128B|.L2::256B>.v4.b32 LANES, PLACEPOLICY;
ldSPACEHINT.b32 %r1, PLACE.unifiedPOLICY;
<ld|ldu|ld.relaxed.gpu>SPACE.<INT|b8|s8|b16|b64|b128|f64|f16x2|pred> {{$3}}1, PLACE;
""".replace("LANES", "{%r1, %r2, %r3, _}")
_STORES = f"st{_ORDER}SPACEHINT.f32 PLACE, %f1POLICY;"  # NVRTC 13.5 dies of some to parameters
_COMPLETE, _MANY = "mbarrier::complete_tx::bytes", "mbarrier::complete_tx::bytes.multicast::cluster"
_REDUCTION = "<add|min|inc|xor>.<u32|s32|u64|s64|b32|f32>"
_BULK = f"""
cp.async.bulk.shared::<cta|cluster>.global.{_COMPLETE}HINT [%r1], [%d2], %r3, [%r4]POLICY;
cp.async.bulk.shared::<cta|cluster>.shared::cta.{_COMPLETE}HINT [%r1], [%r2], %r3, [%r4]POLICY;
cp.async.bulk.shared::<cta|cluster>.global.{_MANY}HINT [%r1], [%d2], %r3, [%r4], %h1POLICY;
cp.async.bulk.global.shared::<cta|cluster>.bulk_groupHINT [%d1], [%r2], %r3POLICY;
cp.async.bulk.prefetch.L2.globalHINT [%d1], %r3POLICY;
cp.reduce.async.bulk.global.shared::<cta|cluster>.bulk_groupHINT.{_REDUCTION} [%d1], [%r2], %r3POLICY;
cp.reduce.async.bulk.shared::<cta|cluster>.shared::cta.{_COMPLETE}HINT.{_REDUCTION} [%r1], [%r2], %r3, [%r4]POLICY;
"""
_TENSORS = f"""
cp.async.bulk.tensor.AXES.shared::<cta|cluster>.global<|.tile>.{_COMPLETE}HINT [%r6], BOX, [%r7]POLICY;
cp.async.bulk.tensor.AXES.shared::<cta|cluster>.global<|.tile>.{_MANY}HINT [%r6], BOX, [%r7], %h1POLICY;
cp.async.bulk.tensor.AXES.global.shared::<cta|cluster><|.tile>.bulk_groupHINT BOX, [%r6]POLICY;
cp.reduce.async.bulk.tensor.AXES.global.shared::<cta|cluster>.max<|.tile>.bulk_groupHINT BOX, [%r6]POLICY;
cp.async.bulk.prefetch.tensor.AXES.L2.global<|.tile>HINT BOXPOLICY;
"""
_OTHERS = """
cp.async.<commit_group|wait_group 3|wait_all>;
cp.async.mbarrier.arrive<|.noinc>.b64 [%d1];
cp.async.mbarrier.arrive<|.noinc><.shared|.shared::cta>.b64 [%r1];
cp.async.bulk.<commit_group|wait_group 0|wait_group.read 3>;
st.async<|.weak><|.shared::cluster>.mbarrier::complete_tx::bytes.b32 [%r5], %r1, [%r6];
st.async<|.weak><|.shared::cluster>.mbarrier::complete_tx::bytes.v2.f32 [%r5], {%f1, %f2}, [%r6];
st.async<|.weak><|.shared::cluster>.mbarrier::complete_tx::bytes.v4.s32 [%r5], {%r1, %r2, %r3, %r4}, [%r6];
st.async<|.weak><|.shared::cluster>.mbarrier::complete_tx::bytes.b128 [%r5], %q1, [%r6];
red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.<add|min|dec|or>.<u32|s32|b32> [%r5], %r1, [%r6];
prefetch<|.global|.local|.const|.param>.<L1|L2|L2::evict_last|tensormap> [%d1];
applypriority<|.global|.local|.const|.param>.L2::evict_normal [%d1], 128;
discard<|.global|.local|.const|.param>.L2 [%d1], 128;
prefetchu<|.global|.local|.const|.param>.L1 [%d1];
createpolicy.fractional.L2::<evict_last|evict_first|evict_unchanged><|.L2::evict_first>.b64 %d1<|, 0.5|, %f1>;
createpolicy.range<|.global>.L2::<evict_last|evict_first|evict_unchanged><|.L2::evict_first>.b64 %d1, [%d2], %r1, %r2;
createpolicy.cvt.L2.b64 %d1, %d2;
pmevent 1;
membar.<cta|cluster|gpu|sys|gl>;
fence<|.sc|.acq_rel|.acquire|.release>.<cta|cluster|gpu|sys|gl>;
fence.proxy.tensormap::generic.release.<cta|cluster|gpu|sys|gl>;
fence<|.proxy.async::generic>.<acquire|release>.sync_restrict::shared::<cta|cluster>.cluster;
<fence|membar>.proxy.<alias|async|async.global|async.shared::cta>;
fence.mbarrier_init.release.cluster;
cvta<|.to>.<global|shared|shared::cluster|local|param::entry>.u64 %d1, %d2;
isspacep.<global|shared|shared::cluster|local|param::entry> %p1, %d2;
"""


def accesses() -> list[str]:
    """Return accesses to memory, fences and asynchronous copies, with the operands that may be left out."""
    groups: tuple[tuple[str, Sequence[Mapping[str, str]], Sequence[Mapping[str, str]]], ...] = (
        (_COPIES + _BULK, [{}], _HINTS),
        (_LOADS, [*_SPACES, _PARAMETERS], _HINTS),
        (_STORES, _SPACES, _HINTS),
        (_TENSORS, _BOXES, _HINTS),
        (_OTHERS, [{}], [{}]),
    )
    made = []
    for templates, *choices in groups:
        for replacements in itertools.product(*choices):
            text = templates
            for name, value in itertools.chain(*(each.items() for each in replacements)):
                text = text.replace(name, value)
            made += statements(text)
    return list(dict.fromkeys(made))

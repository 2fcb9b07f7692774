"""Statements of PTX that compute, right ones and wrong ones, and what ptxas says of them."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence

from cuda.bindings import nvrtc

REGISTERS = """.reg .pred %p<9>; .reg .b16 %h<9>; .reg .b32 %r<9>; .reg .b64 %d<9>; .reg .f32 %f<9>; .reg .f64 %g<9>;
.reg .b128 %q<9>;"""
_NARROW = ("f16", "bf16", "b16", "u16", "s16", "u8", "s8", "e4m3x2", "e5m2x2")
_PREFIX = {
    **dict.fromkeys(_NARROW, "h"),
    "f32": "f",
    "f64": "g",
    "pred": "p",
    **dict.fromkeys(("b64", "u64", "s64"), "d"),
}
_INTEGERS = ("u16", "s16", "u32", "s32", "u64", "s64")
_HALVES = ("f16", "f16x2", "bf16", "bf16x2")
_DIRECTIONS = (".rn", ".rz", ".rm", ".rp")
_WHOLE = (".rni", ".rzi", ".rmi", ".rpi")
_COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs", "equ", "ltu", "num", "nan")


def ptxas_refuses(statements: Sequence[str], architecture: str) -> set[str]:
    """Those of some statements that ptxas does not take for an architecture such as "90a"."""
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
    """PTX of inline assembly, with a line for each statement, and the log."""
    lines = "\\n".join(["{", *REGISTERS.splitlines(), *statements, "}"])
    source = f'extern "C" __global__ void f() {{ asm volatile("{lines}"); }}'
    _, program = nvrtc.nvrtcCreateProgram(source.encode(), b"test.cu", 0, [], [])
    nvrtc.nvrtcCompileProgram(program, 2, [option.encode(), b"--no-cache"])
    found = []
    for what in ("PTX", "ProgramLog"):
        _, size = getattr(nvrtc, f"nvrtcGet{what}Size")(program)
        text = bytes(size)
        getattr(nvrtc, f"nvrtcGet{what}")(program, text)
        found.append(text.decode())
    return found[0], found[1]


def _statement(opcode: str, *types: str) -> str:
    """An opcode with registers of these types, the result's first."""
    registers = (f"%{_PREFIX.get(kind, 'r')}{place}" for place, kind in enumerate(types, start=1))
    return f"{opcode} {', '.join(registers)};"


def _joined(*choices: Sequence[str]) -> Iterator[str]:
    return map("".join, itertools.product(*choices))


def statements() -> Iterator[str]:
    """Arithmetic of every family, with modifiers that go together and others that do not."""
    yield from _of_integers()
    yield from _of_floats()
    yield from _of_bits()
    yield from _comparisons()
    yield from _conversions()


def _of_integers() -> Iterator[str]:
    for kind in _INTEGERS:
        wide = {"u16": "u32", "s16": "s32", "u32": "u64", "s32": "s64"}.get(kind, kind)
        for part, result in (("lo", kind), ("hi", kind), ("wide", wide)):
            yield _statement(f"mul.{part}.{kind}", result, kind, kind)
            yield _statement(f"mad.{part}.{kind}", result, kind, kind, result)
        for name in ("add", "sub", "div", "rem", "min", "max", "add.sat", "add.cc", "addc", "subc.cc", "min.relu"):
            yield _statement(f"{name}.{kind}", kind, kind, kind)
        for name in ("sad", "mad.lo.cc", "madc.hi", "madc.lo.cc", "mad24.lo", "mad24.hi.sat", "mad.hi.sat"):
            yield _statement(f"{name}.{kind}", kind, kind, kind, kind)
        for name in ("abs", "neg", "popc"):
            yield _statement(f"{name}.{kind}", kind, kind)
        yield _statement(f"mul24.hi.{kind}", kind, kind, kind)
    for name, kind in itertools.product(("add", "sub", "min", "max", "max.relu"), ("u16x2", "s16x2")):
        yield _statement(f"{name}.{kind}", kind, kind, kind)
    for one, other in itertools.product(("u32", "s32"), repeat=2):
        for name in ("dp4a", "dp2a.lo", "dp2a.hi", "dp2a"):
            yield _statement(f"{name}.{one}.{other}", "b32", "b32", "b32", "b32")


def _of_bits() -> Iterator[str]:
    for kind in ("b16", "b32", "b64", "pred"):
        for name in ("and", "or", "xor"):
            yield _statement(f"{name}.{kind}", kind, kind, kind)
        for name in ("not", "cnot"):
            yield _statement(f"{name}.{kind}", kind, kind)
        for name in ("popc", "clz"):
            yield _statement(f"{name}.{kind}", "u32", kind)
        yield _statement(f"brev.{kind}", kind, kind)
        yield _statement(f"bfi.{kind}", kind, kind, kind, "u32", "u32")
        yield _statement(f"shl.{kind}", kind, kind, "u32")
    for kind in _INTEGERS:
        yield _statement(f"shr.{kind}", kind, kind, "u32")
        yield _statement(f"bfe.{kind}", kind, kind, "u32", "u32")
        for name in ("bfind", "bfind.shiftamt"):
            yield _statement(f"{name}.{kind}", "u32", kind)
        for mode in (".clamp", ".wrap", ""):
            yield _statement(f"szext{mode}.{kind}", kind, kind, "u32")
    for mode in ("clamp", "wrap"):
        yield _statement(f"bmsk.{mode}.b32", "b32", "u32", "u32")
        yield from (_statement(f"shf.{side}.{mode}.b32", "b32", "b32", "b32", "u32") for side in "lr")
    yield _statement("fns.b32", "b32", "b32", "b32", "s32")
    for mode in ("", ".f4e", ".b4e", ".rc8", ".ecl", ".ecr", ".rc16", ".rc32"):
        yield _statement(f"prmt.b32{mode}", "b32", "b32", "b32", "b32")
    yield "lop3.b32 %r1, %r2, %r3, %r4, 0x96;"
    for name in ("or", "and", "xor"):
        yield f"lop3.{name}.b32 %r1|%p1, %r2, %r3, %r4, 0x96, %p2;"


def _of_floats() -> Iterator[str]:
    for kind in (*_HALVES, "f32", "f64"):
        for name in ("add", "sub", "mul"):
            for how in _joined(("", ".rn", ".rz", ".rp"), ("", ".ftz"), ("", ".sat", ".relu")):
                yield _statement(f"{name}{how}.{kind}", kind, kind, kind)
        for how in _joined(("", ".rn", ".rm"), ("", ".ftz"), ("", ".sat", ".relu")):
            yield from (_statement(f"{name}{how}.{kind}", kind, kind, kind, kind) for name in ("fma", "mad"))
        for how in _joined(("", ".ftz"), ("", ".NaN"), ("", ".xorsign.abs", ".relu")):
            yield from (_statement(f"{name}{how}.{kind}", kind, kind, kind) for name in ("min", "max"))
        for how in _joined(("", ".approx", ".full", *_DIRECTIONS), ("", ".ftz")):
            yield _statement(f"div{how}.{kind}", kind, kind, kind)
            for name in ("rcp", "sqrt", "rsqrt", "sin", "cos", "lg2", "ex2", "tanh", "neg", "abs"):
                yield _statement(f"{name}{how}.{kind}", kind, kind)
        yield _statement(f"copysign.{kind}", kind, kind, kind)
        for test in ("finite", "infinite", "number", "notanumber", "normal", "subnormal", "zero"):
            yield _statement(f"testp.{test}.{kind}", "pred", kind)


def _comparisons() -> Iterator[str]:
    for kind in ("b16", "b32", "b64", *_INTEGERS, "f32", "f64", *_HALVES):
        pair = kind.endswith("x2")
        for compare, flush in itertools.product(_COMPARISONS, ("", ".ftz")):
            one, other = (f"%{_PREFIX.get(kind, 'r')}{place}" for place in (2, 3))
            for logical, further in (("", ""), (".and", ", %p3"), (".xor", ", !%p3"), (".not", ", %p3")):
                if not pair:
                    yield f"setp.{compare}{logical}{flush}.{kind} %p1, {one}, {other}{further};"
                yield f"setp.{compare}{logical}{flush}.{kind} %p1|%p2, {one}, {other}{further};"
            for result in ("u16", "u32", "s32", "u64", "f32", *_HALVES):
                yield f"set.{compare}.or{flush}.{result}.{kind} %{_PREFIX.get(result, 'r')}1, {one}, {other}, %p3;"
        yield _statement(f"selp.{kind}", kind, kind, kind, "pred")
        for sign in ("s32", "f32", "u32"):
            yield from (_statement(f"slct{flush}.{kind}.{sign}", kind, kind, kind, sign) for flush in ("", ".ftz"))


def _conversions() -> Iterator[str]:
    integers, floats = ("u8", "s8", *_INTEGERS), ("f16", "bf16", "f32", "f64")
    for to, of in itertools.product(integers, repeat=2):
        yield from (_statement(f"cvt{how}.{to}.{of}", to, of) for how in ("", ".sat", ".rn"))
    for number, whole in itertools.product(floats, integers):
        for how in _joined((".rn", ".rz", ".rm", ".rp", ""), ("", ".sat")):
            yield _statement(f"cvt{how}.{number}.{whole}", number, whole)
        for how in _joined((*_WHOLE, ".rn"), ("", ".ftz"), ("", ".sat")):
            yield _statement(f"cvt{how}.{whole}.{number}", whole, number)
    for to, of in itertools.product(floats, repeat=2):
        for how in _joined(("", ".rna", *_DIRECTIONS, *_WHOLE), ("", ".ftz"), ("", ".sat", ".satfinite")):
            yield _statement(f"cvt{how}.{to}.{of}", to, of)
        for how in _joined(_DIRECTIONS, (".relu",), ("", ".satfinite")):
            yield _statement(f"cvt{how}.{to}.{of}", to, of)
    for way, how in itertools.product((".rn", ".rz", ".rna", ".rp"), _joined(("", ".relu"), ("", ".satfinite"))):
        for pair in ("f16x2", "bf16x2"):
            yield _statement(f"cvt{way}{how}.{pair}.f32", pair, "f32", "f32")
    for how in (".rn", ".rz", ".rna", ".rp", ".rn.relu", ".rna.relu", ".rz.relu", ".rna.satfinite"):
        yield _statement(f"cvt{how}.tf32.f32", "b32", "f32")
    for octets, how in itertools.product(
        ("e4m3x2", "e5m2x2"), (".rn", ".rz", ".rn.satfinite", ".rn.satfinite.relu", ".rn.relu")
    ):
        yield _statement(f"cvt{how}.{octets}.f32", octets, "f32", "f32")
        yield _statement(f"cvt{how}.{octets}.f16x2", octets, "f16x2")
        yield _statement(f"cvt{how}.f16x2.{octets}", "f16x2", octets)
    for bits, sign in itertools.product(("16", "8", "4", "2", "32"), "us"):
        yield _statement(f"cvt.pack.sat.{sign}{bits}.s32", "b32", "s32", "s32")
        yield _statement(f"cvt.pack.sat.{sign}{bits}.s32.b32", "b32", "s32", "s32", "b32")


_POLICIES = (("", ()), (".L2::cache_hint", ("%d9",)))
_PREFETCHES = ("", ".L2::64B", ".L2::128B", ".L2::256B")
_PLACES = {
    **dict.fromkeys(("", ".global", ".const"), "[%d1]"),
    **dict.fromkeys((".shared", ".shared::cta", ".shared::cluster", ".local", ".param", ".param::entry"), "[%r1]"),
}


def accesses() -> Iterator[str]:
    """Accesses to memory, fences and asynchronous copies, with the operands that may be left out."""
    yield from _copies_of_threads()
    yield from _loads_and_stores()
    yield from _bulk_copies()
    yield from _hints()
    yield from _fences()


def _copies_of_threads() -> Iterator[str]:
    for kind, space, (hint, policy) in itertools.product(("ca", "cg"), ("shared", "shared::cta"), _POLICIES):
        for size, further in itertools.product(("4", "8", "16"), ((), ("%r3",), ("8",), ("%p1",), ("!%p1",))):
            for prefetch in _PREFETCHES if size == "16" else ("",):
                operands = ("[%r1]", "[%d1]", size, *further, *policy)
                yield f"cp.async.{kind}.{space}.global{hint}{prefetch} {', '.join(operands)};"
    yield from ("cp.async.commit_group;", "cp.async.wait_group 3;", "cp.async.wait_all;")
    for how, space in itertools.product(("", ".noinc"), ("", ".shared", ".shared::cta")):
        yield f"cp.async.mbarrier.arrive{how}{space}.b64 {_PLACES[space]};"


def _loads_and_stores() -> Iterator[str]:
    kept = (".L1::evict_last", ".L1::no_allocate")
    for (space, place), (hint, policy) in itertools.product(_PLACES.items(), _POLICIES):
        further = "".join(f", {each}" for each in policy)
        for how in ("", ".weak", ".volatile", ".relaxed.gpu", ".acquire.cluster", ".release.sys", ".mmio.relaxed.sys"):
            yield f"ld{how}{space}{hint}.f32 %f1, {place}{further};"
            if not space.startswith(".param"):  # NVRTC 13.5 dies of some
                yield f"st{how}{space}{hint}.f32 {place}, %f1{further};"
        for how, prefetch in itertools.product(("", ".cg", ".nc", ".cs.nc", *kept), _PREFETCHES):
            yield f"ld{space}{how}{hint}{prefetch}.v4.b32 {{%r1, %r2, %r3, _}}, {place}{further};"
        yield f"ld{space}{hint}.b32 %r1, {place}.unified{further};"
    for space, place in _PLACES.items():
        for kind in (*_INTEGERS, "b8", "s8", "b16", "b64", "b128", "f64", "f16x2", "pred"):
            register = f"%{'q' if kind == 'b128' else _PREFIX.get(kind, 'r')}1"
            yield from (f"{name}{space}.{kind} {register}, {place};" for name in ("ld", "ldu", "ld.relaxed.gpu"))


def _bulk_copies() -> Iterator[str]:
    for (hint, policy), place in itertools.product(_POLICIES, ("cta", "cluster")):
        further = "".join(f", {each}" for each in policy)
        complete, group = f"mbarrier::complete_tx::bytes{hint}", f"bulk_group{hint}"
        yield f"cp.async.bulk.shared::{place}.global.{complete} [%r1], [%d2], %r3, [%r4]{further};"
        yield f"cp.async.bulk.shared::{place}.shared::cta.{complete} [%r1], [%r2], %r3, [%r4]{further};"
        many = "mbarrier::complete_tx::bytes.multicast::cluster"
        yield f"cp.async.bulk.shared::{place}.global.{many}{hint} [%r1], [%d2], %r3, [%r4], %h1{further};"
        yield f"cp.async.bulk.global.shared::{place}.{group} [%d1], [%r2], %r3{further};"
        yield f"cp.async.bulk.prefetch.L2.global{hint} [%d1], %r3{further};"
        for name, kind in itertools.product(("add", "min", "inc", "xor"), ("u32", "s32", "u64", "s64", "b32", "f32")):
            yield f"cp.reduce.async.bulk.global.shared::{place}.{group}.{name}.{kind} [%d1], [%r2], %r3{further};"
            how = f"{complete}.{name}.{kind}"
            yield f"cp.reduce.async.bulk.shared::{place}.shared::cta.{how} [%r1], [%r2], %r3, [%r4]{further};"
        for axes, tile in itertools.product(range(1, 6), ("", ".tile")):
            box = f"[%d1, {{{', '.join(f'%r{axis}' for axis in range(1, axes + 1))}}}]"
            tensor = f"tensor.{axes}d"
            for each, mask in ((complete, ""), (f"{many}{hint}", ", %h1")):
                yield f"cp.async.bulk.{tensor}.shared::{place}.global{tile}.{each} [%r6], {box}, [%r7]{mask}{further};"
            yield f"cp.async.bulk.{tensor}.global.shared::{place}{tile}.{group} {box}, [%r6]{further};"
            yield f"cp.reduce.async.bulk.{tensor}.global.shared::{place}.max{tile}.{group} {box}, [%r6]{further};"
            yield f"cp.async.bulk.prefetch.{tensor}.L2.global{tile}{hint} {box}{further};"
    yield from (f"cp.async.bulk.{each};" for each in ("commit_group", "wait_group 0", "wait_group.read 3"))
    for how, space in itertools.product(("", ".weak"), ("", ".shared::cluster")):
        for kind, value in (
            ("b32", "%r1"),
            ("v2.f32", "{%f1, %f2}"),
            ("v4.s32", "{%r1, %r2, %r3, %r4}"),
            ("b128", "%q1"),
        ):
            yield f"st.async{how}{space}.mbarrier::complete_tx::bytes.{kind} [%r5], {value}, [%r6];"
    for name, kind in itertools.product(("add", "min", "dec", "or"), ("u32", "s32", "b32")):
        how = "relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes"
        yield f"red.async.{how}.{name}.{kind} [%r5], %r1, [%r6];"


def _hints() -> Iterator[str]:
    for space in ("", ".global", ".local", ".const", ".param"):
        yield from (f"prefetch{space}.{level} [%d1];" for level in ("L1", "L2", "L2::evict_last", "tensormap"))
        yield from (
            f"{each}, 128;" for each in (f"applypriority{space}.L2::evict_normal [%d1]", f"discard{space}.L2 [%d1]")
        )
        yield f"prefetchu{space}.L1 [%d1];"
    for first, second in itertools.product(("evict_last", "evict_first", "evict_unchanged"), ("", ".L2::evict_first")):
        yield from (f"createpolicy.fractional.L2::{first}{second}.b64 %d1{share};" for share in ("", ", 0.5", ", %f1"))
        yield from (
            f"createpolicy.range{space}.L2::{first}{second}.b64 %d1, [%d2], %r1, %r2;" for space in ("", ".global")
        )
    yield "createpolicy.cvt.L2.b64 %d1, %d2;"
    yield "pmevent 1;"


def _fences() -> Iterator[str]:
    for scope in ("cta", "cluster", "gpu", "sys", "gl"):
        yield f"membar.{scope};"
        yield from (f"fence{order}.{scope};" for order in ("", ".sc", ".acq_rel", ".acquire", ".release"))
        yield f"fence.proxy.tensormap::generic.release.{scope};"
    for order, space in itertools.product(("acquire", "release"), ("cta", "cluster")):
        for proxy in ("", ".proxy.async::generic"):
            yield f"fence{proxy}.{order}.sync_restrict::shared::{space}.cluster;"
    for name, proxy in itertools.product(("fence", "membar"), ("alias", "async", "async.global", "async.shared::cta")):
        yield f"{name}.proxy.{proxy};"
    yield "fence.mbarrier_init.release.cluster;"
    for to, space in itertools.product(("", ".to"), ("global", "shared", "shared::cluster", "local", "param::entry")):
        yield f"cvta{to}.{space}.u64 %d1, %d2;"
        yield f"isspacep.{space} %p1, %d2;"

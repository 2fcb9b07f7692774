"""Random programs and products of tensor cores on elements of the field, compared with plain Python."""

from __future__ import annotations

import random
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.emulator.proof_programs import OUTPUT, PRIME_NUMBERS, Proved, proved

UNITS = {"f32": 2.0**-24, "f16": 2.0**-11, "bf16": 2.0**-8}


@dataclass(frozen=True)
class Number:
    """An element: its residues, those of its magnitude, and the bound of its error."""

    residues: tuple[int, ...]
    magnitudes: tuple[int, ...]
    error: float = 0.0

    def rounded(self, kind: str) -> Number:
        return Number(self.residues, self.magnitudes, (1 + self.error) * (1 + UNITS[kind]) - 1)

    def __neg__(self) -> Number:
        return Number(modulo(-each for each in self.residues), self.magnitudes, self.error)

    def __add__(self, other: Number) -> Number:
        residues = modulo(a + b for a, b in zip(self.residues, other.residues, strict=True))
        magnitudes = modulo(a + b for a, b in zip(self.magnitudes, other.magnitudes, strict=True))
        return Number(residues, magnitudes, max(self.error, other.error))

    def __mul__(self, other: Number) -> Number:
        residues = modulo(a * b for a, b in zip(self.residues, other.residues, strict=True))
        magnitudes = modulo(a * b for a, b in zip(self.magnitudes, other.magnitudes, strict=True))
        return Number(residues, magnitudes, (1 + self.error) * (1 + other.error) - 1)


def modulo(numbers: object) -> tuple[int, ...]:
    return tuple(number % prime for number, prime in zip(numbers, PRIME_NUMBERS, strict=True))  # type: ignore[call-overload]


def constant(numerator: int, shift: int) -> Number:
    """Return numerator / 2^shift."""
    inverse = [pow(2, -shift, prime) for prime in PRIME_NUMBERS]
    return Number(modulo(numerator * each for each in inverse), modulo(abs(numerator) * each for each in inverse))


class Straight:
    """A random program over five registers of a float32 and five of two halves, with its elements in Python."""

    def __init__(self, seed: int, half: str) -> None:
        self.random, self.half = random.Random(seed), half
        self.lines = [".shared .align 16 .b8 s[64];", "setp.eq.u32 %p1, %r1, 0; setp.ne.u32 %p2, %r1, 0;"]
        self.floats: dict[str, Number] = {}
        self.pairs: dict[str, tuple[Number, Number]] = {}

    def begin(self, elements: list[Number]) -> None:
        """Load elements of the halves' type; their numbers begin with those of the first pairs."""
        for number in range(5):
            self.lines.append(f"ld.global.b32 %r{number + 5}, [%d1+{4 * number}];")
            self.pairs[f"%r{number + 5}"] = elements[2 * number], elements[2 * number + 1]
        for number in range(5):
            self.widen(f"%f{number + 1}")
        for _ in range(25):
            self.step()

    def widen(self, target: str) -> None:
        source, upper = self.random.choice(list(self.pairs)), self.random.randrange(2)
        self.lines.append(f"mov.b32 {{%h1, %h2}}, {source}; cvt.f32.{self.half} {target}, %h{upper + 1};")
        self.floats[target] = self.pairs[source][upper]

    def step(self) -> None:
        pick, half = self.random.choice, self.half
        f, a, b, c = (pick(list(self.floats)) for _ in range(4))
        r, x, y, z = (pick(list(self.pairs)) for _ in range(4))
        fa, fb, fc = (self.floats[each] for each in (a, b, c))
        px, py, pz = (self.pairs[each] for each in (x, y, z))
        name = pick(["add", "sub", "mul", "fma", "neg"])
        operands = {"fma": 3, "neg": 1}.get(name, 2)
        results = {"add": lambda a, b, c: a + b, "sub": lambda a, b, c: a + -b, "mul": lambda a, b, c: a * b}
        results |= {"fma": lambda a, b, c: a * b + c, "neg": lambda a, b, c: -a}
        way = "" if name == "neg" else ".rn"
        match pick(["float", "pair", "constant", "widen", "narrow", "select", "swap", "field", "memory", "shuffle"]):
            case "float":
                self.lines.append(f"{name}{way}.f32 {f}, {', '.join((a, b, c)[:operands])};")
                made = results[name](fa, fb, fc)
                self.floats[f] = made if name == "neg" else made.rounded("f32")
            case "pair":
                self.lines.append(f"{name}{way}.{half}x2 {r}, {', '.join((x, y, z)[:operands])};")
                both = [results[name](*each) for each in zip(px, py, pz, strict=True)]
                low, high = both if name == "neg" else [each.rounded(half) for each in both]
                self.pairs[r] = low, high
            case "constant":
                numerator = pick([-3, 5, 7])
                self.lines.append(f"mov.f32 %f9, {numerator / 4}; mul.rn.f32 {f}, {a}, %f9;")
                self.floats[f] = (fa * constant(numerator, 2)).rounded("f32")
            case "widen":
                self.widen(f)
            case "narrow":
                self.lines.append(f"cvt.rn.{half}x2.f32 {r}, {a}, {b};")
                self.pairs[r] = fb.rounded(half), fa.rounded(half)
            case "select":
                guard, chosen = pick([("%p1", fa), ("%p2", fb)])
                self.lines.append(f"selp.f32 {f}, {a}, {b}, {guard};")
                self.floats[f] = chosen
            case "swap":
                text = pick([f"prmt.b32 {r}, {x}, 0, 0x1032;", f"shf.l.wrap.b32 {r}, {x}, {x}, 16;"])
                self.lines.append(text)
                self.pairs[r] = px[1], px[0]
            case "field":
                text = f"bfe.u32 %r4, {x}, 16, 16; bfi.b32 {r}, {y}, %r4, 16, 16;"
                other = f"shr.u32 %r4, {x}, 16; shl.b32 %r3, {y}, 16; or.b32 {r}, %r4, %r3;"
                self.lines.append(pick([text, other]))
                self.pairs[r] = px[1], py[0]
            case "memory":
                self.lines.append(f"st.shared.v4.f32 [s], {{{a}, {b}, {c}, {f}}};")
                load = pick([f"ld.shared.f32 {f}, [s+4];", f"ld.shared.v2.f32 {{%f9, {f}}}, [s];"])
                wide = f"ld.shared.b64 %d9, [s]; mov.b64 {{%f9, {f}}}, %d9;"
                self.lines.append(pick([load, wide]))
                self.floats[f] = fb
            case "shuffle":
                self.lines.append(f"shfl.sync.idx.b32 {r}, {x}, 0, 31, -1;")
                self.pairs[r] = px


def check(made: Proved, wanted: list[Number]) -> None:
    assert made.reasons == []
    for number, each in enumerate(wanted):
        error = made.made.error if made.made.error.ndim == 0 else made.made.error[number]
        assert made.residues(number) == each.residues
        assert made.magnitudes(number) == each.magnitudes
        assert float(error) == pytest.approx(each.error, rel=1e-9, abs=1e-18)


@settings(max_examples=60, derandomize=True, database=None)
@given(seed=st.integers(0, 2**32), half=st.sampled_from(["f16", "bf16"]))
def test_programs_compute_the_same_polynomials_as_python(seed: int, half: str) -> None:
    elements = elements_of(proved("", half, half, 1))
    program = Straight(seed, half)
    program.begin(elements)
    stores = [f"st.global.f32 [%d1+{OUTPUT + 4 * n}], {each};" for n, each in enumerate(program.floats)]
    made = proved("\n".join([*program.lines, *stores]), half, "f32", len(stores))
    check(made, list(program.floats.values()))
    stores = [f"st.global.b32 [%d1+{OUTPUT + 4 * n}], {each};" for n, each in enumerate(program.pairs)]
    made = proved("\n".join([*program.lines, *stores]), half, half, 2 * len(stores))
    check(made, [each for pair in program.pairs.values() for each in pair])


def elements_of(run: Proved) -> list[Number]:
    pairs = [(int(one), int(other)) for one, other in zip(*run.given, strict=True)]
    return [Number(pair, pair) for pair in pairs]


PRODUCTS = {
    "m16n8k16.row.col.f32.f16.f16.f32": ("f16", "f32"),
    "m16n8k16.row.col.f32.bf16.bf16.f32": ("bf16", "f32"),
    "m16n8k8.row.col.f32.tf32.tf32.f32": ("tf32", "f32"),
    "m16n8k32.row.col.s32.s8.s8.s32": ("s8", "s32"),
    "m16n8k32.row.col.s32.u8.u8.s32": ("u8", "s32"),
}


@pytest.mark.parametrize("opcode", PRODUCTS)
def test_products_of_tensor_cores_are_the_same_polynomials_as_in_python(opcode: str) -> None:
    kind, sums = PRODUCTS[opcode]
    c = "f" if sums == "f32" else "r"
    registers = ", ".join(f"%{c}{number}" for number in range(10, 14))
    zeros = " ".join(f"mov.b32 %{c}{number}, 0;" for number in range(10, 14))
    multiply = f"mma.sync.aligned.{opcode} {{{registers}}}, {{%r2, %r3, %r4, %r5}}, {{%r6, %r7}}, {{{registers}}};"
    body = f"""
        mul.wide.u32 %d3, %r1, 16; add.s64 %d3, %d3, %d1; ld.global.v4.b32 {{%r2, %r3, %r4, %r5}}, [%d3];
        mul.wide.u32 %d4, %r1, 8; add.s64 %d4, %d4, %d1; ld.global.v2.b32 {{%r6, %r7}}, [%d4+512];
        {zeros} {multiply} {multiply} st.global.v4.{sums} [%d3+{OUTPUT}], {{{registers}}};"""
    made = proved(body, kind, sums, 128, block=32)
    elements, per = elements_of(made), {"f16": 2, "bf16": 2, "tf32": 1}.get(kind, 4)
    a, b = {}, {}
    for lane in range(32):
        group, thread = divmod(lane, 4)
        for register in range(4):
            for part in range(per):
                place = group + 8 * (register % 2), thread * per + part + 4 * per * (register // 2)
                a[place] = elements[(lane * 4 + register) * per + part]
                if register < 2:
                    row = thread * per + part + 4 * per * register
                    b[row, group] = elements[(128 + lane * 2 + register) * per + part]
    assert made.reasons == []
    for number in range(128):
        group, thread = divmod(number // 4, 4)
        row, column = group + 8 * (number % 4 // 2), 2 * thread + number % 2
        terms = [a[row, k] * b[k, column] for k in range(8 * per)]
        wanted = modulo(2 * sum(term.residues[prime] for term in terms) for prime in range(2))
        assert made.residues(number) == wanted
    assert (made.made.error.max() == 0) == (sums == "s32")


def test_additions_in_memory_sum_the_elements_of_all_threads() -> None:
    body = f"ld.global.f32 %f1, [%d2]; red.global.add.f32 [%d1+{OUTPUT}], %f1; red.global.add.f32 [%d1+{OUTPUT}], 1.0;"
    made = proved(body.replace("1.0", "0f3F800000"), "f32", "f32", 1, block=32)
    wanted = modulo(sum(each.residues[prime] for each in elements_of(made)[:32]) + 32 for prime in range(2))
    assert made.reasons == []
    assert made.residues(0) == wanted


VECTORS = {
    "pairs of float16": ("f16", f"ld.global.b32 %r2, [%d2]; red.global.add.noftz.f16x2 [%d1+{OUTPUT}], %r2;", 2),
    "pairs of bfloat16": ("bf16", f"ld.global.b32 %r2, [%d2]; red.global.add.noftz.bf16x2 [%d1+{OUTPUT}], %r2;", 2),
    "one float16": ("f16", f"ld.global.b16 %h1, [%d2]; red.global.add.noftz.f16 [%d1+{OUTPUT}], %h1;", 1),
    "vectors of float32": (
        "f32",
        f"ld.global.f32 %f1, [%d2]; mov.f32 %f2, 0f00000000;"
        f"red.global.add.v4.f32 [%d1+{OUTPUT}], {{%f1, %f2, %f1, %f1}};",
        4,
    ),
}


@pytest.mark.parametrize("name", VECTORS)
def test_additions_of_vectors_in_memory_are_those_of_their_elements(name: str) -> None:
    kind, body, count = VECTORS[name]
    made = proved(body, kind, kind, count, block=32)
    given, step = elements_of(made), 1 if kind == "f32" else 2
    assert made.reasons == []
    for number in range(count):
        first = number if step == 2 else 0
        terms = [] if (kind, number) == ("f32", 1) else given[first : 32 * step : step]
        wanted = modulo(sum(each.residues[prime] for each in terms) for prime in range(2))
        assert made.residues(number) == wanted
    assert made.made.error.max() > 31 * {"f32": 2.0**-24, "f16": 2.0**-11, "bf16": 2.0**-8}[kind]


@pytest.mark.parametrize("kind", ["f32", "f16", "bf16", "s32"])
def test_additions_in_bulk_are_those_of_their_elements(kind: str) -> None:
    noftz = "noftz." if kind in ("f16", "bf16") else ""
    add = f"cp.reduce.async.bulk.global.shared::cta.bulk_group.add.{noftz}{kind} [%d1+{OUTPUT}], [%r3], 32;"
    body = f"""
        mov.u32 %r3, s; shl.b32 %r4, %r1, 2; add.u32 %r4, %r4, %r3; ld.global.b32 %r2, [%d2];
        st.shared.b32 [%r4], %r2; fence.proxy.async.shared::cta; bar.sync 0; setp.ne.u32 %p1, %r1, 0; @%p1 ret;
        {add} add.u32 %r3, %r3, 32; {add} {add}
        cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;"""
    size = 4 if kind in ("f32", "s32") else 2
    made = proved(body, kind, kind, 32 // size, block=16, module=".shared .align 128 .b8 s[64];")
    given = elements_of(made)
    assert made.reasons == []
    for number in range(32 // size):
        one, other = given[number], given[32 // size + number]
        wanted = modulo(one.residues[prime] + 2 * other.residues[prime] for prime in range(2))
        assert made.residues(number) == wanted
    assert (made.made.error.max() > 0) == (kind != "s32")

"""Random programs, run by the emulator and by Python."""

from __future__ import annotations

import operator
import random
from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.emulation import emulate, ptx_kernel
from tests.emulator.oracles import zeros

KINDS = {"h": 16, "r": 32, "d": 64}
ARITHMETIC: dict[str, Callable[[int, int], int]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul.lo": operator.mul,
    "min": min,
    "max": max,
}
LOGIC = {"and": operator.and_, "or": operator.or_, "xor": operator.xor}
COMPARISONS = {"lt": operator.lt, "ge": operator.ge, "eq": operator.eq, "ne": operator.ne}


def wide(number: int, kind: str) -> int:
    """Return a number as a type holds it, such as "s32"."""
    bits = int(kind[1:])
    number &= (1 << bits) - 1
    return number - (1 << bits) if kind[0] == "s" and number >> (bits - 1) else number


class Straight:
    """A random program without branches over registers of 16, 32 and 64 bits, with its values in Python."""

    def __init__(self, seed: int, threads: int) -> None:
        self.random = random.Random(seed)
        self.registers = [f"%{letter}{number}" for letter in KINDS for number in range(10, 14)]
        self.values = {register: [0] * threads for register in self.registers}
        self.lines: list[str] = []
        for number, register in enumerate(self.registers):
            kind = f"u{KINDS[register[1]]}"
            begin = "mov.u32 %r3, %r1;" if kind == "u32" else f"cvt.{kind}.u32 %{register[1]}3, %r1;"
            factor = self.random.getrandbits(KINDS[register[1]])
            self.lines += [begin, f"mad.lo.{kind} {register}, %{register[1]}3, {factor}, {number};"]
            self.values[register] = [wide(thread * factor + number, kind) for thread in range(threads)]
        for _ in range(30):
            self.step()

    def step(self) -> None:
        target = self.random.choice(self.registers)
        bits = KINDS[target[1]]
        kind = f"{self.random.choice('us')}{bits}"
        a, b = self.random.choices([register for register in self.registers if register[1] == target[1]], k=2)
        choice = self.random.choice(["arithmetic", "logic", "shift", "convert", "select"])
        if choice == "arithmetic":
            name = self.random.choice(list(ARITHMETIC))
            self.compute(f"{name}.{kind} {target}, {a}, {b};", target, kind, (a, b), ARITHMETIC[name])
        elif choice == "logic":
            name = self.random.choice(list(LOGIC))
            self.compute(f"{name}.b{bits} {target}, {a}, {b};", target, f"u{bits}", (a, b), LOGIC[name])
        elif choice == "shift":
            amount = self.random.choice([0, 1, bits - 1, bits, bits + 1, 200, self.random.randrange(bits)])
            self.compute(f"shr.{kind} {target}, {a}, {amount};", target, kind, (a,), lambda x: x >> amount)
        elif choice == "convert":
            origin = self.random.choice(self.registers)
            narrow = [size for size in (8, 16, 32, 64) if size <= KINDS[origin[1]]]
            source = f"{self.random.choice('us')}{self.random.choice(narrow)}"
            if source[1:] != kind[1:]:
                self.compute(f"cvt.{kind}.{source} {target}, {origin};", target, source, (origin,), lambda x: x)
        else:
            name, guard = self.random.choice(list(COMPARISONS)), self.random.choice(["@%p1", "@!%p1"])
            self.lines.append(f"setp.{name}.{kind} %p1, {a}, {b};")
            taken = [
                COMPARISONS[name](wide(x, kind), wide(y, kind)) == (guard == "@%p1")
                for x, y in zip(self.values[a], self.values[b], strict=True)
            ]
            before = self.values[target]
            self.compute(f"{guard} sub.{kind} {target}, {b}, {a};", target, kind, (b, a), operator.sub)
            after = self.values[target]
            self.values[target] = [new if do else old for do, new, old in zip(taken, after, before, strict=True)]

    def compute(
        self, text: str, target: str, kind: str, sources: tuple[str, ...], function: Callable[..., int]
    ) -> None:
        self.lines.append(text)
        columns = [[wide(value, kind) for value in self.values[source]] for source in sources]
        self.values[target] = [wide(function(*row), f"u{KINDS[target[1]]}") for row in zip(*columns, strict=True)]


@settings(max_examples=150, derandomize=True, database=None)
@given(seed=st.integers(0, 2**32))
def test_programs_without_branches_do_what_python_does(seed: int) -> None:
    program, threads = Straight(seed, 5), 5
    lines = [*program.lines, f"mul.wide.u32 %d3, %r1, {8 * len(program.registers)}; add.s64 %d3, %d3, %d1;"]
    for number, register in enumerate(program.registers):
        lines.append(f"st.global.u{KINDS[register[1]]} [%d3+{8 * number}], {register};")
    out = np.zeros((threads, len(program.registers)), np.uint64)
    found = emulate("", out, block=(threads,), text=ptx_kernel("\n".join(lines))).arrays[0]
    assert found.T.tolist() == [program.values[register] for register in program.registers]


class Branching:
    """A random program of bounded loops and branches over a few ints, as CUDA C and as Python."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._loops = 0
        self.c, self.python = self._block(3)

    def _expression(self) -> str:
        names = ["a", "b", "c", "i"]
        left, right = self._random.choice(names), self._random.choice([*names, str(self._random.randint(-9, 9))])
        return f"({left} {self._random.choice('+-*&|^')} {right})"

    def _block(self, depth: int) -> tuple[list[str], list[str]]:
        c: list[str] = []
        python: list[str] = []
        for _ in range(self._random.randint(1, 3)):
            kind = self._random.choice(["assign", "assign", "if", "loop"]) if depth else "assign"
            if kind == "assign":
                target, value = self._random.choice("abc"), self._expression()
                c.append(f"{target} = (int)((unsigned){value} & 0xffff);")
                python.append(f"{target} = {value} & 0xffff")
                continue
            inner_c, inner_python = self._block(depth - 1)
            condition = f"({self._expression()} & {self._random.choice([1, 2, 3, 7])})"
            if kind == "if":
                other_c, other_python = self._block(depth - 1)
                c += [f"if ({condition}) {{", *inner_c, "} else {", *other_c, "}"]
                python += [f"if {condition}:", *indented(inner_python), "else:", *indented(other_python)]
                continue
            self._loops += 1
            counter = f"n{self._loops}"
            # The condition may change with the body: the loop is left, or the program, after some turns.
            bound, left, python_left = self._random.choice([(20, "break", "break"), (5, "return", "return a, b, c")])
            c += [f"for (int {counter} = 0; {counter} < {condition}; ++{counter}) {{", *inner_c]
            c += [f"if ({counter} > {bound}) {left}; }}"]
            python += [f"{counter} = 0", f"while {counter} < {condition}:", *indented(inner_python)]
            python += [f"    if {counter} > {bound}: {python_left}", f"    {counter} += 1"]
        return c, python


def indented(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]


@settings(max_examples=30, derandomize=True)
@given(seed=st.integers(0, 2**32))
def test_programs_with_branches_do_what_python_does(seed: int) -> None:
    program = Branching(seed)
    store = "out[3 * t] = a; out[3 * t + 1] = b; out[3 * t + 2] = c;"
    statements = "\n".join(program.c).replace("return;", f"{{ {store} return; }}")
    source = f"""
    extern "C" __global__ void f(int* out) {{
        const int t = blockIdx.x * blockDim.x + threadIdx.x;
        int a = t & 15, b = t >> 3, c = 5, i = t;
        {statements}
        {store}
    }}"""
    namespace: dict[str, Any] = {}
    body = ["a, b, c = i & 15, i >> 3, 5", *program.python, "return a, b, c"]
    exec("\n".join(["def scalar(i):", *indented(body)]), namespace)
    run = emulate(source, zeros(3 * 80), grid=(2,), block=(40,))
    assert run.violations == []
    assert run.arrays[0].reshape(80, 3).tolist() == [list(namespace["scalar"](i)) for i in range(80)]

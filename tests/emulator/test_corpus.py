"""The kernels in corpus/; the first comments of each describe its launch and the expected results.

A .cu file has one kernel, ``f``; a paragraph of a .ptx file is the body of one (of :func:`tests.emulation.ptx_kernel`).
Lines such as these follow a title. Values are Python expressions with numpy as ``np`` and this module's names::

    // given: zeros(64), i32(3)        arguments; one array of 32 words if left out
    // launch: grid=(2,), block=(64,)  further arguments of tests.emulation.emulate
    // module: .global .u32 x;         declarations before a .ptx kernel
    // with A, B: 1 -> x | 2 -> y      run once for each alternative, with A and B replaced by its parts, in which
                                       names of earlier lines may be used
    // P[t] = t + 1                    what an expression gives afterwards: P, Q … are the arrays, T = range(32); an
                                       expression with [t] is compared for each index of its array
    // expect: deadlock at line 12     a violation, as "kind [at line L] [: words ... more words of its message]"; none
                                       if left out, or "nothing"
    // counts: flops=32 barriers=2     counters of the profiler, with expressions as values
    // refused: words                  words of the error that refuses the kernel, or "nothing"
    //     more                        more of the line before
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mmcore.verify.elements import is_poison
from mmcore_emulator.profiler.by_line import Counting
from mmcore_emulator.profiler.counters import total
from tests.emulation import Emulated, EmulatorError, Violation, emulate, ptx_kernel
from tests.emulator import oracles
from tests.emulator.profiler.counting import assert_counts

CORPUS = Path(__file__).parent / "corpus"
_HEADER = re.compile(r"// ?(?:(given|launch|module|with [A-Z, ]+|expect|counts|refused): (.*)|(\S.*?) = (.*))")
_TYPES = {"i32": np.int32, "u32": np.uint32, "u64": np.uint64, "f32": np.float32, "f64": np.float64, "f16": np.float16}
_NAMES = {**_TYPES, **vars(oracles), "np": np, "T": range(32), "is_poison": is_poison}


@dataclass
class Case:
    """A kernel with its launch and the expected results."""

    source: str
    is_ptx: bool
    header: dict[str, list[str]] = field(default_factory=dict)
    values: list[tuple[str, str]] = field(default_factory=list)

    def run(self) -> Emulated:
        given = "".join(self.header.get("given", ["zeros(32, u32)," if self.is_ptx else "zeros(32),"]))
        arguments = eval(f"({given},)" if not given.endswith(",") else f"({given})", dict(_NAMES))
        launch = eval(f"dict({', '.join(self.header.get('launch', []))})", dict(_NAMES))
        if self.is_ptx:
            launch["text"] = ptx_kernel(self.source, module="\n".join(self.header.get("module", [])))
        if "counts" in self.header:
            launch["observers"] = lambda translation: (Counting(translation.blocks),)
        return emulate("" if self.is_ptx else self.source, *arguments, **launch)


def _case(text: str, is_ptx: bool) -> Case:
    case = Case(text, is_ptx)
    for line in text.splitlines():
        if not line.startswith("//"):
            break
        if found := _HEADER.fullmatch(line):
            key, words, expression, expected = found.groups()
            if key:
                case.header.setdefault(key, []).append(words)
            else:
                case.values.append((expression, expected))
    return case


def _variants(text: str) -> Iterator[tuple[str, str]]:
    """Yield a name and a text for each choice of the alternatives that its lines ``// with`` offer."""
    axes: dict[str, list[list[str]]] = {}
    for names, alternatives in re.findall(r"(?m)^// with ([A-Z, ]+): (.*)$", text):
        axes.setdefault(names, []).extend(each.split(" -> ") for each in alternatives.split(" | "))
    for choice in itertools.product(*axes.values()):
        made = re.sub(r"(?m)^// with .*$", "//", text)
        for names, values in reversed([*zip(axes, choice, strict=True)]):
            for name, value in zip(names.split(", "), values, strict=True):
                made = re.sub(rf"\b{name}\b", lambda _, value=value: value.strip(), made)  # type: ignore[misc]
        yield " ".join(value.strip() for values in choice for value in values), made


def _joined(text: str) -> str:
    """Return a text whose comments that begin with blanks are appended to the line before; lines keep their numbers."""
    lines, last = text.strip().splitlines(), 0
    for number, line in enumerate(lines):
        if line.startswith("//    "):
            lines[last] += f" {line[2:].strip()}"
            lines[number] = "//"
        else:
            last = number
    return "\n".join(lines)


def _cases() -> Iterator[Any]:
    for path in sorted(CORPUS.iterdir()):
        text = path.read_text(encoding="utf-8")
        for kernel in map(_joined, text.split("\n\n") if path.suffix == ".ptx" else [text]):
            title = kernel.splitlines()[0].removeprefix("// ")
            for name, made in _variants(kernel):
                yield pytest.param(_case(made, path.suffix == ".ptx"), id=f"{path.name}: {title} {name}".strip())


def _is(violation: Violation, expected: str) -> bool:
    kind, _, message = expected.partition(": ")
    kind, _, line = kind.partition(" at line ")
    return (
        fnmatch(violation.kind, kind)
        and line in ("", str(violation.line))
        and all(words in violation.message for words in message.split(" ... "))
    )


@pytest.mark.parametrize("case", [*_cases()])
def test_a_kernel_does_what_its_header_says(case: Case) -> None:
    if refusals := [words for words in case.header.get("refused", []) if words != "nothing"]:
        with pytest.raises(EmulatorError) as refused:
            case.run()
        assert all(words in str(refused.value) for words in refusals)
        return
    run = case.run()
    expected = [words for words in case.header.get("expect", []) if words != "nothing"]
    texts = [f"{found.kind} at line {found.line}: {found.message}" for found in run.violations]
    assert len(texts) == len(expected), texts
    for words in expected:
        assert any(_is(found, words) for found in run.violations), (words, texts)
    for text in case.header.get("counts", []):
        (counting,) = run.run.observers
        assert isinstance(counting, Counting)
        assert_counts(total(counting.lines.values()), text)
    names = {**_NAMES, **dict(zip("PQRST", run.arrays, strict=False)), "run": run}
    for expression, wanted in case.values:
        for t in range(len(names[expression[0]])) if "[t]" in expression else [0]:
            found, value = eval(expression, {**names, "t": t}), eval(wanted, {**names, "t": t})
            assert np.array_equal(found, value) if isinstance(found, np.ndarray) else found == value, (
                f"{expression} = {found}, not {value}, where t = {t}"
            )

"""The kernels ``KIND/NAME.cu`` in this folder, the verdict that each must get, and the one that it gets.

The comment at the top of a file describes its kernel. Some of these lines follow:

``// expect: shared-race``
    The kind of hazard that ``mmcore check`` must find in a hazardous kernel.
``// limit: REASON``
    The reason why the emulator calls a wrong kernel verified; docs/verification.md explains it.
``// not on: GPU`` and ``// not on: emulator``
    The result on a GPU is undefined, or the emulator lacks an instruction.
``// sizes: 33x35x37 64x64x64``
    The products to try, as m, n and k. These two are the default.
``// config: block=16x16 TILE=8``
    A config. The default is a block of 16x16. A file may have several.
``// kernel: dtype=float16 beta=1``
    Attributes of :class:`mmcore.Kernel`.
``// multiples of 4: m k``
    A constraint: sizes that are multiples of a number or of an extent of the block.
``// over-read: A 16, B 16 * n``
    The number of elements that may be loaded past the end of a matrix.
``// grid: ceil(n/16), m``
    The grid of the only launch, as expressions in m, n, k and the block's extents bx and by.
``// workspace: parts 4 * m * n, count 4``
    Workspaces with their sizes in bytes.
``// launch: f<<<(ceil(n/16), m), block, 1024>>>(A, B, C, m, n, k, parts, 1.0f)``
    A launch in CUDA's notation: function, grid, block, dynamic shared memory, arguments. The arguments may be omitted.
    A file may have several, which run in their order.
``// arguments: A, B, C, m, n, k, 1.0f``
    The arguments of every launch that gives none. By default the names of the function's parameters give them.
``// declared: NAME``
    More attributes of :class:`mmcore.Kernel`, from ``launches.py``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import mmcore
from mmcore import Config, DeviceProperties, Kernel, Launch, Multiple, Problem, Scalar, Workspace
from mmcore.api import cell
from mmcore.executor.worker import opened
from mmcore.kernel.arguments import Argument
from mmcore.verdict import judged
from mmcore_emulator.adapter.check import check_cell
from tests.adversarial.launches import DECLARED

FOLDER = Path(__file__).parent
KINDS = ("wrong", "right", "hazardous", "innocent")
SIZES = "33x35x37 64x64x64"
BY_NAME = ("A", "B", "C", "m", "n", "k", "lda", "ldb", "ldc")
LAUNCH = re.compile(r"(?P<entry>\w+)<<<(?P<geometry>.*)>>>(?:\((?P<arguments>.*)\))?")

EXPECTED = {
    # Found wrong at one size at least.
    "wrong": {"run": "wrong"},
    # Verified at every size, without a finding of the sanitizer.
    "right": {"run": "verified", "check": "silent"},
    # The sanitizer finds the expected hazard at one size at least.
    "hazardous": {},
    "innocent": {"run": "verified", "check": "silent"},
}
"""The verdicts of a kind by command."""


@dataclass(frozen=True)
class Adversary:
    """One kernel of the corpus.

    Attributes:
        path: its file.
    """

    path: Path

    @property
    def kind(self) -> str:
        return self.path.parent.name

    @property
    def name(self) -> str:
        return self.path.stem

    @cached_property
    def header(self) -> dict[str, list[str]]:
        """The values in the comment at the top of the file, by key."""
        comment, _, _ = self.path.read_text().partition("\n\n")
        header: dict[str, list[str]] = {}
        for key, value in re.findall(r"(?m)^// ([\w. -]+): (.*)$", comment):
            header.setdefault(key, []).append(value)
        return header

    def one(self, key: str, default: str = "") -> str:
        """Return the value of a line that a file has once."""
        return self.header.get(key, [default])[0]

    @property
    def sizes(self) -> list[tuple[int, ...]]:
        return [shape(size) for size in self.one("sizes", SIZES).split()]

    @property
    def expected(self) -> dict[str, str]:
        """The verdict of each command."""
        return EXPECTED[self.kind] | ({"check": self.one("expect")} if "expect" in self.header else {})

    def runs_on(self, device: str) -> bool:
        """Return whether the result on the emulator or on a GPU is defined."""
        return self.one("not on") != device

    @cached_property
    def kernel(self) -> Kernel:
        declared = attributes(self.one("kernel"))
        declared["configs"] = [attributes(text) for text in self.header.get("config", ["block=16x16"])]
        multiples = [(key.removeprefix("multiples of "), self.one(key)) for key in self.header if "multiples" in key]
        declared["constraints"] = [Multiple(tuple(sizes.split()), value("of", of)) for of, sizes in multiples]
        if "arguments" in self.header:
            declared["arguments"] = arguments(self.one("arguments"), {}, {})
        if "launch" in self.header:
            declared["launch"] = self.launches
        elif "over-read" in self.header:
            declared["over_read"] = lambda problem, config: self.named("over-read", numbers(problem, config))
        if "grid" in self.header:
            declared["grid"] = lambda problem, config: evaluate(f"{self.one('grid')},", numbers(problem, config))
        declared |= DECLARED.get(self.one("declared"), {})
        return Kernel(**declared, name=f"{self.kind}.{self.name}", source=self.path)

    def launches(self, problem: Problem, config: Config, device: DeviceProperties) -> list[Launch]:
        """Return the launches that the file gives."""
        values = numbers(problem, config)
        workspaces = {name: Workspace(name, nbytes) for name, nbytes in self.named("workspace", values).items()}
        over_read = self.named("over-read", values)
        launches = []
        for text in self.header["launch"]:
            launch = LAUNCH.fullmatch(text)
            assert launch, text
            extents = [each if isinstance(each, tuple) else (each,) for each in evaluate(launch["geometry"], values)]
            grid, block, (shared_bytes,) = (*extents, (0,))[:3]
            given = None if launch["arguments"] is None else arguments(launch["arguments"], values, workspaces)
            geometry = Launch(grid, block, shared_bytes, over_read=over_read)
            launches.append(replace(geometry, entry=launch["entry"], arguments=given))
        return launches

    def named(self, key: str, values: dict[str, Any]) -> dict[str, int]:
        """Return the numbers of a line such as ``A 16, B 16 * n``, by name."""
        pairs = (each.split(" ", 1) for each in self.one(key).split(", ") if each)
        return {name: evaluate(text, values) for name, text in pairs}


def shape(text: str) -> tuple[int, ...]:
    """Return the numbers of "16x16"."""
    return tuple(map(int, text.split("x")))


def attributes(text: str) -> dict[str, Any]:
    """Return the attributes of "dtype=float16 beta=1"."""
    return {name: value(name, text) for name, _, text in (each.partition("=") for each in text.split())}


def value(name: str, text: str) -> Any:
    """Return the value of an attribute: most are texts or numbers."""
    match name:
        case "block":
            return shape(text)
        case "options":
            return (text,)
        case "defines":
            return dict([text.split("=")])
        case "min_compute_capability":
            return tuple(map(int, text.split(".")))
    return int(text) if text.isdigit() else text


def numbers(problem: Problem, config: Config) -> dict[str, Any]:
    """Return the values of the names in an expression."""
    block = tuple(config.block)
    return {"m": problem.m, "n": problem.n, "k": problem.k, "block": block, "bx": block[0], "by": block[1]}


def evaluate(text: str, values: dict[str, Any]) -> Any:
    """Return the value of an expression."""
    return eval(text, {"__builtins__": {}, "ceil": math.ceil, "max": max}, values)


def arguments(text: str, values: dict[str, Any], workspaces: dict[str, Workspace]) -> tuple[Argument, ...]:
    """Return the arguments of "A, m, parts, 1.0f, m * n": matrices, sizes, workspaces and numbers."""
    return tuple(workspaces.get(each) or argument(each, values) for each in text.split(", "))


def argument(text: str, values: dict[str, Any]) -> Argument:
    """Return a matrix or a size by its name, and a number by its value."""
    if text in BY_NAME:
        return text
    if "." in text:
        return Scalar(float(text.removesuffix("f")), "float32" if text.endswith("f") else "float64")
    return Scalar(evaluate(text, values))


def corpus() -> Iterator[Adversary]:
    """Yield every kernel, by kind and name."""
    for kind in KINDS:
        yield from map(Adversary, sorted((FOLDER / kind).glob("*.cu")))


def run_verdict(one: Adversary, size: tuple[int, ...], device: str, timeout: float = 60.0) -> str:
    """Return "verified", "out of time", or "wrong: " and the reason.

    It covers the hazards of a wrong kernel; :func:`check_verdict` looks for those of the others.
    """
    m, n, k = size
    result = mmcore.run(one.kernel, m=m, n=n, k=k, device=device, timeout=timeout, hazards=False)
    if result.verified and one.expected["run"] == "wrong":
        result = judged(result, one.kernel, "hazards")
    if result.timed_out:
        return "out of time"
    return "verified" if result.verified else f"wrong: {'; '.join(result.failures())}"


def check_verdict(kernel: Kernel, size: tuple[int, ...], timeout: float = 300.0) -> list[str]:
    """Return the findings of ``mmcore check``, a line for each.

    Blocks that wait for each other end late, so that their share of the limit says little on a busy machine.
    """
    m, n, k = size
    asked, nameless = cell(kernel, m=m, n=n, k=k, device="emulator", timeout=timeout)
    device = opened("emulator")
    with device.deadline.within(timeout):
        checked = check_cell(asked, device, nameless)
    warnings = [f"warning: {found.kind}: {found.message}" for found in checked.warnings]
    return [f"{found.kind}: {found.message}" for found in checked.violations] + warnings

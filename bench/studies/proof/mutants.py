"""Mutants of right kernels: an opcode, an operand, a constant, a predicate or an offset of their PTX is changed."""

from __future__ import annotations

import functools
import random
import re
import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

from bench.studies.proof.equivalence import argument
from bench.studies.proof.kernels import Sizes, summary, text_of
from mmcore.cell import Cell
from mmcore.compile.compiled_module import CompiledModule
from mmcore.compile.compiler import compile_plan
from mmcore.devices.loaded_kernel import LoadedKernel
from mmcore.errors import MmcoreError, TimeLimit
from mmcore.planning.plan import Plan, plan_cell
from mmcore.verify.verify_launches import mixed_inputs, upload_inputs, verify_launches
from mmcore_emulator.adapter.check import sanitized_run
from mmcore_emulator.adapter.device import EmulatedModule, Emulator
from mmcore_emulator.adapter.proof import PROVED, Proof, prove_loaded
from mmcore_emulator.errors import EmulatorError
from mmcore_emulator.sanitizer.recording import hazards_and_warnings

KERNELS: dict[str, Sizes] = {
    "hpsee.tiled": (32, 32, 32),
    "lezione9.kernel1": (64, 32, 40),
    "poznan.v4a": (32, 32, 32),
    "unsa.tiled": (40, 40, 40),
    "upc.kernel11": (33, 35, 37),
    "ladder.f32.04_column_of_registers": (64, 64, 32),
    "ladder.f32.05_register_tile": (128, 128, 32),
    "ladder.bf16.03_mma_sync": (128, 128, 32),
    "ladder.bf16.08_wgmma": (128, 128, 64),
    "ladder.tf32.01_mma_sync": (33, 35, 37),
    "ladder.f64.02_dmma": (33, 35, 37),
    "ladder.f32.08_async": (64, 128, 32),
}
"""The kernels that are changed, and the size at which they are proved."""
_TIMES, _SECONDS = 30.0, 5.0
"""The time limit of a mutant's proof, in times of its kernel's own proof, and in seconds more."""
_INPUTS = 3
_INSTRUCTION = re.compile(r"(?P<guard>@!?%p\d+\s+)?(?P<opcode>[a-z]\w*(?:[.:]+\w+)*)\s+(?P<operands>[^;]+);")
_OPCODES = {
    "add": "sub", "sub": "add", "shl": "shr", "shr": "shl", "and": "or", "or": "and", "xor": "or",
    "min": "max", "max": "min", "neg": "abs", "mad.lo": "mad.hi", "eq": "ne", "ne": "eq",
    "lt": "le", "le": "lt", "gt": "ge", "ge": "gt",
}  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """A kernel whose PTX has one line changed.

    Attributes:
        kernel: name of the kernel.
        kind: "opcode", "operand", "constant", "predicate" or "offset".
        line: number of the line in the PTX.
        old, new: the line before and after.
    """

    kernel: str
    kind: str
    line: int
    old: str
    new: str


@functools.lru_cache(maxsize=1)
def loaded_plan(kernel: str) -> tuple[Plan, CompiledModule]:
    """Return the plan of a kernel, and what it compiles to."""
    device = Emulator()
    planned = plan_cell(Cell(kernel, *KERNELS[kernel], seed=1), device.properties)
    return planned, compile_plan(planned, device.architecture)


@functools.lru_cache(maxsize=1)
def _time_limit(kernel: str) -> float:
    """Return the seconds that the proof of a mutant of a kernel may take, by the time of the kernel's own proof."""
    begin = time.perf_counter()
    _proof(*loaded_plan(kernel), Emulator())
    return _TIMES * (time.perf_counter() - begin) + _SECONDS


def drawn(count: int, seed: int, kernels: Collection[str] = KERNELS) -> Iterator[Mutant]:
    """Yield mutants, the same number of each kernel and of each kind, as far as there are any."""
    rng = random.Random(seed)
    for number, kernel in enumerate(kernels):
        lines = loaded_plan(kernel)[1].ptx.splitlines()
        every = list(dict.fromkeys(_changes(kernel, lines, rng)))
        rng.shuffle(every)
        by_kind: dict[str, list[Mutant]] = {}
        for mutant in every:
            by_kind.setdefault(mutant.kind, []).append(mutant)
        rest = count // len(kernels) + (number < count % len(kernels))
        while rest and any(by_kind.values()):
            for mutants in by_kind.values():
                if mutants and rest:
                    rest -= 1
                    yield mutants.pop()


def _changes(kernel: str, lines: list[str], rng: random.Random) -> Iterator[Mutant]:
    """Yield a change of each kind of each instruction that has one."""
    registers = sorted(set(re.findall(r"%[a-z]+\d+", "\n".join(lines))))
    for number, line in enumerate(lines, 1):
        match = _INSTRUCTION.search(line)
        if not match or line.lstrip().startswith((".", "//", "ret", "call")):
            continue
        for kind, (group, pattern) in _PLACES.items():
            text = match[group] or ""
            places = list(re.finditer(pattern, text))
            places = places[1:] if kind == "operand" else places
            if not places:
                continue
            place = rng.choice(places)
            changed = _changed(kind, place[0], registers, rng)
            begin = match.start(group)
            new = line[: begin + place.start()] + changed + line[begin + place.end() :]
            if new != line:
                yield Mutant(kernel, kind, number, line.strip(), new.strip())


_PLACES = {
    "opcode": ("opcode", rf"\b({'|'.join(map(re.escape, _OPCODES))})\b"),
    "operand": ("operands", r"%[a-z]+\d+"),
    "constant": ("operands", r"(?<![\w%+$.-])-?\d+(?![\w.])"),
    "predicate": ("guard", r"@!?"),
    "offset": ("operands", r"(?<=\[)%[a-z]+\d+(\+-?\d+)?(?=\])"),
}
"""The part of an instruction that a kind of change is made in, and the pattern of the text that it replaces."""


def _changed(kind: str, text: str, registers: list[str], rng: random.Random) -> str:
    """Return the text that takes the place of another."""
    match kind:
        case "opcode":
            return _OPCODES[text]
        case "operand":
            prefix = text.rstrip("0123456789")
            return rng.choice([each for each in registers if each.rstrip("0123456789") == prefix])
        case "constant":
            return str(int(text) + rng.choice((1, -1, 4)))
        case "predicate":
            return "@" if text == "@!" else "@!"
        case _:
            base, _, offset = text.partition("+")
            return f"{base}+{int(offset or 0) + rng.choice((4, 16))}"


def outcome(mutant: Mutant) -> dict[str, Any]:
    """Return the outcome of the proof of a mutant, as a row.

    The row of a proved one says whether verification finds no difference, which hazards ``mmcore check`` finds, and
    the argument for its equivalence that :mod:`bench.studies.proof.equivalence` finds.
    """
    planned, compiled = loaded_plan(mutant.kernel)
    limit, device, row = _time_limit(mutant.kernel), Emulator(), asdict(mutant)
    changed = replace(compiled, ptx=changed_ptx(compiled.ptx, mutant.line, mutant.old, mutant.new))
    try:
        with device.deadline.within(limit):
            proof = summary(_proof(planned, changed, device))
            row |= {"outcome": proof["outcome"], "reasons": proof["reasons"][:1]}
        if row["outcome"] == PROVED:
            with LoadedKernel(planned, device, changed) as loaded:
                row["equal"] = all(
                    verify_launches(loaded, planned.problem, mixed_inputs(loaded, planned.problem, seed)).right
                    for seed in range(_INPUTS)
                )
                row["hazards"] = _hazards(loaded)
            row["argument"] = argument(compiled.ptx, mutant.line, mutant.old, mutant.new, prover(planned, compiled))
    except TimeLimit:
        row |= {"outcome": "not ended", "reasons": []}
    except (MmcoreError, EmulatorError) as error:
        row |= {"outcome": "refused", "reasons": [str(error).splitlines()[0]]}
    return row


def _hazards(loaded: LoadedKernel) -> list[str]:
    """Return the hazards of a kernel at its size; a proof says nothing about them."""
    upload_inputs(loaded, mixed_inputs(loaded, loaded.plan.problem, 1))
    assert isinstance(loaded.module, EmulatedModule)
    loaded.module.write = None  # what the kernel prints is dropped
    violations, _ = hazards_and_warnings(sanitized_run(loaded))
    return [text_of(each) for each in violations]


def prover(planned: Plan, compiled: CompiledModule) -> Callable[[str], bool]:
    """Return a function that proves other PTX of a kernel."""

    def proves(ptx: str) -> bool:
        try:
            return _proof(planned, replace(compiled, ptx=ptx), Emulator()).outcome == PROVED
        except (MmcoreError, EmulatorError):
            return False

    return proves


def changed_ptx(ptx: str, line: int, old: str, new: str) -> str:
    """Return PTX with one line changed."""
    lines = ptx.splitlines()
    lines[line - 1] = lines[line - 1].replace(old, new)
    return "\n".join(lines) + "\n"


def _proof(planned: Plan, compiled: CompiledModule, device: Emulator) -> Proof:
    with LoadedKernel(planned, device, compiled) as loaded:
        upload_inputs(loaded, mixed_inputs(loaded, planned.problem, 1))
        return prove_loaded(loaded, 1)

"""The examination of a kernel: its product and hazards at the sizes that its code asks for, on the emulator."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from mmcore.cell import Cell
from mmcore.compile.compiler import compile_plan
from mmcore.devices.base import Device, LoadedModule
from mmcore.devices.loaded_kernel import LoadedKernel
from mmcore.devices.violations import Violation
from mmcore.errors import ConstraintViolation, MmcoreError, TimeLimit
from mmcore.kernel.configs import Config
from mmcore.kernel.declaration import Kernel
from mmcore.kernel.problem import Problem
from mmcore.measure import Phases
from mmcore.planning.plan import Plan, plan, plan_cell
from mmcore.verify.inputs import fresh_seed
from mmcore.verify.verify_launches import Verified, mixed_inputs, verify_launches
from mmcore_emulator.adapter.check import sanitized_run, undefined_values
from mmcore_emulator.adapter.code_sizes import CodeSizes, Size
from mmcore_emulator.adapter.conversions import execute
from mmcore_emulator.adapter.device import check_emulates, emulated_runs
from mmcore_emulator.conditions.refills import Refills
from mmcore_emulator.ptx.instructions import Function
from mmcore_emulator.ptx.reader import parse
from mmcore_emulator.sanitizer.recording import WARNINGS
from mmcore_emulator.sanitizer.undefined_values import UndefinedValues

SECONDS = 4.0
"""Seconds that an examination takes by default; the run that exceeds them is finished."""

_TURNS = 4  # a word of shared memory is written so often before a ring of stages has been refilled twice
_LONGEST_K = 1 << 14


@dataclass(frozen=True)
class Tried:
    """A product that was run, and its faults."""

    m: int
    n: int
    k: int
    why: str  # the reason for the size
    leading: Mapping[str, int]  # leading dimensions with gaps, by name
    violations: tuple[Violation, ...] = ()
    warnings: tuple[Violation, ...] = ()
    mismatch: str = ""  # the first wrong element, and the number of wrong ones

    @property
    def is_right(self) -> bool:
        """True if the product is right, without any hazard."""
        return not self.violations and not self.mismatch

    def cell(self, like: Cell) -> Cell:
        """Return a cell of this size that is otherwise like another."""
        return replace(like, m=self.m, n=self.n, k=self.k, **{"lda": 0, "ldb": 0, "ldc": 0, **self.leading})

    def __str__(self) -> str:
        gaps = "".join(f", {name} = {value}" for name, value in self.leading.items())
        return f"{self.m}×{self.n}×{self.k}{gaps}"

    def to_json(self) -> dict[str, Any]:
        """Return JSON-ready values."""
        lists = {name: [each.to_json() for each in getattr(self, name)] for name in ("violations", "warnings")}
        return {**asdict(self), **lists}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Tried:
        """Return what :meth:`to_json` wrote."""
        lists = {name: tuple(map(Violation.from_json, values[name])) for name in ("violations", "warnings")}
        return cls(**{**values, **lists})


@dataclass(frozen=True)
class Examination:
    """The sizes that were tried, and what was left out."""

    tried: tuple[Tried, ...]
    left_out: str = ""  # the reason why further sizes were not tried; "" if all were

    def to_json(self) -> dict[str, Any]:
        """Return JSON-ready values."""
        return {"tried": [each.to_json() for each in self.tried], "left_out": self.left_out}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Examination:
        """Return what :meth:`to_json` wrote."""
        return cls(tuple(map(Tried.from_json, values["tried"])), values["left_out"])


def examination_json(
    device: Device, phases: Phases, cell: Mapping[str, Any], seconds: float, kernel: Kernel | None = None
) -> dict[str, Any]:
    """Return the examination of a cell, both as JSON."""
    return examine(Cell.from_json(cell), device, seconds, kernel, phases).to_json()


def examine(
    cell: Cell, device: Device, seconds: float = SECONDS, kernel: Kernel | None = None, phases: Phases | None = None
) -> Examination:
    """Verify a kernel and look for hazards at the sizes that its code asks for, until one shows a fault.

    Args:
        cell: the kernel, with the config and the seed; its size counts only where the config depends on it.
        device: the emulator; its deadline is kept.
        seconds: the time after which no further size is begun.
        kernel: the kernel itself, if the cell cannot name it.
        phases: counts where the time goes.

    Raises:
        NoDevice: the device is no emulator.
        MmcoreError: the kernel cannot be compiled, or does not run on the emulator.
    """
    check_emulates(device, "look for hazards")
    phases = phases or Phases()
    end = time.monotonic() + seconds
    tried: list[Tried] = []
    with phases("plan"):
        planned = plan_cell(cell, device.properties, kernel)
        run = _Runs(planned.kernel, planned.config, device, fresh_seed() if cell.seed is None else cell.seed)
    with phases("check"):
        for size in run.sizes(seconds):
            if time.monotonic() > end:
                return Examination(tuple(tried), f"further sizes, beyond {seconds:g} s")
            try:
                tried.append(run.tried(size))
            except ConstraintViolation:
                continue
            except TimeLimit:
                return Examination(tuple(tried), f"{size.problem} and further sizes, for the time limit")
            if not tried[-1].is_right:
                break
    return Examination(tuple(tried))


@dataclass(frozen=True)
class _Runs:
    """The runs of a kernel in one config on the emulator."""

    kernel: Kernel
    config: Config
    device: Device
    seed: int
    modules: dict[str, LoadedModule] = field(default_factory=dict)  # by their PTX
    undefined: UndefinedValues = field(default_factory=undefined_values)

    def sizes(self, seconds: float) -> Iterator[Size]:
        """Yield the sizes to try; a size that turns the kernel's ring of stages follows the first ones."""
        sizes = CodeSizes(self.kernel, self.config, self.device.properties, self._functions, seconds / 2)
        first: Size | None = None
        for number, size in enumerate(sizes):
            first = first or size
            yield size
            if number == 1:
                yield from self._deep(first)

    def _functions(self, planned: Plan) -> dict[str, Function]:
        module = compile_plan(planned, self.device.architecture)
        functions = parse(module.ptx)
        return {name: functions[compiled.symbol] for name, compiled in module.functions.items()}

    def _deep(self, first: Size) -> Iterator[Size]:
        """Yield a product so deep that each stage in shared memory is refilled twice, if the first one is not."""
        m, n, k = first.problem.m, first.problem.n, first.problem.k
        while k <= _LONGEST_K:
            most = self._refills(self.kernel.problem(m, n, k))
            if not most or most >= _TURNS:
                break
            k *= 2 if most == 1 else -(-_TURNS // most)
        if first.problem.k < k <= _LONGEST_K:
            yield Size(self.kernel.problem(m, n, k), "so deep that each stage in shared memory is refilled twice")

    def _refills(self, problem: Problem) -> int:
        """Return how often a word of shared memory is written; 0 if that cannot be seen."""
        refills = Refills()
        with contextlib.suppress(MmcoreError), self._loaded(problem) as loaded:
            for launch in emulated_runs(loaded, lambda translation: refills):
                execute(launch)
        return refills.most

    def _loaded(self, problem: Problem) -> LoadedKernel:
        planned = plan(self.kernel, problem, self.config, self.device.properties)
        compiled = compile_plan(planned, self.device.architecture)
        if compiled.ptx not in self.modules:
            self.modules[compiled.ptx] = self.device.load(compiled)
        return LoadedKernel(planned, self.device, compiled, module=self.modules[compiled.ptx])

    def tried(self, size: Size) -> Tried:
        """Run one size with every access observed, and verify its product. Raises TimeLimit, and what planning does."""
        problem = size.problem
        with self._loaded(problem) as loaded:
            matrices = mixed_inputs(loaded, problem, self.seed)
            verified = verify_launches(loaded, problem, matrices, launch=lambda: sanitized_run(loaded, self.undefined))
        return _tried(size, verified)


def _tried(size: Size, verified: Verified) -> Tried:
    violations = [each for each in verified.violations if each.kind not in WARNINGS]
    warnings = [each for each in verified.violations if each.kind in WARNINGS]
    wrong = verified.verification if verified.verification and not verified.verification.verified else None
    packed, problem = size.problem.packed, size.problem
    leading = {name: getattr(problem, name) for name in ("lda", "ldb", "ldc")} if problem != packed else {}
    return Tried(
        *(problem.m, problem.n, problem.k, size.why, leading, tuple(violations), tuple(warnings)),
        mismatch=f"{wrong.mismatch}; {wrong.extent}" if wrong else "",
    )

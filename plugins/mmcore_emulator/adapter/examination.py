"""The examination of a kernel: its product and hazards at the sizes that its code asks for, on the emulator."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from mmcore.cell import Cell
from mmcore.compile.compiler import compile_plan
from mmcore.devices.base import Device, LoadedModule
from mmcore.devices.loaded_kernel import LoadedKernel
from mmcore.devices.violations import Violation
from mmcore.errors import ConstraintViolation, MmcoreError, TimeLimit
from mmcore.kernel.arguments import SIZES
from mmcore.kernel.declaration import Kernel
from mmcore.kernel.problem import Problem
from mmcore.measure import Phases
from mmcore.planning.plan import Plan, plan, plan_cell
from mmcore.verify.inputs import fresh_seed, other_seed
from mmcore.verify.verify_launches import mixed_inputs, verify_launches
from mmcore_emulator.adapter.check import sanitized_run
from mmcore_emulator.adapter.code_sizes import CodeSizes, Size
from mmcore_emulator.adapter.conversions import execute
from mmcore_emulator.adapter.device import check_emulates, emulated_runs, parsed
from mmcore_emulator.conditions.refills import Refills
from mmcore_emulator.isa.table import effect
from mmcore_emulator.ptx.instructions import Function
from mmcore_emulator.sanitizer.recording import hazards_and_warnings

WORK = 4.0
"""The estimated seconds of an examination's runs by default; with an estimate, verdicts do not depend on the host."""

_TURNS = 4  # a word of shared memory is written so often before a ring of stages has been refilled twice
_LONGEST_K = 1 << 14
_PRODUCTS = ("product", "warpgroup")


@dataclass(frozen=True)
class Tried:
    """A product that was run, and its faults."""

    cell: Cell
    why: str  # the reason for the size
    violations: tuple[Violation, ...] = ()
    warnings: tuple[Violation, ...] = ()
    mismatch: str = ""  # the first wrong element, and the number of wrong ones

    @property
    def is_right(self) -> bool:
        """True if the product is right, without any hazard."""
        return not self.violations and not self.mismatch

    def __str__(self) -> str:
        cell = self.cell
        gaps = [f", {name} = {value}" for name in ("lda", "ldb", "ldc") if (value := getattr(cell, name))]
        return f"{cell.m}×{cell.n}×{cell.k}{''.join(gaps)}"

    def to_json(self) -> dict[str, Any]:
        """Return JSON-ready values."""
        lists = {name: [each.to_json() for each in getattr(self, name)] for name in ("violations", "warnings")}
        return {"cell": self.cell.to_json(), "why": self.why, "mismatch": self.mismatch, **lists}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Tried:
        """Return what :meth:`to_json` wrote."""
        lists = {name: tuple(map(Violation.from_json, values[name])) for name in ("violations", "warnings")}
        return cls(**{**values, **lists, "cell": Cell.from_json(values["cell"])})


@dataclass(frozen=True)
class Examination:
    """The tried sizes, and the reason why others are missing."""

    tried: tuple[Tried, ...]
    left_out: str = ""  # the reason why further sizes were not tried; "" if all were

    @property
    def wrong(self) -> Tried | None:
        """The product that was wrong or had a hazard, which ended the examination."""
        return next((each for each in self.tried if not each.is_right), None)

    @property
    def faults(self) -> tuple[Violation, ...]:
        """The violations of the wrong product, which say at what size they are."""
        if (wrong := self.wrong) is None:
            return ()
        mismatch = [Violation("wrong-product", f"at {wrong} ({wrong.why}): {wrong.mismatch}", "C")]
        others = [replace(each, message=f"at {wrong}, {each.message}") for each in wrong.violations]
        return (*(mismatch if wrong.mismatch else ()), *others)

    @property
    def sizes(self) -> list[dict[str, Any]]:
        """The sizes as JSON-ready values: "m", "n", "k", "lda", "ldb", "ldc", "why" and "right"."""
        rows = ({name: getattr(each.cell, name) for name in SIZES} for each in self.tried)
        return [row | {"why": each.why, "right": each.is_right} for row, each in zip(rows, self.tried, strict=True)]

    @property
    def text(self) -> str:
        """The sizes and their reasons, a line each."""
        lines = [f"{each}: {each.why}" for each in self.tried]
        return "\n".join(lines + ([f"not tried: {self.left_out}"] if self.left_out else []))

    def to_json(self) -> dict[str, Any]:
        """Return JSON-ready values."""
        return {"tried": [each.to_json() for each in self.tried], "left_out": self.left_out}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Examination:
        """Return what :meth:`to_json` wrote."""
        return cls(tuple(map(Tried.from_json, values["tried"])), values["left_out"])


def examination_json(
    device: Device, phases: Phases, cell: Mapping[str, Any], work: float, kernel: Kernel | None = None
) -> dict[str, Any]:
    """Return the examination of a cell, both as JSON."""
    return examine(Cell.from_json(cell), device, work, kernel, phases).to_json()


def examine(
    cell: Cell, device: Device, work: float = WORK, kernel: Kernel | None = None, phases: Phases | None = None
) -> Examination:
    """Verify a kernel and look for hazards at the sizes that its code asks for, until one shows a fault.

    Args:
        cell: the kernel, with the config and the seed; its size counts only where the config depends on it.
        device: the emulator; its deadline is kept.
        work: the estimated seconds of all runs together.
        kernel: the kernel itself, if the cell cannot name it.
        phases: counts where the time goes.

    Raises:
        NoDevice: the device is no emulator.
        MmcoreError: the kernel cannot be compiled, or does not run on the emulator.
    """
    check_emulates(device, "look for hazards")
    phases = phases or Phases()
    with phases("plan"):
        planned = plan_cell(cell, device.properties, kernel)
        cell = replace(cell, seed=fresh_seed() if cell.seed is None else cell.seed)
    tried: list[Tried] = []
    left_out = ""
    with phases("check"), _Runs(cell, planned, device, work) as runs:
        for size in runs.sizes():
            try:
                tried.append(runs.tried(size))
            except ConstraintViolation:
                continue
            except TimeLimit:
                left_out = f"{size.problem} and further sizes, as the time limit was reached"
                break
            if not tried[-1].is_right:
                break
    return Examination(tuple(tried), left_out or runs.left_out)


def sizes_of_code(cell: Cell, device: Device, work: float = WORK) -> list[Size]:
    """Return the products that a cell's kernel asks for by its code; arguments and errors are those of examine()."""
    check_emulates(device, "see what sizes a kernel asks for")
    with _Runs(cell, plan_cell(cell, device.properties), device, work) as runs:
        return list(runs.sizes())


class _Runs:
    """The runs of a kernel in one config on the emulator, until their estimated time is used up.

    A context manager that closes the modules, which stay loaded from one run to the next.
    """

    def __init__(self, cell: Cell, planned: Plan, device: Device, work: float) -> None:
        self.left_out = ""
        self._cell, self._kernel, self._device, self._work = cell, planned.kernel, device, work
        self._config, self._seed = planned.config, cell.seed or 0
        self._modules: dict[str, LoadedModule] = {}  # by their PTX
        functions = self._functions(planned).values()
        on_tensor_cores = any(effect(each).kind in _PRODUCTS for function in functions for each in function.body)
        self._sizes = CodeSizes(
            self._kernel, self._config, device.properties, self._functions, work / 2, on_tensor_cores=on_tensor_cores
        )

    def __enter__(self) -> _Runs:
        return self

    def __exit__(self, *exception: object) -> None:
        for module in self._modules.values():
            module.close()

    def sizes(self) -> Iterator[Size]:
        """Yield the sizes to try; a size that turns the kernel's ring of stages follows the first ones."""
        left = self._work
        for size in self._in_order():
            seconds = self._sizes.seconds(size.problem)
            if seconds > left:
                if not size.is_extra:
                    self.left_out = f"{size.problem} and further sizes, for their work"
                return
            left -= seconds
            yield size

    def _in_order(self) -> Iterator[Size]:
        first: Size | None = None
        for number, size in enumerate(self._sizes):
            first = first or size
            yield size
            if number == 1:
                yield from self._deep(first)

    def _functions(self, planned: Plan) -> dict[str, Function]:
        module = compile_plan(planned, self._device.architecture)
        functions = parsed(module.ptx)
        return {name: functions[compiled.symbol] for name, compiled in module.functions.items()}

    def _deep(self, first: Size) -> Iterator[Size]:
        """Yield a product so deep that each stage in shared memory is refilled twice, if the first one is not."""
        m, n, k = first.problem.m, first.problem.n, first.problem.k
        while k <= _LONGEST_K and self._sizes.seconds(self._kernel.problem(m, n, k)) <= self._work:
            most = self._refills(self._kernel.problem(m, n, k))
            if not most or most >= _TURNS:
                break
            k *= 2 if most == 1 else -(-_TURNS // most)
        if first.problem.k < k <= _LONGEST_K:
            yield Size(self._kernel.problem(m, n, k), "so deep that each stage in shared memory is refilled twice")

    def _refills(self, problem: Problem) -> int:
        """Return how often a word of shared memory is written; 0 if that cannot be seen."""
        refills = Refills()
        with contextlib.suppress(MmcoreError), self._loaded(problem) as loaded:
            for launch in emulated_runs(loaded, lambda translation: refills):
                launch.write = len
                execute(launch)
        return refills.most

    def _loaded(self, problem: Problem) -> LoadedKernel:
        planned = plan(self._kernel, problem, self._config, self._device.properties)
        compiled = compile_plan(planned, self._device.architecture)
        if compiled.ptx not in self._modules:
            self._modules[compiled.ptx] = self._device.load(compiled)
        return LoadedKernel(planned, self._device, compiled, module=self._modules[compiled.ptx])

    def tried(self, size: Size) -> Tried:
        """Run one size with every access observed, and verify its product. Raises TimeLimit, and what planning does."""
        self._seed = other_seed(self._seed)  # with one seed, the last rows and columns are of the same kind each time
        cell = replace(size.cell(self._cell), seed=self._seed)
        with self._loaded(size.problem) as loaded:
            matrices = mixed_inputs(loaded, size.problem, self._seed)
            run = partial(sanitized_run, loaded, quiet=True)
            verified = verify_launches(loaded, size.problem, matrices, launch=run)
        wrong = verified.verification if verified.verification and not verified.verification.verified else None
        mismatch = f"{wrong.mismatch}; {wrong.extent}" if wrong else ""
        return Tried(cell, size.why, *hazards_and_warnings(verified.violations), mismatch)

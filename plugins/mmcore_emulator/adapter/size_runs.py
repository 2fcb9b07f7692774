"""The runs of a kernel on the emulator at the sizes that its code asks for, until their time is used up."""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from mmcore.cell import Cell
from mmcore.compile.compiler import compile_plan
from mmcore.devices.base import Device
from mmcore.devices.loaded_kernel import LoadedKernel
from mmcore.devices.violations import Violation
from mmcore.errors import MmcoreError, TimeLimit
from mmcore.kernel.problem import Problem
from mmcore.planning.plan import Plan, plan
from mmcore.verify.inputs import other_seed
from mmcore.verify.verify_launches import mixed_inputs, verify_launches
from mmcore_emulator.adapter.allowed_sizes import Size
from mmcore_emulator.adapter.candidate_sizes import CodeSizes
from mmcore_emulator.adapter.check import causes, sanitized_run
from mmcore_emulator.adapter.constant_steps import MultiplyAdds, Steps
from mmcore_emulator.adapter.conversions import execute
from mmcore_emulator.adapter.device import EmulatedModule, emulated_runs, functions_of
from mmcore_emulator.adapter.examination_report import Tried
from mmcore_emulator.adapter.single_blocks import are_independent, verified_blocks
from mmcore_emulator.adapter.value_dependences import ReachedCode, dependences
from mmcore_emulator.adapter.whole_clusters import REFUSED_LAUNCH, cluster_size, undivided
from mmcore_emulator.adapter.work_budget import WorkBudget
from mmcore_emulator.conditions.loaded_values import depends_on_loaded_values
from mmcore_emulator.conditions.refills import Refills
from mmcore_emulator.executor.coverage import Coverage
from mmcore_emulator.isa.table import effect
from mmcore_emulator.ptx.instructions import Function
from mmcore_emulator.sanitizer.recording import hazards_and_warnings

_TURNS = 3  # a word of shared memory is written so often before a ring of stages has been refilled twice
_DEEP = 2  # a product that refills a ring of stages may take so many times as long as others
_NEARLY = 0.9  # part of the longest size along an axis that is as long, where larger sizes are looked for
_LEAST_OF_PROGRAM = 64  # m = n = k of the first product that may be of the kernel's own program
_PRODUCTS = ("product", "warpgroup")


class SizeRuns:
    """The runs of a kernel in one config on the emulator, until their estimated time is used up.

    A context manager that closes the modules, which stay loaded from one run to the next.
    """

    def __init__(self, cell: Cell, planned: Plan, device: Device, work: float) -> None:
        self.left_out = self.unreached = ""
        self._cell, self._kernel, self._device = cell, planned.kernel, device
        self._config, self._seed = planned.config, cell.seed or 0
        self._run: list[Problem] = []
        self._reached = ReachedCode()
        self._modules: dict[str, EmulatedModule] = {}  # by their PTX
        functions = self._functions(planned).values()
        self.depends_on_values = any(map(depends_on_loaded_values, functions))
        # The emulator's tensor cores add float64 products one after the other, as slowly as threads do.
        on_tensor_cores = self._kernel.dtype != "float64" and any(
            effect(each).kind in _PRODUCTS for function in functions for each in function.body
        )
        self._steps = Steps(self._kernel, self._config)
        self._sizes = CodeSizes(
            self._kernel, self._config, device.properties, self._functions, work / 2, on_tensor_cores=on_tensor_cores
        )
        self._budget = WorkBudget(self._sizes, work, self._counted_work)

    def __enter__(self) -> SizeRuns:
        return self

    def __exit__(self, *exception: object) -> None:
        for module in self._modules.values():
            module.close()

    def sizes(self) -> Iterator[Size]:
        """Yield the sizes to try; a size that turns the kernel's ring of stages follows the first ones."""
        missing: list[Size] = []
        for size in self._in_order():
            if size.is_beside or self._budget.affords(size) or size.is_due:
                yield size
            elif not (size.is_extra or size.of_blocks) and self._budget.affords(plain := replace(size, is_plain=True)):
                yield plain
            elif not size.is_extra and size.problem != self._cell.problem(self._kernel):
                missing.append(size)
                if not (size.joins or self.unreached):
                    self.unreached = f"{size.why}, and {self._budget.why_not(size)}"
        if missing:
            more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
            self.left_out = f"{missing[0].problem}{more}, for their work"

    def _counted_work(self) -> float:
        return sum(module.coverage.work for module in self._modules.values())

    def turned(self) -> Iterator[Size]:
        """Yield products for loops that no run has turned twice, larger than the first run that came to the loop."""
        self._budget.leave_for_turns()
        for line in (each["line"] for each in self.not_executed() if each["loop"]):
            if (first := self._reached.first_at(line)) is not None:
                for problem in self._sizes.deeper(first):
                    size = Size(problem, f"for another turn of the loop in line {line}")
                    missing = any(each["loop"] and each["line"] == line for each in self.not_executed())
                    if missing and self._budget.affords(size):
                        yield size

    def deeper(self, sizes: Sequence[Size]) -> list[Size]:
        """Return a product with the most rows and columns of some sizes and more steps along k, if they have few."""
        largest = max((size.problem for size in sizes), key=lambda problem: problem.m * problem.n, default=None)
        deeper = self._sizes.deeper(largest) if largest is not None else []
        allowed = (problem for problem in deeper[-1:] if self._sizes.planned(problem) is not None)
        why = "more steps along k, with many rows and columns"
        return [Size(problem, why, is_due=True) for problem in allowed]

    def grown(self) -> Iterator[Size]:
        """Yield larger products while code is missing that some size may execute, until one executes nothing new.

        One size grows at a time, or all of them where the kernel needs that.
        """
        if self.left_out:
            return
        self._budget.leave_for_growth()
        for axes in ("k", "m", "n") if self._larger("k") else ("mnk",):
            before = -1
            while before < (before := self._coverage().executed) and self.not_executed():
                size = self._larger(axes)
                if size is None or not self._budget.affords(size):
                    break
                yield size

    def _larger(self, axes: str) -> Size | None:
        """Return the least of the longest runs along some axes, twice as long along them; None if not allowed."""
        if not self._run:
            return None
        longest = max(getattr(each, axes[0]) for each in self._run)
        several = (each for each in self._run if getattr(each, axes[0]) >= _NEARLY * longest)
        largest = min(several, key=lambda each: each.m * each.n * each.k)
        sizes = {name: getattr(largest, name) * (2 if name in axes else 1) for name in "mnk"}
        problem = self._kernel.problem(**sizes)
        why = f"a larger {', '.join(axes)}, because some code was not executed"
        return Size(problem, why) if self._sizes.planned(problem) else None

    def _coverage(self) -> Coverage:
        """Return what all launches have executed."""
        united = Coverage()
        for module in self._modules.values():
            united.update(module.coverage)
        return united

    def not_executed(self) -> list[dict[str, Any]]:
        """Return the lines and branches of the kernel's file that no launch has executed."""
        return self._coverage().missing(self._kernel.source.name)

    def _in_order(self) -> Iterator[Size]:
        early = self._sizes.early
        first = [size.problem for size in early[:2]]
        if first:
            yield from self._of_program(first[0])
        yield from early
        if len(first) == 2:
            used = [problem for problem in first if self._kernel.in_program(problem, self._config)]
            yield from self._deep(min(used or first, key=lambda problem: problem.m * problem.n))
        yield from itertools.islice(self._sizes, len(early), None)

    def _of_program(self, usual: Problem) -> Iterator[Size]:
        """Yield sizes that the kernel's own program uses, if the first usual size is none: squares, and no square."""
        if not self._kernel.in_program(usual, self._config):
            with contextlib.suppress(MmcoreError):
                yield Size(self._kernel.least_problem(_LEAST_OF_PROGRAM, self._config), "a size like its program's")
            yield from self._sizes.squares_of_program()
            yield from self._sizes.unequal_of_program()

    def _functions(self, planned: Plan) -> dict[str, Function]:
        module = compile_plan(planned, self._device.architecture)
        functions = functions_of(module)
        return {name: functions[compiled.symbol] for name, compiled in module.functions.items()}

    def _deep(self, first: Problem) -> Iterator[Size]:
        """Yield a product so deep that each stage in shared memory is refilled twice, if the first one is not."""
        problem, most = first, self._refills(first)
        while 0 < most < _TURNS:
            times = 2 * problem.k if most == 1 else problem.k * _TURNS / most
            deeper = self._kernel.problem(first.m, first.n, first.k * math.ceil(times / first.k))
            if self._sizes.planned(deeper, _DEEP) is None:
                break
            problem, most = deeper, self._refills(deeper)
        if problem != first:
            yield Size(problem, "so deep that each stage in shared memory is refilled twice", is_due=most >= _TURNS)

    def refilling_depth(self, first: Problem) -> int:
        """Return the k of the product that refills each stage twice; that of the first one without such a product."""
        return next((size.problem.k for size in self._deep(first) if size.is_due), first.k)

    def _refills(self, problem: Problem) -> int:
        """Return how often a word of shared memory is written; 0 if that cannot be seen."""
        refills = Refills()
        with contextlib.suppress(MmcoreError), self._budget.beside(), self._loaded(problem) as loaded:
            for launch in emulated_runs(loaded, lambda translation: refills):
                execute(launch)
        return refills.most

    def _loaded(self, problem: Problem) -> LoadedKernel:
        planned = plan(self._kernel, problem, self._config, self._device.properties)
        compiled = compile_plan(planned, self._device.architecture)
        if compiled.ptx not in self._modules:
            module = self._device.load(compiled)
            assert isinstance(module, EmulatedModule)
            module.write = None  # what the kernel prints is dropped
            self._modules[compiled.ptx] = module
        return LoadedKernel(planned, self._device, compiled, module=self._modules[compiled.ptx])

    def tried(self, size: Size) -> Tried:
        """Run one size, with every access observed if it is not too large, and verify its product.

        A size that cannot be launched has that as its fault. Raises TimeLimit, and what planning does.
        """
        if refused := undivided(self._sizes, size.problem):
            return Tried(size.cell(self._cell), size.why, (Violation(REFUSED_LAUNCH, refused),), is_plain=True)
        self._run += [] if size.is_beside or size.of_blocks else [size.problem]
        with self._budget.run(size):
            return self._tried(size)

    def in_whole_clusters(self, size: Size) -> Size:
        """Return a size of more rows and columns, whose grid is a whole number of clusters."""
        times = cluster_size(self._sizes, size.problem)
        problem = self._kernel.problem(size.problem.m * times, size.problem.n * times, size.problem.k)
        return replace(size, problem=problem)

    def _tried(self, size: Size) -> Tried:
        self._seed = other_seed(self._seed)  # with one seed, the last rows and columns are of the same kind each time
        cell = replace(size.cell(self._cell), seed=self._seed)
        with self._loaded(size.problem) as loaded:
            if size.of_blocks:
                found = verified_blocks(loaded, size.problem, self._seed, self._budget.most_work)
                return Tried(cell, size.why, mismatch=found.fault if found else "", is_part=True)
            matrices = mixed_inputs(loaded, size.problem, self._seed)
            counted = MultiplyAdds()
            run = partial(sanitized_run, loaded, most_work=self._budget.most_work, watching=[counted])
            with self._reached.recorded(size.problem, self._modules[loaded.compiled.ptx]):
                verified = verify_launches(loaded, size.problem, matrices, launch=None if size.is_plain else run)
            if late := next((each for each in verified.violations if each.kind == "timeout"), None):
                raise TimeLimit(str(late))
            if verified.right:
                self._steps.add(loaded, size.problem, counted)
            wrong = verified.verification if verified.verification and not verified.verification.verified else None
            explained = causes(loaded, verified.violations) if wrong else []
        mismatch = wrong.fault if wrong else ""
        hazards = hazards_and_warnings([*verified.violations, *explained])
        return Tried(cell, size.why, *hazards, mismatch, is_plain=size.is_plain)

    def in_whole_tiles(self, tried: Sequence[Tried]) -> Iterator[Tried]:
        """Run products of whole tiles that show other faults, if the last one, with remainders, is wrong.

        One refills each stage in shared memory, others have more than one pass of the grid.
        """
        known = [each.cell.problem(self._kernel) for each in tried]
        whole = [problem for problem in known if self._sizes.is_whole(problem)]
        if not whole or tried[-1].is_right or known[-1] in whole:
            return
        for size in (*self._deep(whole[0]), *self._sizes.whole_passes(whole[0].k)):
            if size.is_due and size.problem not in known:
                with contextlib.suppress(MmcoreError):
                    yield self.tried(size)

    def with_remainders(self, tried: Sequence[Tried]) -> Iterator[Tried]:
        """Run the first size with remainders, if the kernel's program may use it and it was not tried.

        Of a kernel that is right so far, run a small one, if no size with remainders was tried.
        """
        known = [each.cell.problem(self._kernel) for each in tried]
        right = all(each.is_right for each in tried)
        if right and not all(map(self._sizes.is_whole, known)):
            return
        size = self._sizes.least_with_remainders() if right else self._sizes.with_remainders()
        if size is None or size.problem in known or not self._kernel.in_program(size.problem, self._config):
            return
        with contextlib.suppress(MmcoreError):
            found = self.tried(size)
            yield from [] if found.refusal else [found]

    def value_dependences(self, tried: Sequence[Tried]) -> tuple[Violation, ...]:
        """Return what values of A and B decide about in the code that right products have reached."""
        whole = [each for each in tried if each.is_right and not each.is_part] if self.depends_on_values else []
        problems = self._reached.cover([each.cell.problem(self._kernel) for each in whole])
        return dependences(map(self._loaded, problems), self._seed)

    def beyond_steps(self) -> Tried | None:
        """Return a wrong product with more steps along k than the kernel takes; run all blocks if several may add."""
        with contextlib.suppress(MmcoreError):
            if problem := self._steps.beyond():
                size = Size(problem, self._steps.why, is_plain=True)
                with self._loaded(problem) as loaded:
                    if are_independent(loaded.plan, [*self._functions(loaded.plan).values()]):
                        cell = replace(size.cell(self._cell), seed=self._seed)
                        return self._steps.tried(loaded, problem, cell, self._budget.most_work)
                if self._budget.affords(size) and not (found := self.tried(size)).is_right:
                    return found
        return None

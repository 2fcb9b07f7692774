"""A kernel's conformance: every property of every test case, each tested in the worker process of a device."""

from __future__ import annotations

import functools
import itertools
import shlex
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from mmcore import errors
from mmcore.cell import Cell, referenced_kernel
from mmcore.deadline import USUAL_SECONDS
from mmcore.errors import ConstraintViolation, DeviceLost, InvalidKernel, MmcoreError, TimeLimit
from mmcore.executor import run
from mmcore.executor.choose_device import device_name
from mmcore.kernel.declaration import Kernel
from mmcore.registry import registry
from mmcore.reproduce import launch_command
from mmcore.verify.inputs import fresh_seed
from mmcore_conform.cases import Cases
from mmcore_conform.outcome import FAILED, PASSED, PROPERTIES, SKIPPED, Case, Outcome
from mmcore_conform.sizes import USUAL_WORK

CAPABILITIES = ((7, 5), (8, 0), (8, 6), (8, 9), (9, 0), (10, 0), (12, 0))
"""The compute capabilities that a kernel must fit, unless it declares that it needs a later one."""

MOST_FORCED = 24
"""Cases of a kernel with known bugs that are launched against its constraints."""

Progress = Callable[[str, int, int], None]

_OF_RUNS = ("product", "written", "bounds", "inputs", "repeatable")
# What these say of a case is the kernel's failure; of other errors it is this machine that cannot tell.
_KERNEL_ERRORS = (InvalidKernel, errors.CompileError, errors.DeviceError, errors.KernelError)
_FATAL = (TimeLimit, DeviceLost, errors.CompilerMissing)


@dataclass(frozen=True)
class Conformance:
    """The outcomes of a kernel's tests.

    Attributes:
        kernel: the kernel.
        device: the name of the device that ran it.
        sanitizer: the name of the device that looked for hazards; empty where none can.
        seed: seed of the inputs.
        outcomes: in the order of the tests.
        left_out: how many allowed products were found and not tested.
        stopped: why no more were tested: the time limit, or a process that died.
    """

    kernel: Kernel
    device: str
    sanitizer: str
    seed: int
    outcomes: tuple[Outcome, ...]
    left_out: int = 0
    stopped: str = ""

    @property
    def failures(self) -> tuple[Outcome, ...]:
        """The outcomes that failed."""
        return tuple(each for each in self.outcomes if each.outcome == FAILED)

    @property
    def untested(self) -> str:
        """Why no product could be tested; empty where one was, or something failed."""
        runs = self.of("product")
        return "" if self.failures or any(each.outcome != SKIPPED for each in runs) else runs[0].reason

    @property
    def conforms(self) -> bool:
        """Whether everything was tested that can be, and nothing failed."""
        return not (self.failures or self.stopped or self.untested)

    def of(self, name: str) -> tuple[Outcome, ...]:
        """The outcomes of one property."""
        return tuple(each for each in self.outcomes if each.property == name)

    def to_json(self) -> dict[str, Any]:
        """The conformance as JSON-ready values."""
        names = ("device", "sanitizer", "seed", "conforms", "left_out", "stopped")
        values = {"kernel": self.kernel.name, **{name: getattr(self, name) for name in names}}
        counts = {name: dict(Counter(each.outcome for each in self.of(name))) for name in PROPERTIES}
        return {**values, "properties": counts, "cases": [each.to_json() for each in self.outcomes]}


def conform_kernel(
    reference: str,
    device: str = "auto",
    *,
    seed: int | None = None,
    timeout: float = USUAL_SECONDS,
    progress: Progress = lambda what, done, total: None,
) -> Conformance:
    """Test whether a kernel keeps what its declaration promises.

    Args:
        reference: a registered kernel's name, or "module:attribute".
        device: as a user calls it.
        seed: seed of the inputs of every case; fresh when None.
        timeout: seconds that each case may take; after one that takes longer no others are tested.
        progress: is told what is tested next, how many tests are done, and how many there are.

    Raises:
        MmcoreError: there is no such kernel or device, or no compiler.
    """
    name, seed = device_name(device), fresh_seed() if seed is None else seed
    tests = _Tests(reference, name, seed, timeout, progress)
    tests.make()
    return Conformance(tests.kernel, name, tests.sanitizer, seed, tuple(tests.outcomes), tests.left_out, tests.stopped)


@functools.cache
def sanitizing_device(device: str) -> str:
    """The device itself if it has a sanitizer, else the first here that has; empty where none has."""
    for spec in (device, *registry().providers):
        try:
            if run(name := device_name(spec), "mmcore_conform.running:can_sanitize"):
                return name
        except MmcoreError:
            continue
    return ""


class _Tests:
    """The tests of one kernel, and what has come of them."""

    def __init__(self, reference: str, device: str, seed: int, timeout: float, progress: Progress) -> None:
        self._reference, self._device, self._seed = reference, device, seed
        self._timeout, self._progress = timeout, progress
        self.kernel = referenced_kernel(reference)
        self.sanitizer = sanitizing_device(device)
        self.outcomes: list[Outcome] = []
        self.left_out, self.stopped = 0, ""
        limit = [] if timeout == USUAL_SECONDS else ["--timeout", f"{timeout:g}"]
        self._again = shlex.join(["mmcore", "conform", reference, "--device", device, "--seed", str(seed), *limit])
        self._now = "the search for test cases"
        # (elements declared, elements needed, case), by matrix.
        self._over_reads: dict[str, list[tuple[int, int, Case]]] = {}

    def make(self) -> None:
        """All of them, or as many as come before the time limit is reached or a process dies."""
        try:
            self._make()
        except (TimeLimit, DeviceLost) as error:
            self.stopped = str(error)
            self._add("product", self._now, SKIPPED if isinstance(error, TimeLimit) else FAILED, self.stopped)

    def _make(self) -> None:
        self._progress(self._now, 0, 1)
        try:
            cases = Cases.from_json(self._ask("cases:found_json", self._reference))
        except InvalidKernel as error:
            self._add("constraints", "its constraints", FAILED, str(error))
            return
        except ConstraintViolation as error:
            self._add("product", "every case", SKIPPED, str(error))
            return
        fits = list(itertools.product(dict.fromkeys(case.config for case in cases.allowed), CAPABILITIES))
        total = len(cases.allowed) + len(fits)
        self.left_out = cases.left_out + len(cases.allowed)
        for number, case in enumerate(cases.allowed):
            self._progress(str(case), number, total)
            self._now, self.left_out = str(case), self.left_out - 1
            self.outcomes += self._case(case)
        self._now = "the launches together"
        for name, what in cases.not_found:
            self._add(name, what, SKIPPED, "no size or config that was tried is such a case")
        self._verify_over_reads()
        self._test_launches(cases)
        for number, (config, capability) in enumerate(fits, len(cases.allowed)):
            self._now = f"compute capability {'.'.join(map(str, capability))}, {config}"
            self._progress(self._now, number, total)
            self._fit([case for case in cases.allowed if case.config == config], capability)
        self._test_known_bugs(cases.violating)

    def _test_launches(self, cases: Cases) -> None:
        cells = [self._cell(case) for case in cases.violating]
        refusals = self._ask("geometry:refusals", [cell.to_json() for cell in cells])
        for case, cell, reason in zip(cases.violating, cells, refusals, strict=True):
            outcome, why = PASSED if reason else FAILED, reason or "it is not refused"
            self._add("constraints", str(case), outcome, why, launch_command("run", cell), case)
        cells = [self._cell(case) for case in cases.allowed]
        for what, reason in self._ask("geometry:launch_failures", [cell.to_json() for cell in cells]):
            self._add("geometry", what, FAILED, reason)

    def _fit(self, cases: Sequence[Case], capability: tuple[int, int]) -> None:
        cells = [replace(self._cell(case), seed=None, device="") for case in sorted(cases, key=lambda case: case.work)]
        outcome, reason = self._ask("geometry:fit", [cell.to_json() for cell in cells], capability)
        which = f"--cc {'.'.join(map(str, capability))}"
        command = launch_command("occupancy", cells[-1]).replace("--device ''", which)
        self._add("geometry", self._now, outcome, reason, command)

    def _ask(self, function: str, *arguments: Any, device: str = "") -> Any:
        return run(device or self._device, f"mmcore_conform.{function}", *arguments, timeout=self._timeout)

    def _add(self, name: str, what: str, outcome: str, reason: str, again: str = "", case: Case | None = None) -> None:
        self.outcomes.append(Outcome(name, what, outcome, reason, again or self._again, case))

    def _cell(self, case: Case, *, force: bool = False) -> Cell:
        return replace(case.cell, kernel=self._reference, device=self._device, seed=self._seed, force=force)

    def _case(self, case: Case, *, force: bool = False) -> list[Outcome]:
        """Every property of a case."""
        cell, what = self._cell(case, force=force), f"{case}, forced" if force else str(case)
        command, check = launch_command("run", cell), launch_command("check", cell.on(self.sanitizer))

        def failed(name: str, reason: str, again: str = command) -> Outcome:
            return Outcome(name, what, FAILED, reason, self._again if name == "repeatable" else again, case)

        try:
            answer = self._ask("running:run_case", cell.to_json())
        except _FATAL:
            raise
        except ConstraintViolation as error:
            return [failed("geometry", f"its constraints allow what is refused: {error}")]
        except MmcoreError as error:
            outcome = FAILED if isinstance(error, _KERNEL_ERRORS) else SKIPPED
            return [Outcome("product", what, outcome, str(error), command, case)]
        outcomes = [failed(name, reason) for name, reason in answer["failures"]]
        tested = [*_OF_RUNS] if answer["complete"] else []
        if answer["complete"] and self.sanitizer:
            try:
                seen = self._ask("running:sanitize_case", cell.to_json(), device=self.sanitizer)
            except _FATAL:
                raise
            except MmcoreError as error:
                outcomes.append(Outcome("hazards", what, SKIPPED, str(error), check, case))
            else:
                outcomes += [failed(name, reason, check) for name, reason in seen["failures"]]
                tested += ["hazards", "over-read"] if seen["declared"] else ["hazards"]
                for matrix, elements in seen["declared"].items():
                    self._over_reads.setdefault(matrix, []).append((elements, seen["needed"].get(matrix, 0), case))
        elif answer["complete"]:
            outcomes.append(Outcome("hazards", what, SKIPPED, "no device here has a sanitizer", check, case))
        # The first failure of a property is the one that is told.
        first = {each.property: each for each in reversed(outcomes)}
        passed = [Outcome(name, what, PASSED, "", command, case) for name in tested if name not in first]
        return [*passed, *first.values()]

    def _verify_over_reads(self) -> None:
        """Each declared over-read must be needed to its last element, by one of the cases at least.

        An over-read that is too large leaves room in which an out-of-bounds read goes unnoticed. One case that needs
        it is enough, because what others need depends on what the compiler makes of their last step.
        """
        for matrix, looked in self._over_reads.items():
            what = f"over-read of {matrix}, declared in {len(looked)} cases"
            declared, needed, case = max(looked, key=lambda each: each[1] - each[0])
            enough = needed >= declared
            past = f"{declared} elements past the end of {matrix} are declared for {case}"
            reason = f"{past}, of which {needed or 'none'} are read; no case needs all that it declares"
            self._add("over-read", what, PASSED if enough else FAILED, "" if enough else reason)

    def _test_known_bugs(self, violating: Sequence[Case]) -> None:
        """A kernel with known bugs does not conform: for what shows of them, or for declaring what is not so.

        Its constraints may hide the bugs, so it is launched against them as well.
        """
        if not self.kernel.known_bugs:
            self._add("known-bugs", "declared bugs", PASSED, "")
            return
        seen = {each.property: each for each in reversed(self.outcomes) if each.outcome == FAILED}
        usual = [config.id for config in self.kernel.usual_configs]
        small = [case for case in violating if case.work <= USUAL_WORK and case.config in usual]
        for case in small[:MOST_FORCED]:
            try:
                outcomes = self._case(case, force=True)
            except (TimeLimit, DeviceLost) as error:
                forced = Outcome("product", f"{case}, forced", FAILED, str(error), self._again, case)
                seen.setdefault(forced.property, forced)
                break
            for each in outcomes:
                # Against its constraints it may not be launchable at all, which shows nothing.
                if each.outcome == FAILED and each.property != "geometry":
                    seen.setdefault(each.property, each)
        declared = " ".join(self.kernel.known_bugs)
        shown = "it declares" if seen else "nothing that was tested shows what it declares"
        self._add("known-bugs", "declared bugs", FAILED, f"{shown}: {declared}")
        self.outcomes += [replace(each, property="known-bugs", case=None) for each in seen.values()]

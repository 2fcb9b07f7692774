"""A kernel's conformance: every property of every test case, each tested in the worker process of a device."""

from __future__ import annotations

import itertools
import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from mmcore.cell import Cell, referenced_kernel
from mmcore.deadline import USUAL_SECONDS
from mmcore.devices.choose import device_name
from mmcore.errors import (
    CompileError,
    CompilerMissing,
    ConstraintViolation,
    DeviceError,
    DeviceLost,
    InvalidKernel,
    KernelError,
    MmcoreError,
    NoDevice,
    TimeLimit,
)
from mmcore.executor import run
from mmcore.kernel.arguments import MATRICES
from mmcore.kernel.declaration import Kernel
from mmcore.reproduce import launch_command
from mmcore.verify.inputs import fresh_seed
from mmcore_conform.cases import Cases
from mmcore_conform.geometry import CAPABILITIES
from mmcore_conform.outcome import FAILED, PASSED, PROPERTIES, SKIPPED, Case, Outcome
from mmcore_conform.sanitizing import sanitizing_device
from mmcore_conform.sizes import USUAL_WORK

MOST_FORCED = 24
"""Cases of a kernel with known bugs that are launched against its constraints."""

OF_RUNS = ("product", "written", "bounds", "inputs", "repeatable")
"""The properties that running a case tests."""

Progress = Callable[[str, int, int], None]


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
        """Why no product could be tested; empty where one was."""
        runs = [each for name in OF_RUNS for each in self.of(name)]
        skipped = [each.reason for each in runs if each.outcome == SKIPPED]
        return skipped[0] if skipped and len(skipped) == len(runs) and not self.failures else ""

    @property
    def conforms(self) -> bool:
        """Whether everything was tested that can be, and nothing failed."""
        return not (self.failures or self.stopped or self.untested)

    def of(self, name: str) -> tuple[Outcome, ...]:
        """The outcomes of one property."""
        return tuple(each for each in self.outcomes if each.property == name)

    def to_json(self) -> dict[str, Any]:
        """The conformance as JSON-ready values."""
        counts = {name: dict(Counter(each.outcome for each in self.of(name))) for name in PROPERTIES}
        values = {
            name: getattr(self, name) for name in ("device", "sanitizer", "seed", "conforms", "left_out", "stopped")
        }
        cases = [each.to_json() for each in self.outcomes]
        return {"kernel": self.kernel.name, **values, "properties": counts, "cases": cases}


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
        timeout: seconds that each case may take. After one that takes longer no others are tested.
        progress: is told what is tested next, how many tests are done, and how many there are.

    Raises:
        CompilerMissing: NVRTC cannot be loaded.
        MmcoreError: there is no such kernel or device.
    """
    name = device_name(device)
    seed = fresh_seed() if seed is None else seed
    tests = _Tests(reference, name, sanitizing_device(name), seed, timeout, progress)
    tests.make()
    found = tuple(tests.outcomes)
    return Conformance(tests.kernel, name, tests.sanitizer, seed, found, tests.left_out, tests.stopped)


@dataclass
class _Tests:
    """The tests of one kernel, and what has come of them."""

    reference: str
    device: str
    sanitizer: str
    seed: int
    timeout: float
    progress: Progress
    outcomes: list[Outcome] = field(default_factory=list)
    left_out: int = 0
    stopped: str = ""

    def __post_init__(self) -> None:
        self.kernel = referenced_kernel(self.reference)
        self._again = shlex.join(
            ["mmcore", "conform", self.reference, "--device", self.device, "--seed", str(self.seed)]
        )
        self._now = ("product", "the search for test cases")
        # (elements declared, elements needed, case), by matrix.
        self._over_reads: dict[str, list[tuple[int, int, Case]]] = {}

    def make(self) -> None:
        """All of them, or as many as come before the time limit is reached or a process dies."""
        try:
            self._make()
        except (TimeLimit, DeviceLost) as error:
            self.stopped = str(error)
            outcome = FAILED if isinstance(error, DeviceLost) else SKIPPED
            self.outcomes.append(Outcome(*self._now, outcome, self.stopped, self._again))

    def _make(self) -> None:
        self.progress("the test cases", 0, 1)
        try:
            cases = Cases.from_json(self._ask("cases:found_json", self.reference))
        except InvalidKernel as error:
            self._add("constraints", "its constraints", FAILED, str(error))
            return
        except NoDevice as error:
            self._add("product", "every case", SKIPPED, str(error))
            return
        by_config = {
            name: list(several) for name, several in itertools.groupby(cases.allowed, lambda case: case.config)
        }
        fits = list(itertools.product(by_config.values(), CAPABILITIES))
        total = len(cases.allowed) + 2 + len(fits)
        self.left_out = cases.left_out + len(cases.allowed)
        for number, case in enumerate(cases.allowed):
            self.progress(str(case), number, total)
            self.left_out -= 1
            self._now = ("product", str(case))
            self.outcomes += self._case(case)
        if cases.gapless:
            reason = "its constraints allow none of the leading dimensions that were tried"
            self._add("product", "gaps between rows", SKIPPED, reason)
        self._test_over_reads()
        self.progress("what violates the constraints", len(cases.allowed), total)
        self._test_constraints(cases)
        self._test_geometry(cases.allowed, fits, total)
        self._test_known_bugs(cases.violating)

    def _ask(self, function: str, *arguments: Any, device: str = "") -> Any:
        return run(device or self.device, f"mmcore_conform.{function}", *arguments, timeout=self.timeout)

    def _add(self, name: str, what: str, outcome: str, reason: str, reproduce: str = "") -> None:
        self.outcomes.append(Outcome(name, what, outcome, reason, reproduce or self._again))

    def _cell(self, case: Case, *, force: bool = False) -> Cell:
        return replace(case.cell, device=self.device, seed=self.seed, force=force)

    def _case(self, case: Case, *, force: bool = False) -> list[Outcome]:
        """Every property of a case."""
        cell = self._cell(case, force=force)
        command, what = launch_command("run", cell), f"{case}, forced" if force else str(case)
        try:
            answer = self._ask("running:run_case", cell.to_json())
        except (CompilerMissing, TimeLimit, DeviceLost):
            raise
        except ConstraintViolation as error:
            reason = f"its constraints allow what is refused: {error}"
            return [Outcome("geometry", what, FAILED, reason, command, case)]
        except MmcoreError as error:
            wrong = isinstance(error, (InvalidKernel, CompileError, DeviceError, KernelError))
            return [Outcome("product", what, FAILED if wrong else SKIPPED, str(error), command, case)]
        failures = {
            name: (reason, self._again if name == "repeatable" else command)
            for name, reason in answer["failures"][::-1]
        }
        tested = list(OF_RUNS) if answer["complete"] else []
        skipped = []
        if answer["complete"]:
            watching = cell.on(self.sanitizer)
            check = launch_command("check", watching)
            try:
                if not self.sanitizer:
                    raise MmcoreError("no device here has a sanitizer; mmcore doctor says what was found")
                seen = self._ask("sanitizing:sanitize_case", watching.to_json(), device=self.sanitizer)
                tested += ["hazards", "over-read"] if seen["declared"] else ["hazards"]
                failures = {name: (reason, check) for name, reason in seen["failures"][::-1]} | failures
                for matrix, declared in seen["declared"].items():
                    self._over_reads.setdefault(matrix, []).append((declared, seen["needed"].get(matrix, 0), case))
            except (TimeLimit, DeviceLost):
                raise
            except MmcoreError as error:
                skipped = [Outcome("hazards", what, SKIPPED, str(error), check, case)]
        passed = [Outcome(name, what, PASSED, "", command, case) for name in tested if name not in failures]
        failed = [Outcome(name, what, FAILED, *failures[name], case) for name in failures]
        return passed + failed + skipped

    def _test_over_reads(self) -> None:
        """Each declared over-read must be needed to its last element, by one of the cases at least.

        An over-read that is too large leaves room in which an out-of-bounds read goes unnoticed. One case that needs
        it is enough, because what others need depends on what the compiler makes of their last step.
        """
        for matrix in MATRICES:
            looked = self._over_reads.get(matrix, [])
            if looked:
                what = f"over-read of {matrix}, declared in {len(looked)} cases"
                declared, needed, case = max(looked, key=lambda each: each[1])
                enough = any(needed >= declared for declared, needed, _ in looked)
                reason = (
                    f"{declared} elements past the end of {matrix} are declared for {case}, of which "
                    f"{needed or 'none'} {'is' if needed == 1 else 'are'} read; no case needs all that it declares"
                )
                self._add("over-read", what, PASSED if enough else FAILED, "" if enough else reason)

    def _test_constraints(self, cases: Cases) -> None:
        cells = [self._cell(case) for case in cases.violating]
        answers = self._ask("constraints:violating_cases", [cell.to_json() for cell in cells])
        for case, cell, (refused, reason) in zip(cases.violating, cells, answers, strict=True):
            outcome, command = PASSED if refused else FAILED, launch_command("run", cell)
            self.outcomes.append(Outcome("constraints", str(case), outcome, reason, command, case))
        for description in cases.unviolated:
            self._add("constraints", description, SKIPPED, "none of the sizes and configs that were tried violates it")

    def _test_geometry(
        self, cases: Sequence[Case], fits: Iterable[tuple[list[Case], tuple[int, int]]], total: int
    ) -> None:
        for what, reason in self._ask("geometry:launch_failures", [self._cell(case).to_json() for case in cases]):
            self._add("geometry", what, FAILED, reason)
        for number, (several, capability) in enumerate(fits, len(cases) + 2):
            name = ".".join(map(str, capability))
            self.progress(f"compute capability {name}", number, total)
            several = sorted(several, key=lambda case: case.work)
            cells = [self._cell(case) for case in several]
            outcome, reason = self._ask("geometry:fit", [cell.to_json() for cell in cells], capability)
            command = launch_command("occupancy", replace(cells[-1], seed=None)).replace(
                f"--device {self.device}", f"--cc {name}"
            )
            self._add("geometry", f"compute capability {name}, {several[0].config}", outcome, reason, command)

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
                forced = self._case(case, force=True)
            except (TimeLimit, DeviceLost) as error:
                forced = [Outcome("product", f"{case}, forced", FAILED, str(error), self._again, case)]
            for each in forced:
                # Against its constraints it may not be launchable at all, which shows nothing.
                if each.outcome == FAILED and each.property != "geometry":
                    seen.setdefault(each.property, each)
        declared = " ".join(self.kernel.known_bugs)
        shown = f"it declares: {declared}" if seen else f"nothing that was tested shows what it declares: {declared}"
        self._add("known-bugs", "declared bugs", FAILED, shown)
        self.outcomes += [replace(each, property="known-bugs", case=None) for each in seen.values()]

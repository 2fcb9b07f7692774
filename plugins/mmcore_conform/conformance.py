"""A kernel's conformance: every property of every test case, each tested in the worker process of a device."""

from __future__ import annotations

import functools
import itertools
import shlex
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from mmcore import errors
from mmcore.cell import referenced_kernel
from mmcore.deadline import USUAL_SECONDS
from mmcore.errors import ConstraintViolation, DeviceLost, InvalidKernel, MmcoreError, NoDevice, TimeLimit
from mmcore.executor import run
from mmcore.executor.choose import device_name
from mmcore.kernel.declaration import Kernel
from mmcore.registry import registry
from mmcore.reproduce import launch_command
from mmcore.verify.inputs import fresh_seed
from mmcore_conform.cases import Cases
from mmcore_conform.outcome import FAILED, PASSED, PROPERTIES, SKIPPED, Case, Outcome
from mmcore_conform.sizes import USUAL_WORK

CAPABILITIES = ("7.5", "8.0", "8.6", "8.9", "9.0", "10.0", "12.0")
"""The compute capabilities that a kernel must fit, unless it declares that it needs a later one."""

MOST_FORCED = 24
"""Cases of a kernel with known bugs that are launched against its constraints."""

Progress = Callable[[str, int, int], None]

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
    tests = _Tests(referenced_kernel(reference), reference, name, sanitizing_device(name), seed, timeout)
    outcomes: list[Outcome] = []
    cases, begun, stopped, what = Cases(), 0, "", "the search for test cases"
    progress(what, 0, 1)
    try:
        cases = tests.find_cases()
        steps = tests.steps(cases, outcomes)
        for begun, (what, step) in enumerate(steps, 1):
            progress(what, begun - 1, len(steps))
            outcomes.extend(step)
    except InvalidKernel as error:
        outcomes.append(tests.outcome("constraints", "its constraints", FAILED, str(error)))
    except ConstraintViolation as error:
        outcomes.append(tests.outcome("product", "every case", SKIPPED, str(error)))
    except (TimeLimit, DeviceLost) as error:
        stopped = str(error)
        outcomes.append(tests.outcome("product", what, SKIPPED if isinstance(error, TimeLimit) else FAILED, stopped))
    left_out = cases.left_out + max(0, len(cases.allowed) - begun)
    return Conformance(tests.kernel, name, tests.sanitizer, seed, tuple(outcomes), left_out, stopped)


@functools.cache
def sanitizing_device(device: str) -> str:
    """The device itself if it has a sanitizer, else the first here that has; empty where none has."""
    for spec in (device, *registry().providers):
        try:
            if run(name := device_name(spec), "mmcore_conform.worker:can_sanitize"):
                return name
        except MmcoreError:
            continue
    return ""


@dataclass(frozen=True)
class _Tests:
    """The tests of one kernel. Nothing is tested before the outcomes that they yield are asked for."""

    kernel: Kernel
    reference: str
    device: str
    sanitizer: str
    seed: int
    timeout: float

    def find_cases(self) -> Cases:
        """The test cases; InvalidKernel or ConstraintViolation where there are none."""
        found = self._ask("found_cases", self.reference)
        return Cases.from_json(found, kernel=self.reference, device=self.device, seed=self.seed)

    def steps(self, cases: Cases, outcomes: Sequence[Outcome]) -> list[tuple[str, Iterator[Outcome]]]:
        """What is tested in turn, the allowed cases first; ``outcomes`` are those of the steps before."""
        configs = dict.fromkeys(case.config for case in cases.allowed)
        return [
            *((str(case), self._case(case)) for case in cases.allowed),
            ("the launches together", self._launches(cases, outcomes)),
            *(
                (f"compute capability {capability}, {config}", self._fit(cases.allowed, config, capability))
                for config, capability in itertools.product(configs, CAPABILITIES)
            ),
            ("the declared bugs", self._known_bugs(cases.violating, outcomes)),
        ]

    def outcome(self, name: str, what: str, outcome: str, reason: str = "", again: str = "") -> Outcome:
        """An outcome that is of no one case; ``mmcore conform`` shows it again if no other command does."""
        limit = [] if self.timeout == USUAL_SECONDS else ["--timeout", f"{self.timeout:g}"]
        options = ["--device", self.device, "--seed", str(self.seed), *limit]
        return Outcome(
            name, what, outcome, reason, again or shlex.join(["mmcore", "conform", self.reference, *options])
        )

    def _of_case(self, case: Case, name: str, outcome: str, reason: str = "", command: str = "run") -> Outcome:
        device = self.sanitizer if command == "check" else self.device
        # A single launch does not show what a second one does.
        again = "" if (name, outcome) == ("repeatable", FAILED) else launch_command(command, case.cell.on(device))
        return replace(self.outcome(name, str(case), outcome, reason, again), case=case)

    def _ask(self, function: str, *arguments: Any, device: str = "") -> Any:
        return run(device or self.device, f"mmcore_conform.worker:{function}", *arguments, timeout=self.timeout)

    def _case(self, case: Case) -> Iterator[Outcome]:
        """Every property of a case; the first failure of a property is the one that is told."""
        tested, found = self._run(case)
        if tested:
            also_tested, hazards = self._sanitize(case)
            tested, found = [*tested, *also_tested], [*found, *hazards]
        first = {each.property: each for each in reversed(found)}
        yield from (self._of_case(case, name, PASSED) for name in tested if name not in first)
        yield from first.values()

    def _run(self, case: Case) -> tuple[list[str], list[Outcome]]:
        """The properties that were tested by running a case, and the failures."""
        try:
            tested, failures = self._ask("run_case", case.cell.to_json())
        except _FATAL:
            raise
        except ConstraintViolation as error:
            return [], [self._of_case(case, "geometry", FAILED, f"its constraints allow what is refused: {error}")]
        except MmcoreError as error:
            outcome = FAILED if isinstance(error, _KERNEL_ERRORS) else SKIPPED
            return [], [self._of_case(case, "product", outcome, str(error))]
        return tested, [self._of_case(case, name, FAILED, reason) for name, reason in failures]

    def _sanitize(self, case: Case) -> tuple[list[str], list[Outcome]]:
        """The properties that were tested by the sanitizer, and the failures."""
        try:
            if not self.sanitizer:
                raise NoDevice("no device here has a sanitizer")
            tested, failures = self._ask("sanitize_case", case.cell.to_json(), device=self.sanitizer)
        except _FATAL:
            raise
        except MmcoreError as error:
            return [], [self._of_case(case, "hazards", SKIPPED, str(error), "check")]
        return tested, [self._of_case(case, name, FAILED, reason, "check") for name, reason in failures]

    def _launches(self, cases: Cases, outcomes: Sequence[Outcome]) -> Iterator[Outcome]:
        """What the cases show together, and what the launch rule says of those that must be refused."""
        for name, what in cases.not_found:
            yield self.outcome(name, what, SKIPPED, "no size or config that was tried is such a case")
        yield from self._over_reads([each.case for each in outcomes if each.case and each.property == "over-read"])
        for case in cases.violating:
            try:
                self._ask("plan_case", case.cell.to_json())
            except ConstraintViolation as refused:
                yield self._of_case(case, "constraints", PASSED, "; ".join(refused.reasons))
            else:
                yield self._of_case(case, "constraints", FAILED, "it is not refused")
        for what, reason in self._ask("launch_failures", [case.cell.to_json() for case in cases.allowed]):
            yield self.outcome("geometry", what, FAILED, reason)

    def _over_reads(self, cases: Sequence[Case]) -> Iterator[Outcome]:
        """Each declared over-read must be needed to its last element, by one of the cases at least.

        An over-read that is too large leaves room in which an out-of-bounds read goes unnoticed. One case that needs
        it is enough, because what others need depends on what the compiler makes of their last step.
        """
        seen: dict[str, list[tuple[int, int, Case]]] = {}
        needed: set[str] = set()
        for case in cases:
            over_reads = self._ask("over_reads", case.cell.to_json(), sorted(needed), device=self.sanitizer)
            for matrix, (declared, read) in over_reads.items():
                seen.setdefault(matrix, []).append((declared, read, case))
                needed |= {matrix} if read >= declared else set()
        for matrix, looked in seen.items():
            what = f"over-read of {matrix}, declared in {len(looked)} cases"
            declared, read, case = max(looked, key=lambda each: each[1] - each[0])
            past = f"{declared} elements past the end of {matrix} are declared for {case}"
            reason = f"{past}, of which {read or 'none'} are read; no case needs all that it declares"
            yield self.outcome("over-read", what, *((PASSED,) if matrix in needed else (FAILED, reason)))

    def _fit(self, cases: Sequence[Case], config: str, capability: str) -> Iterator[Outcome]:
        of_config = sorted((case for case in cases if case.config == config), key=lambda case: case.work)
        cells = [replace(case.cell, seed=None, device="") for case in of_config]
        outcome, reason = self._ask("fit", [cell.to_json() for cell in cells], capability)
        again = launch_command("occupancy", cells[-1]).replace("--device ''", f"--cc {capability}")
        yield self.outcome("geometry", f"compute capability {capability}, {config}", outcome, reason, again)

    def _known_bugs(self, violating: Sequence[Case], outcomes: Sequence[Outcome]) -> Iterator[Outcome]:
        """A kernel with known bugs does not conform: for what shows of them, or for declaring what is not so.

        Its constraints may hide the bugs, so it is launched against them as well.
        """
        if not self.kernel.known_bugs:
            yield self.outcome("known-bugs", "declared bugs", PASSED)
            return
        shown = [each for each in outcomes if each.outcome == FAILED]
        usual = [config.id for config in self.kernel.usual_configs]
        small = [case for case in violating if case.work <= USUAL_WORK and case.config in usual]
        for case in small[:MOST_FORCED]:
            forced = replace(case, cell=replace(case.cell, force=True))
            try:
                # Against its constraints it may not be launchable at all, which shows nothing.
                found = [each for each in self._case(forced) if each.property != "geometry"]
                shown += [each for each in found if each.outcome == FAILED]
            except (TimeLimit, DeviceLost) as error:
                shown.append(replace(self.outcome("product", str(forced), FAILED, str(error)), case=forced))
                break
        says = "it declares" if shown else "nothing that was tested shows what it declares"
        yield self.outcome("known-bugs", "declared bugs", FAILED, f"{says}: {' '.join(self.kernel.known_bugs)}")
        first = {each.property: each for each in reversed(shown)}
        yield from (replace(each, property="known-bugs", case=None) for each in first.values())

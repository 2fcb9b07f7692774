"""A kernel's conformance: every property of every test case, each tested in the worker process of a device."""

from __future__ import annotations

import itertools
import shlex
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from mmcore.cell import Cell
from mmcore.deadline import USUAL_SECONDS
from mmcore.errors import CompilerMissing, ConstraintViolation, DeviceLost, InvalidKernel, MmcoreError, TimeLimit
from mmcore.executor import run
from mmcore.executor.choose_device import device_name
from mmcore.kernel.declaration import Kernel
from mmcore.kernel_reference import KernelReference
from mmcore.registry import referenced_kernel
from mmcore.verify.inputs import fresh_seed
from mmcore_emulator.adapter.launch_facts import launch_command, reference_words
from mmcore_tools.conform.cases import USUAL_WORK
from mmcore_tools.conform.outcome import FAILED, PASSED, PROPERTIES, SKIPPED, Case, Cases, Outcome

CAPABILITIES = ("7.5", "8.0", "8.6", "8.9", "9.0", "10.0", "12.0")
"""The compute capabilities that a kernel must fit, unless it declares that it needs a later one."""

SANITIZER = "emulator"
"""The device that looks for hazards, whichever runs the kernel."""

MOST_FORCED = 24
"""Cases of a kernel with known bugs that are launched against its constraints."""

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Conformance:
    """The outcomes of a kernel's tests.

    Attributes:
        kernel: the kernel.
        device, sanitizer: the names of the device that ran it, and of the one that looked for hazards.
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
    reference: KernelReference,
    device: str = "auto",
    *,
    seed: int | None = None,
    timeout: float = USUAL_SECONDS,
    progress: Progress = lambda what, done, total: None,
) -> Conformance:
    """Test whether a kernel keeps what its declaration promises.

    Args:
        reference: as a cell names a kernel.
        device: as a user calls it.
        seed: seed of the inputs of every case; fresh when None.
        timeout: seconds that each case may take; after one that takes longer no others are tested.
        progress: is told what is tested next, how many tests are done, and how many there are.

    Raises:
        MmcoreError: there is no such kernel or device, or no compiler.
    """
    kernel, device = referenced_kernel(reference), device_name(device)
    seed = fresh_seed() if seed is None else seed
    tests = _Tests(kernel, reference, device, SANITIZER, seed, timeout)
    outcomes: list[Outcome] = []
    cases, begun, stopped, what = Cases(), 0, "", "the search for test cases"
    progress(what, 0, 1)
    try:
        cases = tests.find_cases()
        steps = list(tests.steps(cases, outcomes))
        for begun, (what, step) in enumerate(steps, 1):
            progress(what, begun - 1, len(steps))
            outcomes.extend(step)
    except InvalidKernel as error:
        outcomes.append(Outcome("constraints", "its constraints", FAILED, str(error)))
    except ConstraintViolation as error:
        outcomes.append(Outcome("product", "every case", SKIPPED, str(error)))
    except (TimeLimit, DeviceLost) as error:
        stopped = str(error)
        outcomes.append(Outcome("product", what, SKIPPED if isinstance(error, TimeLimit) else FAILED, stopped))
    limit = [] if timeout == USUAL_SECONDS else ["--timeout", f"{timeout:g}"]
    again = shlex.join(
        ["mmcore", "conform", *reference_words(reference), "--device", device, "--seed", str(seed), *limit]
    )
    reproducible = tuple(each if each.reproduce else replace(each, reproduce=again) for each in outcomes)
    left_out = cases.left_out + max(0, len(cases.allowed) - begun)
    return Conformance(kernel, device, SANITIZER, seed, reproducible, left_out, stopped)


@dataclass(frozen=True)
class _Tests:
    """The tests of one kernel, which are made as the outcomes that they yield are asked for."""

    kernel: Kernel
    reference: KernelReference
    device: str
    sanitizer: str
    seed: int
    timeout: float

    def find_cases(self) -> Cases:
        """The test cases; InvalidKernel or ConstraintViolation where there are none."""
        asked = {"kernel": self.reference, "device": self.device, "seed": self.seed, "timings": ()}
        found = self._ask(self.device, "found_cases", self.reference)
        for name in ("allowed", "violating"):
            found[name] = tuple(Case(**{**each, "cell": Cell(**each["cell"] | asked)}) for each in found[name])
        return Cases(**found)

    def steps(self, cases: Cases, outcomes: Sequence[Outcome]) -> Iterator[tuple[str, Iterator[Outcome]]]:
        """What is tested in turn, the allowed cases first; ``outcomes`` are those of the steps before."""
        yield from ((str(case), self._case(case)) for case in cases.allowed)
        yield "the launches together", self._launches(cases, outcomes)
        for config, capability in itertools.product(dict.fromkeys(case.config for case in cases.allowed), CAPABILITIES):
            what = f"compute capability {capability}, {config}"
            yield what, self._fit(what, [case for case in cases.allowed if case.config == config], capability)
        yield "the declared bugs", self._known_bugs(cases.violating, outcomes)

    def _ask(self, device: str, function: str, *arguments: Any) -> Any:
        return run(device, f"mmcore_tools.conform.worker:{function}", *arguments, timeout=self.timeout)

    def _case(self, case: Case) -> Iterator[Outcome]:
        """Every property of a case; the first failure of a property is the one that is told."""
        found = self._tested(case, "run_case", "product")
        if any(each.outcome == PASSED for each in found.values()):
            failed = {name: each for name, each in found.items() if each.outcome == FAILED}
            found |= self._tested(case, "sanitize_case", "hazards", "check") | failed
        yield from found.values()

    def _tested(self, case: Case, function: str, skipped: str, command: str = "run") -> dict[str, Outcome]:
        """The outcomes of a test, by property; ``skipped`` is the one that this machine may be unable to tell."""
        device = self.sanitizer if command == "check" else self.device
        try:
            found = self._ask(device, function, case.cell.to_json())
        except (TimeLimit, DeviceLost, CompilerMissing):
            raise
        except MmcoreError as error:
            found = [(skipped, SKIPPED, str(error))]
        outcomes = {}
        for name, outcome, reason in found:
            shown = ("run", case.cell) if outcome == PASSED else (command, case.cell.on(device))
            # What differs between two runs is not shown by one.
            again = "" if (name, outcome) == ("repeatable", FAILED) else launch_command(*shown)
            outcomes[name] = Outcome(name, str(case), outcome, reason, again, case)
        return outcomes

    def _launches(self, cases: Cases, outcomes: Sequence[Outcome]) -> Iterator[Outcome]:
        """What the cases show together, and whether those are refused that must be."""
        for name, what in cases.not_found:
            yield Outcome(name, what, SKIPPED, "no size or config that was tried is such a case")
        yield from self._over_reads([each.case for each in outcomes if each.case and each.property == "over-read"])
        for case in cases.violating:
            yield from self._tested(case, "refuse_case", "constraints").values()
        cells = [case.cell.to_json() for case in cases.allowed]
        for what, reason in self._ask(self.device, "launch_failures", cells):
            yield Outcome("geometry", what, FAILED, reason)

    def _over_reads(self, cases: Sequence[Case]) -> Iterator[Outcome]:
        """Each declared over-read must be needed to its last element, by one of the cases at least.

        An over-read that is too large leaves room in which an out-of-bounds read goes unnoticed. One case that needs
        it is enough, because what others need depends on what the compiler makes of their last step.
        """
        seen: dict[str, list[tuple[int, int, Case]]] = {}
        for case in cases:
            known = [matrix for matrix, looked in seen.items() if any(each[1] >= each[0] for each in looked)]
            over_reads = self._ask(self.sanitizer, "over_reads", case.cell.to_json(), known)
            for matrix, (declared, read) in over_reads.items():
                seen.setdefault(matrix, []).append((declared, read, case))
        for matrix, looked in seen.items():
            what = f"over-read of {matrix}, declared in {len(looked)} cases"
            declared, read, case = max(looked, key=lambda each: each[1] - each[0])
            past = f"{declared} elements past the end of {matrix} are declared for {case}"
            reason = f"{past}, of which {read or 'none'} are read; no case needs all that it declares"
            yield Outcome("over-read", what, *((PASSED,) if read >= declared else (FAILED, reason)))

    def _fit(self, what: str, cases: Sequence[Case], capability: str) -> Iterator[Outcome]:
        """Whether all cases of a config fit a compute capability."""
        cells = [replace(case.cell, seed=None, device="") for case in sorted(cases, key=lambda case: case.work)]
        outcome, reason = self._ask(self.device, "fit", [cell.to_json() for cell in cells], capability)
        again = launch_command("occupancy", cells[-1]).replace("--device ''", f"--cc {capability}")
        yield Outcome("geometry", what, outcome, reason, again)

    def _known_bugs(self, violating: Sequence[Case], outcomes: Sequence[Outcome]) -> Iterator[Outcome]:
        """A kernel with known bugs does not conform: for what shows of them, or for declaring what is not so.

        Its constraints may hide the bugs, so it is launched against them as well.
        """
        if not self.kernel.known_bugs:
            yield Outcome("known-bugs", "declared bugs", PASSED)
            return
        shown = [each for each in outcomes if each.outcome == FAILED]
        usual = [config.id for config in self.kernel.usual_configs]
        small = [case for case in violating if case.work <= USUAL_WORK and case.config in usual]
        forced = [replace(case, cell=replace(case.cell, force=True)) for case in small[:MOST_FORCED]]
        try:
            for case in forced:
                # Against its constraints it may not be launchable at all, which shows nothing.
                shown += [each for each in self._case(case) if each.outcome == FAILED and each.property != "geometry"]
        except (TimeLimit, DeviceLost) as error:
            shown.append(Outcome("product", str(case), FAILED, str(error)))
        says = "it declares" if shown else "nothing that was tested shows what it declares"
        yield Outcome("known-bugs", "declared bugs", FAILED, f"{says}: {' '.join(self.kernel.known_bugs)}")
        first = {each.property: each for each in reversed(shown)}
        yield from (replace(first[name], property="known-bugs", case=None) for name in PROPERTIES if name in first)

"""The conformance of a kernel: the outcomes of all test cases, which run in the worker process of a device."""

from __future__ import annotations

import contextlib
import itertools
import shlex
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from mmcore.cell import Cell
from mmcore.deadline import USUAL_SECONDS
from mmcore.errors import CompilerMissing, ConstraintViolation, DeviceLost, InvalidKernel, MmcoreError, TimeLimit
from mmcore.executor import measure_cell, run
from mmcore.executor.choose_device import device_name
from mmcore.kernel.configs import Config
from mmcore.kernel.declaration import Kernel
from mmcore.kernel_reference import KernelReference
from mmcore.registry import referenced_kernel, registry
from mmcore.verdict import judged
from mmcore.verify.inputs import fresh_seed
from mmcore_emulator.adapter.launch_facts import config_options, launch_command, reference_words
from mmcore_emulator.executor.coverage import Coverage
from mmcore_tools.conform.cases import USUAL_WORK
from mmcore_tools.conform.outcome import FAILED, PASSED, PROPERTIES, SKIPPED, UNPROVED, UNTESTED, Case, Cases, Outcome

CAPABILITIES = ("7.5", "8.0", "8.6", "8.9", "9.0", "10.0", "12.0")
"""The compute capabilities that a kernel must fit, unless it declares that it needs a later one."""

SANITIZER = "emulator"
"""The device that looks for hazards, also if the kernel is verified on a GPU."""

MOST_FORCED = 24
"""The most cases of a kernel with known bugs that are launched against its constraints."""

MOST_COUNTED = 10_000
"""The most configs of a kernel that are counted; a space may have millions."""

_RUNS = ("run_once", "run_case", "run_blocks")  # the functions of the worker that run a case

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Conformance:
    """The outcomes of a kernel's tests.

    Attributes:
        kernel: the kernel.
        device, sanitizer: the names of the devices that verified it and that looked for hazards.
        seed: the seed of the inputs.
        outcomes: the outcomes in the order of the tests.
        left_out: the number of allowed products that were not tested.
        left_out_configs: the number of declared configs that were not tested, at most ``MOST_COUNTED``.
        stopped: the reason if not all tests were run: the time limit, or a process that died.
        not_executed: the lines that no case on the emulator has executed, as :class:`mmcore.verdict.Findings` has them.
    """

    kernel: Kernel
    device: str
    sanitizer: str
    seed: int
    outcomes: tuple[Outcome, ...]
    left_out: int = 0
    left_out_configs: int = 0
    stopped: str = ""
    not_executed: tuple[Mapping[str, Any], ...] = ()

    @property
    def failures(self) -> tuple[Outcome, ...]:
        """The outcomes that failed."""
        return tuple(each for each in self.outcomes if each.outcome == FAILED)

    @property
    def untested(self) -> str:
        """The reason if no product could be tested; empty if one was, or if any test failed."""
        runs = self.of("product")
        return "" if self.failures or any(each.outcome != SKIPPED for each in runs) else runs[0].reason

    @property
    def configs(self) -> str:
        """The numbers of tested and of declared configs, such as "1 of 7 configs"; empty if all were tested."""
        tested = len(self.kernel.usual_configs)
        least = "at least " if self.left_out_configs == MOST_COUNTED else ""
        return f"{tested} of {least}{tested + self.left_out_configs:,} configs" if self.left_out_configs else ""

    def why_untested(self, name: str) -> str:
        """Return the reason why a property without an outcome has none."""
        if self.stopped:
            return "the tests were stopped before"
        reason = UNTESTED.get(name, "no case was run to its end")
        cases = [each.case for each in self.of("hazards") if each.outcome == PASSED and each.case is not None]
        cells = [each.cell for each in cases if min(each.cell.m, each.cell.n, each.cell.k) > 1 and not each.cell.force]
        if name != "proof" or self.failures or not cells:
            return reason
        cell = min(cells, key=lambda each: each.m * each.n * each.k)
        return f"{reason}; {launch_command('prove', replace(cell, device=SANITIZER, seed=None, inputs='usual'))}"

    @property
    def conforms(self) -> bool:
        """True if all tests were run and none failed."""
        return not (self.failures or self.stopped or self.untested)

    def of(self, name: str) -> tuple[Outcome, ...]:
        """Return the outcomes of one property."""
        return tuple(each for each in self.outcomes if each.property == name)

    def to_json(self) -> dict[str, Any]:
        """Return the conformance as JSON-ready values."""
        names = ("device", "sanitizer", "seed", "conforms", "left_out", "left_out_configs", "stopped", "not_executed")
        values = {"kernel": self.kernel.name, **{name: getattr(self, name) for name in names}}
        counts = {name: dict(Counter(each.outcome for each in self.of(name))) for name in PROPERTIES}
        return {**values, "properties": counts, "cases": [each.to_json() for each in self.outcomes]}


def conform_kernel(
    reference: KernelReference,
    device: str = "auto",
    configs: Sequence[Config] = (),
    *,
    seed: int | None = None,
    timeout: float = USUAL_SECONDS,
    progress: Progress = lambda what, done, total: None,
) -> Conformance:
    """Test a kernel against the promises of its declaration.

    Args:
        reference: the kernel's name or file.
        device: the device's name, or "auto".
        configs: the configs to test; all usual ones if there are none.
        seed: the seed of all inputs; fresh if None.
        timeout: the most seconds of each case; the first that takes longer ends the tests.
        progress: a function that is called with the next test, and the numbers of finished tests and of all tests.

    Raises:
        MmcoreError: the kernel, the device or the compiler does not exist.
    """
    kernel, device = referenced_kernel(reference), device_name(device)
    tested = configs or kernel.usual_configs
    further = sum(
        1 for _ in itertools.islice((each for each in kernel.all_configs if each not in tested), MOST_COUNTED)
    )
    kernel = replace(kernel, configs=[each.to_json() for each in configs]) if configs else kernel
    seed = fresh_seed() if seed is None else seed
    tests = _Tests(kernel, reference, device, SANITIZER, seed, timeout, [each.to_json() for each in configs])
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
    chosen = [word for option in config_options(configs[0]).items() for word in option] if len(configs) == 1 else []
    chosen += ["--all"] if len(configs) > 1 else []
    again = shlex.join(
        ["mmcore", "conform", *reference_words(reference), *chosen, "--device", device, "--seed", str(seed), *limit]
    )
    reproducible = tuple(each if each.reproduce else replace(each, reproduce=again) for each in outcomes)
    left_out = cases.left_out + max(0, len(cases.allowed) - begun)
    missing = [] if stopped else tests.executed.missing(kernel.source.name)
    return Conformance(kernel, device, SANITIZER, seed, reproducible, left_out, further, stopped, tuple(missing))


@dataclass(frozen=True)
class _Tests:
    """The tests of one kernel. Each runs when its outcomes are read."""

    kernel: Kernel
    reference: KernelReference
    device: str
    sanitizer: str
    seed: int
    timeout: float
    configs: Sequence[Mapping[str, Any]]
    executed: Coverage = field(default_factory=Coverage)  # by the cases on the emulator
    unproved: set[str] = field(default_factory=set)  # the configs whose first small case is not proved

    def find_cases(self) -> Cases:
        """Return the test cases. Raises InvalidKernel or ConstraintViolation if there are none."""
        common = {"kernel": self.reference, "device": self.device, "timings": ()}
        found = self._ask(self.device, "found_cases", self.reference, self.seed, self.configs)
        for name in ("allowed", "violating"):
            # Each case has other inputs.
            seeds = ((self.seed + 2 * number) % 2**32 for number in itertools.count())
            found[name] = tuple(
                Case(**{**each, "cell": Cell(**each["cell"] | common | {"seed": seed})})
                for each, seed in zip(found[name], seeds, strict=False)
            )
        cases = Cases(**found)
        return replace(cases, allowed=(*cases.allowed, *self._code_cases(cases)))

    def _code_cases(self, cases: Cases) -> Iterator[Case]:
        """Yield the cases that the code of each config asks for and that are no cases yet."""
        first = {case.config: case for case in reversed(cases.allowed)}
        known = {(case.config, case.size) for case in cases.allowed}
        for config, case in first.items():
            cell = case.cell.on(self.sanitizer)
            with contextlib.suppress(MmcoreError):  # the cases themselves show why it cannot run
                for values in self._ask(self.sanitizer, "code_cases", cell.to_json(), config):
                    found = Case(**{**values, "cell": Cell(**values["cell"]).on(self.device)})
                    if (config, found.size) not in known:
                        yield found

    def steps(self, cases: Cases, outcomes: Sequence[Outcome]) -> Iterator[tuple[str, Iterator[Outcome]]]:
        """Yield the tests with their names, the allowed cases first; ``outcomes`` are those of the earlier tests."""
        yield from ((str(case), self._case(case)) for case in cases.allowed)
        first = {case.config: case for case in reversed(cases.allowed)}
        yield from ((f"values of A and B, {config}", self._by_value(case)) for config, case in first.items())
        yield "the launches together", self._launches(cases, outcomes)
        for config, capability in itertools.product(dict.fromkeys(case.config for case in cases.allowed), CAPABILITIES):
            what = f"compute capability {capability}, {config}"
            yield what, self._fit(what, [case for case in cases.allowed if case.config == config], capability)
        yield "the usual reading", self._usual_reading(cases)
        yield "the batch", self._batch()
        yield "the declared bugs", self._known_bugs(cases.violating, outcomes)

    def _ask(self, device: str, function: str, *arguments: Any) -> Any:
        return run(device, f"mmcore_tools.conform.worker:{function}", *arguments, timeout=self.timeout)

    def _case(self, case: Case) -> Iterator[Outcome]:
        """Yield the properties of a case; of several failures of one property, the first."""
        single = case.of_blocks and self.device == SANITIZER
        found = self._tested(case, _RUNS[2 if single else case.thorough], "product")
        if case.thorough and any(each.outcome == PASSED for each in found.values()):
            failed = {name: each for name, each in found.items() if each.outcome == FAILED}
            test = "check_case" if case.config in self.unproved else "check_and_prove_case"
            looked = self._tested(case, test, "hazards", "check")
            if "proof" in looked and looked["proof"].reason.startswith(UNPROVED):
                self.unproved.add(case.config)
            found |= {name: each for name, each in looked.items() if not failed or name != "proof"} | failed
        yield from found.values()

    def _tested(self, case: Case, function: str, skipped: str, command: str = "run") -> dict[str, Outcome]:
        """Run a test and return its outcomes by property; ``skipped`` is the property to skip if it cannot run here."""
        device = self.sanitizer if command == "check" else self.device
        try:
            found = self._ask(device, function, case.cell.to_json())
            if function in _RUNS:
                found, executed = found
                self.executed.update(Coverage.from_json(executed) if executed else Coverage())
        except (TimeLimit, DeviceLost, CompilerMissing):
            raise
        except MmcoreError as error:
            found = [(skipped, SKIPPED, str(error))]
        outcomes = {}
        for name, outcome, reason in found:
            shown = "run" if outcome == PASSED else "prove" if name == "proof" else command
            again = launch_command(shown, case.cell if shown == "run" else case.cell.on(device))
            # One run cannot show a difference between two, and has no NaN.
            again = "" if name in ("repeatable", "not-finite") and outcome == FAILED else again
            outcomes[name] = Outcome(name, str(case), outcome, reason, again, case)
        return outcomes

    def _by_value(self, case: Case) -> Iterator[Outcome]:
        """Yield the proofs that a config lacks at the sizes that its code asks for, if its small cases are proved."""
        if case.config not in self.unproved:
            yield from self._tested(case, "code_by_value", "proof", "check").values()

    def _launches(self, cases: Cases, outcomes: Sequence[Outcome]) -> Iterator[Outcome]:
        """Yield the outcomes of all launches together, and of the cases that must be refused."""
        for name, what in cases.not_found:
            yield Outcome(name, what, SKIPPED, "no size or config that was tried is such a case")
        passed = {id(each.case) for each in outcomes if each.outcome == PASSED}
        yield from self._over_reads([case for case in cases.allowed if id(case) in passed and not case.of_blocks])
        for case in cases.violating:
            yield from self._tested(case, "refuse_case", "constraints").values()
        cells = [case.cell.to_json() for case in cases.allowed]
        for what, reason in self._ask(self.device, "launch_failures", cells):
            yield Outcome("geometry", what, FAILED, reason)

    def _over_reads(self, cases: Sequence[Case]) -> Iterator[Outcome]:
        """Yield a failure for each over-read that no case needs to its last element.

        An over-read that is too large hides out-of-bounds reads. One case that needs all of it is enough: the need of
        the others depends on the code that the compiler generates for their last step.
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
            reason = f"{past}, and {read or 'none'} of them are read; no case needs all of its over-read"
            yield Outcome("over-read", what, *((PASSED,) if read >= declared else (FAILED, reason)))

    def _fit(self, what: str, cases: Sequence[Case], capability: str) -> Iterator[Outcome]:
        """Yield the outcome of fitting all cases of a config to a compute capability."""
        cells = [replace(case.cell, seed=None, device="") for case in sorted(cases, key=lambda case: case.work)]
        outcome, reason, shown = self._ask(self.device, "fit", [cell.to_json() for cell in cells], capability)
        again = launch_command("occupancy", cells[shown]).replace("--device ''", f"--cc {capability}")
        yield Outcome("geometry", what, outcome, reason, again)

    def _usual_reading(self, cases: Cases) -> Iterator[Outcome]:
        """Yield a failure for a file's kernel that is right only in an unusual reading of its source."""
        if isinstance(self.reference, str) or not cases.allowed:
            return
        # One element reads the same by rows and by columns.
        smallest = min(cases.allowed, key=lambda case: (min(case.cell.m, case.cell.n, case.cell.k) == 1, case.work))
        with contextlib.suppress(MmcoreError):  # the case itself shows why it cannot run
            for each in judged(measure_cell(smallest.cell), self.kernel, "hazards").violations:
                if each.kind == "unusual-reading":
                    reason = f"{each.message}; try {each.hint}"
                    yield Outcome("product", str(smallest), FAILED, reason, launch_command("run", smallest.cell))

    def _batch(self) -> Iterator[Outcome]:
        """Yield a failure for each wrong step to the next product of a batch: the first product alone is run."""
        if (file := registry().files.get(self.kernel.name)) is not None:
            for bug in (each for each in file.bugs if each.kind == "batch-step"):
                yield Outcome("product", "the batch", FAILED, str(bug), shlex.join(["mmcore", "run", *file.words]))

    def _known_bugs(self, violating: Sequence[Case], outcomes: Sequence[Outcome]) -> Iterator[Outcome]:
        """Yield failures for a kernel with known bugs: the symptoms found, or a declaration that no test confirms.

        Its constraints may hide the bugs, so it is also launched against them.
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
                # A launch against the constraints may be impossible, which is no symptom.
                shown += [each for each in self._case(case) if each.outcome == FAILED and each.property != "geometry"]
        except (TimeLimit, DeviceLost) as error:
            shown.append(Outcome("product", str(case), FAILED, str(error)))
        says = "it declares" if shown else "nothing that was tested shows what it declares"
        yield Outcome("known-bugs", "declared bugs", FAILED, f"{says}: {' '.join(self.kernel.known_bugs)}")
        first = {each.property: each for each in reversed(shown)}
        yield from (replace(first[name], property="known-bugs", case=None) for name in PROPERTIES if name in first)

"""A kernel's conformance: every trial of it, on a device and under the eyes of one that watches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from mmcore.api import able_device
from mmcore_emulator.sanitizer.protocols import CheckingDevice
from mmcore_conform.cases import Case, find_cases
from mmcore_conform.complaints import Complaint, trials
from mmcore_conform.fitting import geometry_trials
from mmcore_conform.owning_up import known_fault_trials
from mmcore_conform.refusing import refusal_trials
from mmcore_conform.running import ASPECTS_OF_RUNS, run_case
from mmcore_conform.trial import ASPECTS, FAILED, UNTRIED, Setting, Trial
from mmcore_conform.watching import Reach, declared_over_read, over_read_trials, reach, watch_complaints
from mmcore.errors import CompilerMissing, InvalidKernel, MmcoreError, NoDevice, Unanswered
from mmcore.verify.inputs import fresh_seed
from mmcore.deadline import USUAL_SECONDS
from mmcore.devices.base import Device
from mmcore.kernel.declaration import Kernel
from mmcore.planning.plan import Plan, plan


@dataclass(frozen=True)
class Conformance:
    """What came of trying a kernel.

    Attributes:
        kernel: the kernel.
        setting: the devices and the seed.
        trials: in the order they were made.
        left_out: how many allowed products were found and not tried, to keep it short.
        stopped: whether no more were tried after one that took too long.
    """

    kernel: Kernel
    setting: Setting
    trials: tuple[Trial, ...]
    left_out: int
    stopped: bool = False

    @property
    def failures(self) -> tuple[Trial, ...]:
        """The trials that failed."""
        return tuple(trial for trial in self.trials if trial.verdict == FAILED)

    @property
    def conforms(self) -> bool:
        """Whether no trial failed."""
        return not self.failures

    def of(self, aspect: str) -> tuple[Trial, ...]:
        """The trials of one aspect."""
        return tuple(trial for trial in self.trials if trial.aspect == aspect)

    def to_json(self) -> dict[str, Any]:
        """The conformance as JSON-ready values."""
        return {
            "kernel": self.kernel.name,
            "device": self.setting.device,
            "watcher": self.setting.watcher,
            "seed": self.setting.seed,
            "conforms": self.conforms,
            "aspects": {aspect: dict(Counter(trial.verdict for trial in self.of(aspect))) for aspect in ASPECTS},
            "left_out": self.left_out,
            "stopped": self.stopped,
            "trials": [trial.to_json() for trial in self.trials],
        }


def watching_device(device: Device) -> Device | None:
    """What looks for hazards: the device itself, else the first here that does; None where nothing does."""
    return device if isinstance(device, CheckingDevice) else able_device(CheckingDevice)


def conform_kernel(
    kernel: Kernel, device: Device, watcher: Device | None, *, seed: int | None = None, seconds: float = USUAL_SECONDS
) -> Conformance:
    """Try whether a kernel keeps what its declaration promises.

    Args:
        kernel: the kernel.
        device: what runs it.
        watcher: what looks for hazards, a :class:`~mmcore_emulator.sanitizer.protocols.CheckingDevice`; None where nothing does.
        seed: seed of the inputs of every case; fresh when None.
        seconds: how long a case may take. After one that takes longer no others are tried.

    Raises:
        MmcoreError: nothing of it can be tried here: the compiler is missing, or the device cannot run such a kernel.
    """
    seed = fresh_seed() if seed is None else seed
    setting = Setting(kernel.name, device.name, "" if watcher is None else watcher.name, seed, seconds)
    if device.limits.compute_capability < kernel.min_compute_capability:
        needed, found = (".".join(map(str, p)) for p in (kernel.min_compute_capability, device.limits.compute_capability))
        raise NoDevice(f"{kernel.name} needs compute capability {needed}; {device.name} has {found}")
    try:
        cases = find_cases(kernel, device.limits)
    except InvalidKernel as error:
        trial = Trial("refusals", "its constraints", FAILED, str(error), setting.conform())
        return Conformance(kernel, setting, (trial,), 0)
    bench = _Bench(kernel, device, watcher, setting)
    made = bench.trials(cases.allowed)
    if all(trial.verdict == UNTRIED for trial in made):
        raise NoDevice(f"{kernel.name} cannot be tried on {device.name}: {made[0].reason}")
    if cases.gapless:
        reason = "its constraints allow none of the leading dimensions that were looked at"
        made.append(Trial("product", "gaps between rows", UNTRIED, reason, setting.conform()))
    made += over_read_trials(bench.reaches, setting)
    made += refusal_trials(kernel, cases, device.limits, setting)
    made += geometry_trials(kernel, bench.tried, device.limits, setting)
    failures = [trial for trial in made if trial.verdict == FAILED]
    made += known_fault_trials(kernel, cases.refused, device, watcher, setting, failures)
    for each in (device, watcher):
        if each is not None:
            each.deadline.set(None)
    return Conformance(kernel, setting, tuple(made), cases.left_out + bench.left_out, bench.stopped)


class _Bench:
    """Where the allowed cases of a kernel are run and watched.

    Attributes:
        reaches: what the cases that declare an over-read need of it.
        tried: cases that were tried to their end.
        left_out: cases that were not tried any more after one that took too long.
        stopped: whether there was such a one.
    """

    def __init__(self, kernel: Kernel, device: Device, watcher: Device | None, setting: Setting) -> None:
        self._kernel, self._device, self._watcher, self._setting = kernel, device, watcher, setting
        self.reaches: list[Reach] = []
        self.tried: list[Case] = []
        self.left_out = 0
        self.stopped = False

    def trials(self, cases: Collection[Case]) -> list[Trial]:
        """Every aspect of every case."""
        plans: dict[Case, Plan | None] = {}
        for case in cases:
            try:
                plans[case] = self._plan(case)
            except Unanswered:
                # It is the last to be tried.
                plans[case] = None
                break
        over_read = {matrix for planned in plans.values() if planned for matrix in declared_over_read(planned)}
        made: list[Trial] = []
        for number, (case, planned) in enumerate(plans.items(), 1):
            made += self._of_case(case, planned, over_read)
            if self.stopped:
                self.left_out = len(cases) - number
                break
            self.tried.append(case)
        return made

    def _plan(self, case: Case) -> Plan | None:
        """The case's plan; None where there is none, which running it complains of."""
        try:
            return plan(self._kernel, case.problem, case.block, self._device.limits)
        except Unanswered:
            raise
        except MmcoreError:
            return None

    def _of_case(self, case: Case, planned: Plan | None, over_read: Collection[str]) -> Iterator[Trial]:
        setting = self._setting
        try:
            runs = run_case(self._kernel, case, self._device, setting, over_read)
        except CompilerMissing:
            raise
        except MmcoreError as error:
            yield Trial("product", str(case), UNTRIED, str(error), setting.run(case))
            return
        self.stopped = runs.timed_out
        tried, complaints = list(ASPECTS_OF_RUNS if runs.complete else ()), list(runs.complaints)
        if planned is not None and runs.complete:
            try:
                complaints += self._watched(case, planned, over_read)
                tried += ["hazards", "over-read"] if declared_over_read(planned) else ["hazards"]
            except MmcoreError as error:
                yield Trial("hazards", str(case), UNTRIED, str(error), setting.check(case))
        yield from trials(str(case), tried, complaints, setting.run(case))

    def _watched(self, case: Case, planned: Plan, over_read: Collection[str]) -> list[Complaint]:
        if self._watcher is None:
            raise NoDevice("no device here looks for hazards in what a kernel does; mmcore doctor says what was found")
        if declared_over_read(planned):
            self.reaches.append(reach(planned, case, self._watcher, self._setting))
        return watch_complaints(self._kernel, case, self._watcher, self._setting, over_read)

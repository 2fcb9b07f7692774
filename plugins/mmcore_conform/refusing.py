"""Cases that the constraints forbid: each must be refused in the constraints' own words, and nothing happen."""

from __future__ import annotations

from typing import Any

from mmcore_conform.cases import Case, Cases
from mmcore_conform.trial import FAILED, PASSED, UNTRIED, Setting, Trial
from mmcore.errors import MmcoreError, ConstraintViolation
from mmcore.experiment import Experiment
from mmcore.kernel.declaration import Kernel
from mmcore.kernel.properties import DeviceProperties


class _Touched(Exception):
    """Somebody went further than planning."""


class _Untouchable:
    """A device of which nothing but its limits may be asked."""

    def __init__(self, limits: DeviceProperties) -> None:
        self.limits = limits

    def __getattr__(self, name: str) -> Any:
        raise _Touched(name)


def refusal_trials(kernel: Kernel, cases: Cases, limits: DeviceProperties, setting: Setting) -> list[Trial]:
    """Whether what breaks a constraint is refused; and of which constraint nothing was found that breaks it."""
    trials = [_refusal_trial(kernel, case, limits, setting) for case in cases.refused]
    for sentence in cases.unbroken:
        reason = "none of the sizes and blocks that were looked at breaks it"
        trials.append(Trial("refusals", sentence, UNTRIED, reason, setting.conform()))
    return trials


def _refusal_trial(kernel: Kernel, case: Case, limits: DeviceProperties, setting: Setting) -> Trial:
    expected = kernel.refusals(case.problem, case.block)
    verdict = FAILED
    try:
        # Whoever compiles asks the device for its architecture first.
        Experiment(kernel, case.problem, case.block, _Untouchable(limits), seed=setting.seed)
        reason = "it is not refused"
    except ConstraintViolation as refused:
        silent = [each for each in expected if each not in refused.reasons]
        if silent:
            reason = f"it is refused, but not because {silent[0]}"
        else:
            verdict, reason = PASSED, "; ".join(refused.reasons)
    except _Touched as touched:
        reason = f"it is not refused: the device was asked for its {touched}"
    except MmcoreError as error:
        reason = f"it is not refused, but fails: {error}"
    return Trial("refusals", str(case), verdict, reason, setting.run(case))

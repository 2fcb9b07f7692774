"""Cases run where every access is watched: hazards, and how much of a declared over-read is needed."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from mmcore_emulator.sanitizer.check import check_kernel
from mmcore_emulator.sanitizer.over_read import over_read_elements
from mmcore_conform.cases import Case
from mmcore_conform.complaints import Complaint, aspect_of
from mmcore_conform.trial import FAILED, PASSED, UNTRIED, Setting, Trial
from mmcore.devices.base import Device
from mmcore.kernel.declaration import Kernel
from mmcore.kernel.launch import MATRICES
from mmcore.planning.plan import Plan


@dataclass(frozen=True)
class Reach:
    """What one case declares to read past its matrices, and what it does read there.

    Attributes:
        case: the case.
        declared: elements, by matrix; those that declare none are left out.
        needed: elements read; None where nobody could look.
    """

    case: Case
    declared: Mapping[str, int]
    needed: Mapping[str, int] | None


def declared_over_read(planned: Plan) -> dict[str, int]:
    """Elements that a plan declares to read past each matrix, without those of which it declares none."""
    return {matrix: planned.over_read(matrix) for matrix in MATRICES if planned.over_read(matrix)}


def watch_complaints(
    kernel: Kernel, case: Case, watcher: Device, setting: Setting, over_read: Collection[str], *, force: bool = False
) -> list[Complaint]:
    """What a device that watches every access finds wrong with a case.

    Args:
        kernel: the kernel.
        case: what to run.
        watcher: a :class:`~mmcore_emulator.sanitizer.protocols.CheckingDevice`.
        setting: what the commands need that show it again.
        over_read: matrices of which the kernel declares an over-read.
        force: run against the kernel's own constraints.

    Raises:
        MmcoreError: the device cannot run the kernel.
    """
    watcher.deadline.set(setting.seconds)
    check = check_kernel(kernel, case.problem, case.block, watcher, seed=setting.seed, force=force)
    complaints = []
    for finding in check.findings:
        place = f" at {finding.source}:{finding.line}" if finding.line else ""
        aspect = aspect_of(finding.kind, finding.array, over_read)
        complaints.append(
            Complaint(aspect, f"{finding.kind}{place}: {finding.message}", setting.check(case, force=force))
        )
    return complaints


def reach(planned: Plan, case: Case, watcher: Device, setting: Setting) -> Reach:
    """How much of what a plan declares to read past its matrices it needs.

    Raises:
        MmcoreError: the device cannot run the kernel.
    """
    watcher.deadline.set(setting.seconds)
    return Reach(case, declared_over_read(planned), over_read_elements(planned, watcher, setting.seed))


def over_read_trials(reaches: Iterable[Reach], setting: Setting) -> list[Trial]:
    """Whether each declared over-read is needed: to its last element, by one of the cases at least.

    Less than that and the rule gives room away in which a stray read would go unnoticed. That one case needs it is
    enough, because what others need depends on what the compiler makes of their last step.
    """
    reaches = list(reaches)
    trials = []
    for matrix in MATRICES:
        declaring = [each for each in reaches if matrix in each.declared]
        looked = [(each, each.needed.get(matrix, 0)) for each in declaring if each.needed is not None]
        what = f"over-read of {matrix}, declared in {len(declaring)} cases"
        if not declaring:
            continue
        if not looked:
            verdict, reason = UNTRIED, "no device here sees how far it reads"
        elif any(needed >= each.declared[matrix] for each, needed in looked):
            verdict, reason = PASSED, ""
        else:
            each, most = max(looked, key=lambda look: look[1])
            verdict = FAILED
            reason = (
                f"{each.declared[matrix]} elements past the end of {matrix} are declared for {each.case}, of which "
                f"{most or 'none'} {'are' if most != 1 else 'is'} read; no case needs all that it declares"
            )
        trials.append(Trial("over-read", what, verdict, reason, setting.conform()))
    return trials

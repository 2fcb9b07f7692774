"""Kernels that declare known violations, and therefore do not conform.

A variant that teaches a mistake may have constraints that hide it, and is right wherever they allow. It is launched
against them as well, so that the report shows what is declared: which violation, at which size, with which command. Such
a kernel fails either way. Where the violations show, for them; where they do not, for declaring what is not so.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from itertools import islice

from mmcore_conform.cases import Case
from mmcore_conform.complaints import Complaint
from mmcore_conform.running import run_case
from mmcore_conform.trial import FAILED, PASSED, Setting, Trial
from mmcore_conform.watching import watch_complaints
from mmcore_conform.wishes import USUAL_WORK
from mmcore.errors import MmcoreError
from mmcore.devices.base import Device
from mmcore.kernel.declaration import Kernel

MOST_FORCED = 24
"""Cases that are launched against the constraints."""


def known_fault_trials(
    kernel: Kernel,
    refused: Sequence[Case],
    device: Device,
    watcher: Device | None,
    setting: Setting,
    failures: Sequence[Trial],
) -> list[Trial]:
    """What shows of the known violations: in the trials that have failed already, and beyond the constraints.

    Args:
        kernel: the kernel.
        refused: cases that its constraints forbid.
        device: what runs them.
        watcher: what looks for hazards in them; None where nothing does.
        setting: what the commands need that show it again.
        failures: failed trials of what the constraints allow.
    """
    what = "declared violations"
    if not kernel.known_bugs:
        return [Trial("known-violations", what, PASSED, "", setting.conform())]
    declared = " ".join(kernel.known_bugs)
    seen = {each.aspect: (each.what, each.reason, each.reproduce) for each in reversed(failures)}
    small = (case for case in refused if case.work <= USUAL_WORK and case.block in kernel.blocks)
    for case in islice(small, MOST_FORCED):
        for complaint in _forced(kernel, case, device, watcher, setting):
            seen.setdefault(complaint.aspect, (f"{case}, forced", complaint.reason, complaint.reproduce))
    if not seen:
        reason = f"nothing that was tried shows what it declares: {declared}"
        return [Trial("known-violations", what, FAILED, reason, setting.conform())]
    trials = [Trial("known-violations", what, FAILED, f"it declares: {declared}", setting.conform())]
    return trials + [Trial("known-violations", where, FAILED, why, how) for where, why, how in seen.values()]


def _forced(kernel: Kernel, case: Case, device: Device, watcher: Device | None, setting: Setting) -> list[Complaint]:
    complaints: list[Complaint] = []
    # Beyond its constraints it may not be launchable at all, which shows nothing.
    with contextlib.suppress(MmcoreError):
        complaints += run_case(kernel, case, device, setting, (), force=True).complaints
        if watcher is not None:
            complaints += watch_complaints(kernel, case, watcher, setting, (), force=True)
    return [each for each in complaints if each.aspect != "geometry"]

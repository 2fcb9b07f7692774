"""The Python API of why a kernel is slow or wrong: :func:`profile` and :func:`check`."""

from __future__ import annotations

from typing import Any, SupportsIndex

from mmcore.api import cell
from mmcore.cell import Cell
from mmcore.executor import run
from mmcore.executor.choose import device_name
from mmcore.executor.worker import opened
from mmcore.kernel.declaration import Kernel
from mmcore_emulator.profiler.profile import Profile, profile_cell
from mmcore_emulator.sanitizer.check import Check, check_cell


def check(kernel: str | Kernel, size: SupportsIndex | None = None, **launch: Any) -> Check:
    """Look for what a kernel does that it must not: stray or unordered accesses, and barriers that not all come to.

    Args:
        kernel: a registered kernel's name, or any kernel itself, which runs in this process.
        size: m = n = k; or give all three of ``m``, ``n`` and ``k``.
        launch: as :func:`mmcore.api.cell` takes it; the device "auto" is the emulator.

    Raises:
        TimeLimit: the ``timeout`` was reached.
        MmcoreError: the request cannot be carried out; one sentence says why.
    """
    return checked(*cell(kernel, size, **launch))


def profile(kernel: str | Kernel, size: SupportsIndex | None = None, *, exact: bool = False, **launch: Any) -> Profile:
    """Count what a kernel does: instructions, accesses and what memory makes of them, in all and by line.

    Args:
        kernel, size, launch: as for :func:`check`.
        exact: run every block, even where a sample of them would do.

    Raises:
        TimeLimit: the ``timeout`` was reached.
        MmcoreError: the request cannot be carried out; one sentence says why.
    """
    return profiled(*cell(kernel, size, **launch), exact=exact)


def checked(asked: Cell, nameless: Kernel | None = None) -> Check:
    """The check of a cell, in its device's worker process; of a kernel without a name in this one."""
    asked = _placed(asked)
    if nameless is None:
        return Check.from_json(_run(asked, "mmcore_emulator.sanitizer.check:check_json"))
    found = opened(asked.device)
    with found.deadline.within(asked.timeout):
        return check_cell(asked, found, nameless)


def profiled(asked: Cell, nameless: Kernel | None = None, *, exact: bool = False) -> Profile:
    """The profile of a cell, in its device's worker process; of a kernel without a name in this one."""
    asked = _placed(asked)
    if nameless is None:
        return Profile.from_json(_run(asked, "mmcore_emulator.profiler.profile:profile_json", exact))
    found = opened(asked.device)
    with found.deadline.within(asked.timeout):
        return profile_cell(asked, found, nameless, exact=exact)


def _placed(asked: Cell) -> Cell:
    return asked.on("emulator" if asked.device == "auto" else device_name(asked.device))


def _run(asked: Cell, target: str, *further: bool) -> Any:
    return run(asked.device, target, asked.to_json(), *further, timeout=asked.timeout)

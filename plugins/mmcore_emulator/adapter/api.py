"""The Python API of why a kernel is slow or wrong: :func:`profile` and :func:`check`."""

from __future__ import annotations

from typing import Any, SupportsIndex

from mmcore.api import cell
from mmcore.cell import Cell
from mmcore.executor import run
from mmcore.executor.choose_device import device_name
from mmcore.kernel.declaration import Kernel
from mmcore_emulator.adapter.check import Check
from mmcore_emulator.adapter.explanation import Explanation
from mmcore_emulator.adapter.profile import Profile


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


def profile(kernel: str | Kernel, size: SupportsIndex | None = None, **launch: Any) -> Profile:
    """Count what a kernel does: instructions, accesses and what memory makes of them, in all and by line.

    Arguments and errors are those of :func:`check`.
    """
    return profiled(*cell(kernel, size, **launch))


def checked(asked: Cell, nameless: Kernel | None = None) -> Check:
    """The check of a cell, in its device's worker process; of a kernel without a name in this one."""
    return Check.from_json(_run(asked, "mmcore_emulator.adapter.check:check_json", nameless))


def profiled(asked: Cell, nameless: Kernel | None = None) -> Profile:
    """The profile of a cell, in its device's worker process; of a kernel without a name in this one."""
    return Profile.from_json(_run(asked, "mmcore_emulator.adapter.profile:profile_json", nameless))


def explained(asked: Cell, nameless: Kernel | None = None) -> Explanation:
    """What can be drawn of a cell, seen in its device's worker process; of a kernel without a name in this one."""
    return Explanation.from_json(_run(asked, "mmcore_emulator.adapter.explanation:explanation_json", nameless))


def _run(asked: Cell, target: str, nameless: Kernel | None) -> Any:
    placed = asked.on("emulator" if asked.device == "auto" else device_name(asked.device))
    return run(placed.device, target, placed.to_json(), kernel=nameless, timeout=placed.timeout)

"""The Python API that explains why a kernel is slow or wrong: :func:`profile` and :func:`check`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, SupportsIndex

from mmcore.api import cell
from mmcore.cell import Cell
from mmcore.devices.violations import Violation
from mmcore.executor import run
from mmcore.executor.choose_device import device_name
from mmcore.kernel.declaration import Kernel
from mmcore_emulator.adapter.check import Check
from mmcore_emulator.adapter.examination_report import WORK, Examination
from mmcore_emulator.adapter.explanation import Explanation
from mmcore_emulator.adapter.launch_facts import Json
from mmcore_emulator.adapter.profile import Profile
from mmcore_emulator.adapter.proof import Proof


def check(kernel: str | Kernel, size: SupportsIndex | None = None, **launch: Any) -> Check:
    """Look for hazards of a kernel: stray or unordered accesses, and barriers that some threads never reach.

    A product without hazards is verified. If it is wrong, stale reads are looked for, which explain it.

    Args:
        kernel: a registered kernel's name, or any kernel itself, which runs in this process.
        size: m = n = k; or give all three of ``m``, ``n`` and ``k``.
        launch: as for :func:`mmcore.api.cell`; the device "auto" is the emulator.

    Raises:
        TimeLimit: the ``timeout`` was reached.
        MmcoreError: the request cannot be carried out; one sentence says why.
    """
    return checked(*cell(kernel, size, **launch))


def profile(kernel: str | Kernel, size: SupportsIndex | None = None, **launch: Any) -> Profile:
    """Count a kernel's instructions, accesses and their costs in memory, in all and by line.

    Arguments and errors are those of :func:`check`.
    """
    return profiled(*cell(kernel, size, **launch))


def checked(
    requested: Cell,
    nameless: Kernel | None = None,
    *,
    remember: bool = False,
    quiet: bool = False,
    most_work: float | None = None,
    wrong: bool | None = None,
) -> Check:
    """Return the check of a cell, made in its device's worker process, or in this one for a kernel without a name.

    With ``remember``, code that was checked before without a violation is not run again. With ``quiet``, what the
    kernel prints is dropped. A launch is stopped after ``most_work``. ``wrong`` says whether the product is known to
    be wrong, so that its causes are looked for; None verifies it.
    """
    return Check.from_json(_run("check:check_json", requested, nameless, remember, quiet, most_work, wrong))


def profiled(requested: Cell, nameless: Kernel | None = None) -> Profile:
    """Return the profile of a cell, made as :func:`checked` makes its check."""
    return Profile.from_json(_run("profile:profile_json", requested, nameless))


def explained(requested: Cell, nameless: Kernel | None = None) -> Explanation:
    """Return the explanation of a cell, made as :func:`checked` makes its check."""
    return Explanation.from_json(_run("explanation:explanation_json", requested, nameless))


def proved(requested: Cell, nameless: Kernel | None = None) -> Proof:
    """Return the proof of a cell, made as :func:`checked` makes its check."""
    return Proof.from_json(_run("proof:proof_json", requested, nameless))


def refilled(requested: Cell, nameless: Kernel | None = None) -> Cell:
    """Return a cell with a k at which each stage in shared memory is refilled twice; the cell itself without one."""
    cell = _on_emulator(requested)
    target = "mmcore_emulator.adapter.examine_sizes:refilling_depth"
    k: int = run(cell.device, target, cell.to_json(), kernel=nameless, timeout=cell.timeout)
    return replace(requested, k=k)


def examined(requested: Cell, nameless: Kernel | None = None, work: float = WORK) -> Examination:
    """Return the examination of a cell, made as :func:`checked` makes its check; ``work`` is in estimated seconds."""
    return Examination.from_json(_run("examine_sizes:examination_json", requested, nameless, work))


def value_dependences(requested: Cell, nameless: Kernel | None = None) -> tuple[Violation, ...]:
    """Return what values of A and B decide about at the sizes that a kernel's code asks for, made as its check."""
    cell = _on_emulator(requested)
    target = "mmcore_emulator.adapter.examine_sizes:dependences_json"
    found = run(cell.device, target, cell.to_json(), kernel=nameless, timeout=cell.timeout)
    return tuple(map(Violation.from_json, found))


def _run(function: str, requested: Cell, nameless: Kernel | None, *further: object) -> Json:
    cell = _on_emulator(requested)
    target = f"mmcore_emulator.adapter.{function}"
    values: Json = run(cell.device, target, cell.to_json(), *further, kernel=nameless, timeout=cell.timeout)
    return values


def _on_emulator(requested: Cell) -> Cell:
    return requested.on("emulator" if requested.device == "auto" else device_name(requested.device))

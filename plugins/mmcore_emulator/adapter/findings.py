"""The findings about a measured kernel: hazards, which a right product can hide, and faults at further sizes."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import replace

from mmcore.cell import Cell
from mmcore.deadline import USUAL_SECONDS
from mmcore.devices.violations import Violation
from mmcore.errors import ConstraintViolation, MmcoreError, TimeLimit
from mmcore.executor import try_cell
from mmcore.kernel.arguments import SIZES
from mmcore.kernel.declaration import Kernel
from mmcore.registry import referenced_kernel
from mmcore.result import Result
from mmcore.verdict import BY_VALUE, NOT_EXECUTED, Findings, missing_lines
from mmcore_emulator.adapter.api import checked, examined, proved
from mmcore_emulator.adapter.examination_report import WORK, Examination, Tried, limit_name, refusal
from mmcore_emulator.adapter.launch_facts import launch_command
from mmcore_emulator.adapter.proof import WRONG, Proof
from mmcore_emulator.adapter.small_product import small_product
from mmcore_emulator.adapter.value_dependences import MOST_PROVED, OF_VALUES

DEVICE = "emulator"
_MOST_INSTRUCTIONS = 3e8  # the work of a check, after which it is given up: half a minute
_MOST_OF_SIZE = 2e9  # the work of a check at the size that the user names, where a small product is out of bounds
_LEAST_PROVED = 1 << 15  # m·n·k of a product whose proof takes less time than the start of mmcore
_RACES = ("global-race", "benign-race")
_UNWRITTEN = "unwritten-output"
_OF_SIZES = (_UNWRITTEN, "assertion")
_OTHER_SIZES = "wrong at sizes that its program does not use"
_MOST_BESIDE = 1 << 21  # m·n·k of a product that is checked, too, beside a smaller wrong one
_MOST_WRONG = 1 << 21  # m·n·k of the least product of a wrong kernel that is proved wrong
_PROOF = 6  # a proof takes at most as long as so many plain runs
_NONE = Examination(())


def findings(result: Result, kernel: Kernel, extent: str) -> Findings:
    """Return the hazards of a measured kernel, and its faults at the sizes that its code asks for.

    A wrong kernel is only looked at for hazards, unless its time is over. ``extent`` is one of
    :data:`mmcore.verdict.EXTENTS`: unless it is "all", hazards are looked for in a small product of the same kind.
    """
    if not result.launched:
        return Findings("not looked for: a library is called")
    if result.timed_out:
        return Findings("")
    nameless = None if _has_name(result, kernel) else kernel
    found, examination = _looked(result, kernel, nameless, extent)
    if extent == "hazards":
        return found
    right = result.verified and all(each.is_right for each in examination.tried)
    proof = _proof(result, kernel, nameless, [each for each in examination.tried if not each.is_part], right=right)
    return _with_proof(found, proof, examination.by_value, right=right)


def _looked(result: Result, kernel: Kernel, nameless: Kernel | None, extent: str) -> tuple[Findings, Examination]:
    """Return the hazards and faults, and the examination of further sizes."""
    if not result.verified or extent != "all":
        hazards = _hazards(result, kernel, nameless, extent)
        if not result.verified or extent == "hazards" or hazards.violations or result.cell.force:
            return hazards, _NONE
    else:
        hazards = Findings("")
    cell = replace(_emulated(result), config=result.config)
    try:
        examination = examined(cell, nameless, WORK if extent == "all" else WORK / 2)
    except MmcoreError as error:
        found = hazards if hazards.looked else _not_looked_for(error)
        return replace(found, not_tried=limit_name(error)), _NONE
    if extent == "all" and examination.wrong is None and not examination.is_observed:
        hazards = _hazards(result, kernel, nameless, extent)
        if hazards.violations:
            return hazards, _NONE
    used = [result.cell] if extent == "size" else []
    used += [each.cell for each in examination.tried if each.is_right]
    in_program = any(kernel.in_program(each.problem(kernel), kernel.config(**result.config)) for each in used)
    heading = _OTHER_SIZES if in_program and examination.wrong is None else "wrong at further sizes"
    return _combined(hazards, examination, result, heading, sized=extent == "size"), examination


def _proof(
    result: Result, kernel: Kernel, nameless: Kernel | None, tried: Sequence[Tried], *, right: bool
) -> Proof | None:
    """Return a proof at a small size; None if it takes longer than the run, or has no end."""
    cells = [each.cell for each in tried if right or each.mismatch]
    if not tried:
        own = _emulated(result)
        halves = (replace(own, m=own.m >> by, n=own.n >> by, k=own.k >> by, lda=0, ldb=0, ldc=0) for by in (1, 2))
        cells = [cell for cell in (own, _small_product(result, kernel), *halves) if cell and _work(cell)]
    run = result.flops // 2 + sum(_work(each.cell) for each in tried)
    most = max(run // _PROOF, _LEAST_PROVED) if right and not result.supports_timing else MOST_PROVED
    small = [cell for cell in cells if _work(cell) <= most]
    small.sort(key=lambda cell: min(cell.m, cell.n, cell.k), reverse=True)
    # The sentence on a wrong element is worth more time.
    large = [] if right else sorted((cell for cell in cells if most < _work(cell) <= _MOST_WRONG), key=_work)
    with contextlib.suppress(MmcoreError):
        for cell in () if result.cell.force else (*small, *large):
            with contextlib.suppress(ConstraintViolation):
                return proved(replace(cell, config=cell.config or result.config), nameless)
    return None


def _with_proof(found: Findings, proof: Proof | None, by_value: Sequence[Violation], *, right: bool) -> Findings:
    """Return findings with the outcome of a proof, and with warnings of code that a value of A or B decides about.

    A test sees some values alone. Of a wrong kernel, only this, a wrong sum and a line that rounds too much are
    reported, as a proof at another size says nothing else about its fault.
    """
    reasons = proof.reasons if proof else ()
    warnings = [f"{each}, {BY_VALUE}" for each in reasons if each.kind in OF_VALUES]
    known = {(each.kind, each.source, each.line) for each in reasons}
    warnings += [str(each) for each in by_value if (each.kind, each.source, each.line) not in known]
    if not right:
        warnings += [str(each) for each in reasons if each.kind == "rounding" and each.line]
    found = replace(found, warnings=(*found.warnings, *warnings))
    if proof is None or (not right and proof.outcome != WRONG):
        return found
    where = "×".join(map(str, proof.launched.problem.values()))
    text = f"{proof.outcome} at {where} on the emulator"
    if proof.outcome == WRONG:
        sums = [f"at {where}, {proof.difference}"] if proof.difference else []
        return replace(found, warnings=(*found.warnings, *sums), proof=text)
    return replace(found, proof="\n".join([text, *map(str, proof.reasons[:1]), *proof.sentences]))


def _has_name(result: Result, kernel: Kernel) -> bool:
    """Return whether another process can find the kernel by the cell's reference."""
    with contextlib.suppress(MmcoreError):
        return referenced_kernel(result.cell.kernel) == kernel
    return False


def _combined(hazards: Findings, examination: Examination, result: Result, heading: str, *, sized: bool) -> Findings:
    """Return the findings of both; a fault is a warning if the user named the size.

    ``heading`` begins the warning of a fault at a size that the kernel's own program does not use.
    """
    if examination.wrong is not None and (refused := examination.wrong.refusal):
        examination = replace(examination, tried=(), left_out=refused, limit=refused)
    looked, faults, warnings = [hazards.looked], _causes(examination.faults), list(hazards.warnings)
    if (wrong := examination.wrong) is not None:
        cell = replace(wrong.cell, device="auto") if wrong.is_part else wrong.cell  # too large for the emulator
        command = launch_command("run", replace(cell, seed=None, config=result.cell.config))
        if sized:
            warnings += _each_kind(faults)
            warnings[-1] += f"\n  {command}"
        else:
            looked.append(f"found at {wrong} on the emulator\n{command}")
    elif not sized and examination.is_observed:
        looked.append("none on the emulator")
    known = {(fault.kind, fault.source, fault.line) for fault in examination.faults}
    if (outside := examination.outside) is not None and (fault := examination.reminder) is not None:
        command = launch_command("run", replace(outside.cell, seed=None, config=result.cell.config))
        if (fault.kind, fault.source, fault.line) not in known:
            warnings.append(f"{heading}: {fault}\n  {command}")
    if examination.left_out:
        looked.append(f"not tried: {examination.left_out}")
    if not sized:
        looked.append(examination.refused)
    warnings += [f"not tried: {examination.failing}"] if examination.failing and not sized else []
    # A warning about one line is shown once, for all sizes.
    places = {each.partition(": ")[0] for each in warnings}
    warnings += [each for each in map(str, examination.warnings) if each.partition(": ")[0] not in places]
    if (lines := missing_lines(examination.not_executed)) and not examination.limit:
        warnings.append(f"{NOT_EXECUTED}{lines}")
    text = "\n".join(filter(None, looked))
    examined_sizes = [{name: each[name] for name in SIZES} for each in examination.sizes]
    small = [each for each in hazards.sizes if {name: each[name] for name in SIZES} not in examined_sizes]
    sizes, violations = (*small, *examination.sizes), () if sized else faults
    return Findings(text, violations, tuple(warnings), sizes, examination.not_executed, examination.limit)


def _each_kind(faults: Sequence[Violation]) -> list[str]:
    """Return the first fault of each kind."""
    first: dict[str, Violation] = {}
    for each in faults:
        first.setdefault(each.kind, each)
    return [*map(str, first.values())]


def _causes(faults: Sequence[Violation]) -> tuple[Violation, ...]:
    """Return faults without the races of accesses that are out of bounds in other threads: one guard mends both."""
    outside = {(each.array, each.source, each.line) for each in faults if each.kind.startswith("out-of-bounds")}
    return tuple(
        each for each in faults if each.kind not in _RACES or (each.array, each.source, each.line) not in outside
    )


def _hazards(result: Result, kernel: Kernel, nameless: Kernel | None, extent: str) -> Findings:
    """Return the hazards of the same launch for a small product; those of code that has none are remembered.

    A wrong product that is no larger than the small one, which may be deeper, is looked at first. A larger one is
    looked at where the small one is right, so that it does not show the fault.
    """
    cell, own = _small_product(result, kernel), _emulated(result)
    if cell is None:
        return Findings("not looked for: the constraints allow no small product")
    if not result.verified and _work(own) < _work(cell):
        found = _hazards_in(own, result, nameless, extent)
        if found.violations or _work(cell) > _MOST_BESIDE:
            return found
    found = _hazards_in(cell, result, nameless, extent)
    is_silent = not result.verified and not found.violations
    if is_silent and _work(own) > _work(cell) and _is_right(cell, nameless):
        return _hazards_in(own, result, nameless, extent)
    return found


def _is_right(cell: Cell, nameless: Kernel | None) -> bool:
    with contextlib.suppress(MmcoreError):
        return try_cell(cell, kernel=nameless).verified
    return False


def _work(cell: Cell) -> int:
    return cell.m * cell.n * cell.k


def _hazards_in(cell: Cell, result: Result, nameless: Kernel | None, extent: str) -> Findings:
    """Return the hazards of a cell."""
    size = f"{cell.m}×{cell.n}×{cell.k}"
    try:
        check = checked(
            cell,
            nameless,
            remember=extent == "hazards",
            quiet=True,
            most_work=_MOST_INSTRUCTIONS,
            wrong=not result.verified,
        )
    except TimeLimit as limit:
        return Findings(f"not looked for: {size} takes too long on the emulator: {limit}")
    except MmcoreError as error:
        return _not_looked_for(error)
    if result.verified and (refused := refusal(check.violations, size)):
        return Findings(f"not looked for: {refused}")
    # A wrong product shows NaN elements already, and missing ones unless C has old values; a hazard with a line gives
    # the cause.
    causes = _causes((*check.violations, *check.warnings))
    news = _UNWRITTEN if result.beta else ""
    violations = tuple(
        each for each in check.violations if each in causes and (result.verified or each.line or each.kind == news)
    )
    warnings = tuple(str(each) for each in check.warnings if each in causes)
    if not violations:
        unset = any(each.kind == "uninitialized-read" for each in check.violations)
        what = "an unwritten value without a line" if unset else "none"
        return Findings(f"{what} at {size} on the emulator", warnings=warnings)
    command = launch_command("check", replace(cell, seed=None))
    if any(getattr(cell, name) != getattr(result.cell, name) for name in SIZES):
        violations = tuple(replace(each, message=f"at {size}, {each.message}") for each in violations)
        if result.verified and extent != "all" and are_of_sizes(violations):
            found = _hazards_of_size(result, nameless)
            if found is not None:
                tried = {**{name: getattr(cell, name) for name in SIZES}, "why": "a small product", "right": False}
                *before, last = _each_kind(violations)
                return replace(found, warnings=(*found.warnings, *before, f"{last}\n  {command}"), sizes=(tried,))
    return Findings(f"found at {size} on the emulator\n{command}", violations, warnings)


def _not_looked_for(error: MmcoreError) -> Findings:
    """Return the reason why no hazards were looked for, also as a warning."""
    return Findings(f"not looked for: {error}", warnings=(f"hazards were not looked for: {error}",))


def are_of_sizes(violations: Sequence[Violation]) -> bool:
    """Return whether all depend on the sizes: out of bounds, not written, or asserted; a race may hide at others."""
    return all(each.kind.startswith("out-of-bounds") or each.kind in _OF_SIZES for each in violations)


def _hazards_of_size(result: Result, nameless: Kernel | None) -> Findings | None:
    """Return the findings at the measured size itself; None if it has hazards, or cannot be checked.

    The emulator's own run of the size has shown already that nothing is out of bounds, if the check takes too long.
    """
    cell = _emulated(result)
    size = f"{cell.m}×{cell.n}×{cell.k}"
    try:
        check = checked(replace(cell, config=result.config), nameless, quiet=True, most_work=_MOST_OF_SIZE, wrong=False)
    except MmcoreError as error:
        if result.device != DEVICE or not isinstance(error, TimeLimit):
            return None
        return Findings(f"nothing is out of bounds at {size} on the emulator; a check for races takes too long there")
    found = Findings(f"none at {size} on the emulator", warnings=tuple(map(str, check.warnings)))
    return None if check.violations else found


def _emulated(result: Result) -> Cell:
    """Return the cell of a result on the emulator, without times."""
    limit = result.cell.timeout or USUAL_SECONDS  # a last resort: the work is limited
    return replace(result.cell, device=DEVICE, timings=(), timeout=limit, baseline="", against="")


def _small_product(result: Result, kernel: Kernel) -> Cell | None:
    return small_product(_emulated(result), kernel, result.config, result.launched)

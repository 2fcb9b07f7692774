"""The facts of a result in words, and its view in a notebook."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from mmcore.cell import INPUTS
from mmcore.cli.output import in_turn, parameters
from mmcore.kernel.arguments import SIZES
from mmcore.kernel.constraints import Constraint, Multiple
from mmcore.kernel.declaration import Kernel
from mmcore.kernel.sizes import size_text
from mmcore.planning.plan import DEFAULT
from mmcore.verdict import NOT_EXECUTED, NOT_RUN, places
from mmcore.view import View, source_of

if TYPE_CHECKING:
    from mmcore.result import LaunchRecord, Result


def result_view(result: Result, hints: Sequence[str] = (), kernel: Kernel | None = None) -> View:
    """Return the view of a result, with plugins' hints; the ``kernel`` is looked up by its name unless given."""
    cell, (file, text) = result.cell, source_of(result.kernel)
    answer = verdict(result, kernel)
    warnings = [f"warning: {each}" for each in warnings_beside(answer, result)]
    return View(
        verdict=answer,
        right=True if result.verified else None if result.timed_out else False,
        title=f"{result.kernel} {cell.m}×{cell.n}×{cell.k} on {result.device}",
        facts=facts(result, kernel),
        messages=[*result.failures(), *warnings, *hints],
        file=file,
        text=text,
    )


def verdict(result: Result, kernel: Kernel | None = None) -> str:
    """Return the answer in two words, with a size at which the product is wrong, or the limit that was reached.

    For a kernel that is right only at its program's sizes, the answer says which sizes these are.
    """
    if result.timed_out:
        return "NOT FINISHED: --timeout sets the limit"
    if not result.verified:
        return "TEST FAIL"
    wrong = next((tried for tried in result.sizes if not tried["right"]), None)
    sizes = [each.description for each in program_conditions(result, kernel)] if kernel is not None and wrong else []
    answer = f"TEST PASS if {' and '.join(sizes)}" if sizes else "TEST PASS"
    missing = [each for each in result.warnings if each.startswith(NOT_RUN)]
    if wrong and not sizes:
        return "; ".join([f"{answer} at {size_text(vars(result.cell))}", f"wrong at {size_text(wrong)}", *missing])
    if not result.not_tried:
        lines = [each for each in result.warnings if each.startswith(NOT_EXECUTED)]
        return "; ".join([answer, *lines[:1], *missing])
    shown = size_text(vars(result.cell))
    others = sum(size_text(each) != shown for each in result.sizes)
    more = f" and {others} more size{'s' * (others > 1)}" if others else ""
    return "; ".join([f"{answer} at {shown}{more}", *missing, f"not tried at other sizes: {result.not_tried}"])


def warnings_beside(answer: str, result: Result) -> list[str]:
    """Return the warnings of a result, without those that its verdict ``answer`` repeats."""
    repeated = {*answer.split("; ")}
    return [each for each in result.warnings if each not in repeated]


def program_conditions(result: Result, kernel: Kernel) -> Sequence[Constraint]:
    """Return what the sizes of a kernel's own program satisfy, less what a right product of a result contradicts.

    Empty if a wrong product of the result satisfies it, too.
    """
    config, cells = result.cell.config_of(kernel), {True: [result.cell], False: []}
    for tried in result.sizes:
        cells[tried["right"]].append(replace(result.cell, **{name: tried[name] for name in SIZES}))
    right, wrong = ([cell.problem(kernel) for cell in cells[each]] for each in (True, False))
    weaker = list[Constraint]()
    for constraint in kernel.program_sizes:
        if not any(constraint.violation(problem, config) for problem in right):
            weaker.append(constraint)
        elif isinstance(constraint, Multiple):
            weaker += constraint.common(right, config)
    for conditions in (weaker, kernel.program_sizes):
        if all(any(each.violation(problem, config) for each in conditions) for problem in wrong):
            return conditions
    return ()


def facts(result: Result, kernel: Kernel | None = None, *, auto: bool = False) -> list[tuple[str, str]]:
    """Return the launch, times and verification by name; some are empty. ``auto``: mmcore chose the device."""
    description = f": {result.device_description}" if result.device_description else ""
    forced = "; ".join(result.violated_constraints) or "against nothing: its constraints hold"
    return [
        ("device", f"{result.device}{' (chosen by auto)' if auto else ''}{description}"),
        ("problem", _problem(result, kernel)),
        ("forced", forced if result.cell.force else ""),
        ("config", _config(result)),
        ("block", in_turn([launch.block for launch in result.launched], "thread")),
        ("grid", in_turn([launch.grid for launch in result.launched], "block")),
        ("registers", f"{result.registers or 'an unknown number'} per thread" if result.launched else ""),
        ("shared memory", f"{result.shared_bytes} bytes per block" if result.launched else ""),
        ("local memory", local_memory(result.launched)),
        ("host memory", next((time.timing.how for time in result.times if time.timing.what == "end-to-end"), "")),
        ("kernel time", _time(result, result.kernel_seconds)),
        ("end-to-end time", _time(result, result.end_to_end_seconds)),
        ("speed of light", _speed_of_light(result)),
        ("speed", "\n".join(map(str, result.compared))),
        ("conditions", _conditions(result.conditions)),
        ("inputs", result.cell.inputs.replace(INPUTS[0], "")),
        ("seed", "" if result.cell.seed is None else str(result.cell.seed)),
        ("verification", _verification(result)),
        ("hazards", result.hazards),
        ("proof", result.proof),
        ("also tried", "\n".join(f"{size_text(tried)}: {tried['why']}" for tried in result.sizes)),
        ("not executed", places(result.not_executed)),
    ]


def local_memory(launches: Sequence[LaunchRecord]) -> str:
    """Return the local memory of a thread in each launch and what of it is spilled; empty if there is none."""
    if not any(launch.local_bytes for launch in launches):
        return ""
    texts = []
    for launch in launches:
        text = "unknown" if launch.local_bytes is None else f"{launch.local_bytes} bytes per thread"
        if launch.spill_store_bytes or launch.spill_load_bytes:
            text += f"; spilled: {launch.spill_store_bytes} bytes stored, {launch.spill_load_bytes} loaded"
        texts.append(text)
    return ", then ".join(dict.fromkeys(texts))


def _conditions(values: Mapping[str, Any]) -> str:
    """Return the clock, power and temperature during the timing, and the reasons that lowered the clock."""
    if not values:
        return ""
    held = f", held back by {', '.join(values['clock_reasons']).replace('_', ' ')}" if values["clock_reasons"] else ""
    return f"{values['clock_mhz']:.0f} MHz, {values['power_w']:.0f} W, {values['temperature_c']:.0f} °C{held}"


def _speed_of_light(result: Result) -> str:
    """Return the score, and the least time with its limiter."""
    if result.speed_of_light is None or result.bound_ms is None:
        return ""
    return f"{100 * result.speed_of_light:.1f} % ({bound(result.bound_ms / 1e3, result.bound_by)})"


def bound(seconds: float, by: str) -> str:
    """Return a least time in words, with its limiter: "arithmetic takes 12.3 µs at least"."""
    limiter = {"memory": "memory traffic", "launch": "a launch"}.get(by, by)
    return f"{limiter} takes {seconds * 1e6:.4g} µs at least"


def _config(result: Result) -> str:
    """Return the parameters except the block, and the origin of the config unless the user named it."""
    text = parameters(result.config)
    if not result.config_origin or not (text or result.config_origin != DEFAULT):
        return text
    return f"{text}\n{result.config_origin}".lstrip()


def _problem(result: Result, kernel: Kernel | None) -> str:
    cell = result.cell
    types = kernel.types if kernel else "→".join(dict.fromkeys((result.dtype, result.output)))
    line = f"{result.operation}, m×n×k = {cell.m}×{cell.n}×{cell.k}, {types}"
    if kernel and (cell.lda or cell.ldb or cell.ldc):
        how = "as they lie" if result.strided else "packed, as the kernel takes no leading dimensions"
        problem = cell.problem(kernel)
        line += f"; lda, ldb, ldc = {problem.lda}, {problem.ldb}, {problem.ldc}, {how}"
    return line


def _verification(result: Result) -> str:
    if result.timed_out:
        return "none: the time limit was reached"
    if result.verification is None:
        return "none: the violation left no product"
    if not result.verification.verified:
        return result.verification.method  # the first wrong element follows
    largest = f"largest error {result.verification.max_error:.3g}"
    return f"{result.verification.method}; {'numbers of all exponents' if result.cell.inputs == 'wide' else largest}"


def _time(result: Result, seconds: float | None) -> str:
    gflops = result.rate(seconds)
    if seconds is not None and gflops is not None:
        return f"{seconds * 1e3:.4f} ms, {gflops:.{1 if gflops >= 10 else 4}f} GFLOP/s"
    return "none: the device supports no timing" if result.verified else "none: only a verified product is timed"

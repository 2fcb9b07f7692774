"""What ``mmcore run`` prints of an outcome."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mmcore.cli.output import fields
from mmcore.outcome import Outcome
from mmcore.kernel.geometry import Dim3
from mmcore.planning.plan import Plan

if TYPE_CHECKING:
    from rich.console import RenderableType

_MOST_LAUNCHES = 8


def report(outcome: Outcome, *, chosen: bool) -> list[RenderableType]:
    """The lecture's report: the launch, its times, the verification and the judgement in two words.

    Args:
        outcome: what came of the run.
        chosen: whether mmcore chose the device.
    """
    from rich.text import Text

    kernel = outcome.plan.kernel
    judgement = Text("TEST PASS", "bold green") if outcome.verified else Text("TEST FAIL", "bold red")
    return [f"{kernel.name}: {kernel.title}\n", fields(_facts(outcome, chosen)), "", *outcome.complaints(), judgement]


def _facts(outcome: Outcome, chosen: bool) -> list[tuple[str, str]]:
    plan = outcome.plan
    return [
        ("device", f"{outcome.device}{' (chosen by auto)' if chosen else ''}: {outcome.device_description}"),
        ("problem", product(plan) + _leading(outcome)),
        *geometry(plan),
        ("registers", f"{outcome.registers} per thread"),
        ("shared memory", f"{outcome.shared_bytes} bytes per block"),
        ("host memory", outcome.memory),
        ("kernel time", _time(outcome, outcome.kernel_seconds, outcome.kernel_gflops)),
        ("global time", _time(outcome, outcome.end_to_end_seconds, outcome.end_to_end_gflops)),
        ("seed", str(outcome.seed)),
        ("verification", _verification(outcome)),
    ]


def product(plan: Plan) -> str:
    """What is computed, of what size, and in which types."""
    kernel = plan.kernel
    return f"{kernel.operation}, m×n×k = {plan.problem}, {kernel.dtype}{kernel.sums}"


def geometry(plan: Plan) -> list[tuple[str, str]]:
    """What was forced, and the launches' blocks and grids."""
    return [
        ("forced", _forced_against(plan)),
        ("block", _in_turn([_extent(launch.block_dim, "thread") for launch in plan.launches])),
        ("grid", _in_turn([_extent(launch.grid_dim, "block") for launch in plan.launches])),
    ]


def _in_turn(extents: Sequence[str]) -> str:
    """Those of a few launches; of many, how many more there are."""
    more = f", then {len(extents) - _MOST_LAUNCHES} more" if len(extents) > _MOST_LAUNCHES else ""
    return ", then ".join(extents[:_MOST_LAUNCHES]) + more


def _extent(extent: Dim3, what: str) -> str:
    return f"{extent} ({_count(extent, what)})"


def _leading(outcome: Outcome) -> str:
    asked = outcome.problem
    if asked == asked.packed:
        return ""
    how = "as they lie" if outcome.plan.kernel.strided else "packed, as the kernel takes no leading dimensions"
    return f"; lda, ldb, ldc = {asked.lda}, {asked.ldb}, {asked.ldc}, {how}"


def _count(extent: Dim3, what: str) -> str:
    return f"{extent.size} {what}{'' if extent.size == 1 else 's'}"


def _forced_against(plan: Plan) -> str:
    if not plan.forced:
        return ""
    return "; ".join(plan.kernel.refusals(plan.problem, plan.block)) or "against nothing: its constraints hold"


def _time(outcome: Outcome, seconds: float | None, gflops: float | None) -> str:
    if seconds is None or gflops is None:
        return "this device keeps no time" if outcome.verified else "none: only a verified product is timed"
    return f"{seconds * 1e3:.4f} ms, {gflops:.{1 if gflops >= 10 else 4}f} GFLOP/s"


def _verification(outcome: Outcome) -> str:
    verification = outcome.verification
    if any(violation.kind == "timeout" for violation in outcome.violations):
        return "none: it was stopped at the time limit, which --timeout sets"
    if verification is None:
        return "none: the violation left no product to judge"
    error = "an element is not finite" if verification.max_error is None else f"largest error {verification.max_error:.3g}"
    return f"{verification.method}; {error}"

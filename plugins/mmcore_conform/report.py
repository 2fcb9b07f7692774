"""What ``mmcore conform`` prints of a kernel: every case on a line, and what failed with the command that shows it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from mmcore.cli.output import fields
from mmcore_conform.conform import Conformance
from mmcore_conform.trial import FAILED, PASSED, UNTRIED, Trial

if TYPE_CHECKING:
    from rich.console import RenderableType


def report(conformance: Conformance) -> list[RenderableType]:
    """Where it was tried, a line for every case, the failures with their commands, and the judgement."""
    from rich.text import Text

    kernel, setting, failures = conformance.kernel, conformance.setting, len(conformance.failures)
    facts = [
        ("runs on", setting.device),
        ("hazards", f"watched on {setting.watcher}" if setting.watcher else "nothing here looks for them"),
        ("seed", str(setting.seed)),
        ("tried", tried(conformance)),
    ]
    logs: dict[str, str] = {}
    lines = [line for what, group in groupby(conformance.trials, _what) for line in _lines(what, list(group), logs)]
    judgement = (
        Text(f"DOES NOT CONFORM: {failures} of {len(conformance.trials)} trials failed", "bold red")
        if failures
        else Text("CONFORMS", "bold green")
    )
    return [f"{kernel.name}: {kernel.title}\n", fields(facts), "", *lines, "", judgement]


def tried(conformance: Conformance) -> str:
    """How much was tried, and how much was left out."""
    products = {trial.what for trial in conformance.of("product") if trial.verdict != UNTRIED}
    left_out = f"; {conformance.left_out} more products that it allows were left out" if conformance.left_out else ""
    if conformance.stopped:
        left_out += " after one that took too long"
    refusals, geometries = len(conformance.of("refusals")), len(conformance.of("geometry"))
    return f"{len(products)} products, {refusals} refusals, {geometries} geometries{left_out}"


def _what(trial: Trial) -> str:
    return trial.what


def _lines(what: str, trials: Sequence[Trial], logs: dict[str, str]) -> Iterator[str]:
    """A line for what passed, and for each that did not; a compiler's log, which they share, is said once."""
    passed = [trial.aspect for trial in trials if trial.verdict == PASSED]
    if passed:
        words = [trial.reason for trial in trials if trial.verdict == PASSED and trial.reason]
        said = f" ({'; '.join(words)})" if words else ""
        yield f"ok       {what}: {', '.join(passed)}{said}"
    for trial in trials:
        if trial.verdict == UNTRIED:
            yield f"untried  {what}: {trial.aspect}: {trial.reason}"
        if trial.verdict == FAILED:
            first = logs.setdefault(trial.reason, what)
            reason = trial.reason if first == what or "\n" not in trial.reason else f"as in {first}"
            yield f"FAIL     {what}: {trial.aspect}: {reason}"
            yield f"           $ {trial.reproduce}"

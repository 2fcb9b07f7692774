"""The report of ``mmcore conform``: a summary, what failing cases have in common, and on demand every case."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from mmcore.cli.output import fields
from mmcore_conform.conformance import Conformance
from mmcore_conform.grouping import groups
from mmcore_conform.outcome import PROPERTIES, SKIPPED

if TYPE_CHECKING:
    from rich.console import RenderableType

_WORDS = {"passed": "ok", "failed": "FAIL", "skipped": "skipped"}


def report(conformance: Conformance, *, quiet: bool = False, verbose: bool = False) -> list[RenderableType]:
    """The result on a line; unless quiet where it was tested, the counts, and the failures with their commands."""
    result = summary(conformance)
    if quiet:
        return [result]
    facts = [
        ("device", conformance.device),
        ("sanitizer", conformance.sanitizer or "no device here has one"),
        ("seed", str(conformance.seed)),
        ("left out", str(conformance.left_out or "") and f"{conformance.left_out} more products that it allows"),
    ]
    counts = [(name, _counts(conformance, name)) for name in PROPERTIES]
    lines = [line for name in PROPERTIES for line in _failures(conformance, name)]
    if verbose:
        lines += ["", *(_line(*words) for words in _cases(conformance))]
    return [result, "", fields(facts), "", fields(counts), *lines]


def summary(conformance: Conformance) -> str:
    """The kernel, and whether it conforms."""
    failing = [name for name in PROPERTIES if any(each.property == name for each in conformance.failures)]
    if failing:
        result = f"DOES NOT CONFORM: {', '.join(failing)}"
    elif conformance.untested:
        result = f"NOT TESTED: {conformance.untested}"
    else:
        result = "NOT FINISHED" if conformance.stopped else "CONFORMS"
    stopped = f"; stopped: {conformance.stopped}" if conformance.stopped else ""
    return f"{conformance.kernel.name}: {result}{stopped}"


def _counts(conformance: Conformance, name: str) -> str:
    counts = Counter(each.outcome for each in conformance.of(name))
    reasons = dict.fromkeys(each.reason for each in conformance.of(name) if each.outcome == SKIPPED)
    why = f" ({next(iter(reasons))}{'; …' if len(reasons) > 1 else ''})" if reasons else ""
    return (", ".join(f"{count} {outcome}" for outcome, count in counts.items()) or "nothing to test") + why


def _failures(conformance: Conformance, name: str) -> Iterator[str]:
    """A paragraph for each group of a property's failures."""
    for common, failures in groups(conformance.of(name)):
        first = failures[0]
        all_with = f", all with {common}" if common else ""
        subject = f"{len(failures)} cases{all_with}; the smallest, {first.what}" if len(failures) > 1 else first.what
        yield f"\nFAIL {name}: {subject}: {first.reason}\n  $ {first.reproduce}"


def _cases(conformance: Conformance) -> Iterator[tuple[str, str, str]]:
    """(outcome, case, properties and reason): what passed of a case together, the rest each by itself."""
    passed: dict[str, list[str]] = {}
    for each in conformance.outcomes:
        if each.outcome == "passed":
            passed.setdefault(each.what, []).append(each.property + (f" ({each.reason})" if each.reason else ""))
    for what, names in passed.items():
        yield "passed", what, ", ".join(names)
    for each in conformance.outcomes:
        if each.outcome != "passed":
            yield each.outcome, each.what, f"{each.property}: {each.reason}"


def _line(outcome: str, what: str, text: str) -> str:
    return f"{_WORDS[outcome]:8} {what}: {text}"

"""The report of ``mmcore conform``: a summary, what failing cases have in common, and on demand every case."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from mmcore.cli.output import fields
from mmcore_conform.conformance import Conformance
from mmcore_conform.grouping import groups
from mmcore_conform.outcome import PASSED, PROPERTIES, SKIPPED

if TYPE_CHECKING:
    from rich.console import RenderableType


def report(conformance: Conformance, *, quiet: bool, verbose: bool) -> list[RenderableType]:
    """The result on a line; unless quiet where it was tested, the counts, and the failures with their commands."""
    result = summary(conformance)
    if quiet:
        return [result]
    facts = [
        ("device", conformance.device),
        ("sanitizer", conformance.sanitizer or "no device here has one"),
        ("seed", str(conformance.seed)),
        ("left out", f"{conformance.left_out} more products that it allows" if conformance.left_out else ""),
    ]
    counts = [(name, _counts(conformance, name)) for name in PROPERTIES]
    failures = [line for name in PROPERTIES for line in _failures(conformance, name)]
    return [result, "", fields(facts), "", fields(counts), *failures, *(_cases(conformance) if verbose else ())]


def summary(conformance: Conformance) -> str:
    """The kernel, and whether it conforms."""
    stopped = f"; stopped: {conformance.stopped}" if conformance.stopped else ""
    if conformance.failures:
        failing = {each.property for each in conformance.failures}
        result = f"DOES NOT CONFORM: {', '.join(name for name in PROPERTIES if name in failing)}{stopped}"
    elif conformance.stopped:
        result = f"NOT FINISHED{stopped}"
    else:
        result = f"NOT TESTED: {conformance.untested}" if conformance.untested else "CONFORMS"
    return f"{conformance.kernel.name}: {result}"


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


def _cases(conformance: Conformance) -> Iterator[str]:
    """A line for what passed of a case, and one for each property that failed or was skipped."""
    yield ""
    passed: dict[str, list[str]] = {}
    for each in conformance.outcomes:
        if each.outcome == PASSED:
            passed.setdefault(each.what, []).append(each.property + (f" ({each.reason})" if each.reason else ""))
    yield from (f"{PASSED:8} {what}: {', '.join(names)}" for what, names in passed.items())
    others = (each for each in conformance.outcomes if each.outcome != PASSED)
    yield from (f"{each.outcome:8} {each.what}: {each.property}: {each.reason}" for each in others)

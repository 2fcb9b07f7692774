"""The verdict on a kernel beyond one measured product: hazards and further sizes, as plugins look for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING, Any

from mmcore.devices.shared_bounds import without_consequences
from mmcore.devices.violations import Violation
from mmcore.plugins import instance_of
from mmcore.registry import registry

if TYPE_CHECKING:
    from mmcore.kernel.declaration import Kernel
    from mmcore.result import Result

BY_VALUE = "so that the product of other values may be wrong"
"""The end of a warning about code that a value of A or B decides about."""

_MOST_PLACES = 4  # lines that a report names


@dataclass(frozen=True)
class Findings:
    """The findings of a plugin about a measured kernel.

    Attributes:
        looked: where it looked, or why it did not, in words.
        violations: faults, which make the kernel wrong.
        warnings: faults at sizes that the user did not name, and signs of a mistake, a sentence each.
        sizes: the further products that were run, as JSON-ready values: "m", "n", "k", "why" and "right".
        not_executed: the lines that none of these executed, as JSON-ready values: "source", "line", "branch", which is
            true if the line's branch went one way alone, and "loop", which is true if the other way is another turn.
        not_tried: the limit that kept sizes from being run, such as "time limit".
        proof: the size at which the product is proved for all values, or what keeps it from a proof.
    """

    looked: str
    violations: tuple[Violation, ...] = ()
    warnings: tuple[str, ...] = ()
    sizes: tuple[Mapping[str, Any], ...] = ()
    not_executed: tuple[Mapping[str, Any], ...] = ()
    not_tried: str = ""
    proof: str = ""


NOT_EXECUTED = "not executed at any size: "
"""The beginning of a warning about lines that no size executed, which the verdict repeats."""

NOT_RUN = "not run: "
"""The beginning of a warning about a part of a kernel's work that no size runs, which the verdict repeats."""

UNSEARCHED = ("program", "product")
"""The extents of a verdict for which no hazards and no further sizes are looked for: the measured product, with the
faults of its program's host code; or the product alone."""

EXTENTS = ("all", "size", "hazards", *UNSEARCHED)
"""How much a verdict covers: all sizes that the code asks for; the measured size, with warnings about others; the
hazards of the code alone, which are remembered; or one of :data:`UNSEARCHED`."""


def places(not_executed: Sequence[Mapping[str, Any]]) -> str:
    """Return the first of :attr:`Findings.not_executed` in words, and the number of the others."""
    part = {True: "another turn of the loop in ", False: "the other branch of "}
    named = [f"{part[each.get('loop', False)] * each['branch']}line {each['line']}" for each in not_executed]
    more = [f"{len(named) - _MOST_PLACES} more"] if len(named) > _MOST_PLACES else []
    return ", ".join([*named[:_MOST_PLACES], *more])


def missing_lines(not_executed: Sequence[Mapping[str, Any]]) -> str:
    """Return the lines of :attr:`Findings.not_executed`, as "lines 13 and 15 to 20 (own.cu)"; "" if it has none."""
    lines = sorted({each["line"] for each in not_executed if not each["branch"]})
    if not lines:
        return ""
    runs = [[line for _, line in run] for _, run in groupby(enumerate(lines), lambda pair: pair[1] - pair[0])]
    named = [text for run in runs for text in ([f"{run[0]} to {run[-1]}"] if run[2:] else map(str, run))]
    *first, last = [*named[:_MOST_PLACES], f"{len(named) - _MOST_PLACES} more"] if named[_MOST_PLACES:] else named
    text = f"{', '.join(first)} and {last}" if first else last
    source = next(each["source"] for each in not_executed)
    return f"line{'s' * (len(lines) > 1)} {text} ({source})"


def warnings_of_source(kernel: str) -> tuple[str, ...]:
    """Return the warnings of a kernel's file, which every verdict shows; none if the kernel is registered."""
    file = registry().files.get(kernel)
    return file.warnings if file is not None else ()


def warnings_of_file(kernel: str) -> tuple[str, ...]:
    """Return the bugs of the host code in a kernel's file, and the warnings of its source."""
    file = registry().files.get(kernel)
    return (*map(str, file.bugs), *file.warnings) if file is not None else ()


def judged(result: Result, kernel: Kernel, extent: str) -> Result:
    """Return a result with the findings of all plugins, to one of the :data:`EXTENTS`.

    The bugs of a file's host code are warnings. A result with violations has no times.
    """
    file = registry().files.get(result.kernel)
    if file is not None:
        result = replace(result, warnings=(*result.warnings, *map(str, file.bugs)))
    if result.violations and not result.launched:
        return result  # the process that ran it is gone, or its time was over
    known = {_place(each) for each in result.violations}
    several = registry().answers("mmcore_findings", instance_of(Findings), result=result, kernel=kernel, extent=extent)
    for findings in several:
        further = tuple(each for each in findings.violations if _place(each) not in known)
        result = replace(
            result,
            hazards="\n".join(filter(None, (result.hazards, findings.looked))),
            proof="\n".join(filter(None, (result.proof, findings.proof))),
            violations=(*result.violations, *further),
            warnings=(*result.warnings, *findings.warnings),
            sizes=(*result.sizes, *findings.sizes),
            not_executed=(*result.not_executed, *findings.not_executed),
            not_tried=result.not_tried or findings.not_tried,
        )
    if not result.violations:
        return result
    result = replace(result, violations=without_consequences(result.violations, kernel.launch))
    faults = {*map(str, result.violations)}
    warnings = tuple(each for each in result.warnings if each not in faults)
    return replace(result, warnings=warnings, times=(), compared=())


def _place(violation: Violation) -> tuple[object, ...]:
    """Return what distinguishes a violation from another launch's: its kind, and its line or its array."""
    return violation.kind, violation.source, violation.line or violation.array

"""The places of barriers in a source: the least set that orders all races, and the lines that skip them."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from mmcore.devices.violations import Violation
from mmcore.kernel.declaration import Kernel
from mmcore_emulator.adapter.statements import Statement, c_statements, common_body, python_statements

BARRIER_HINT = re.compile(r"((?:__|\w+\.)syncthreads\(\)) before line (\d+)")
"""The hint about a race that a barrier of the block orders: the barrier in the source's language, and the line."""

_EARLIER = re.compile(r":(\d+), with no barrier between them")
_CARRIED = " in the next iteration of "
_CONDITION, _RETURN = re.compile(r"\s*if\b"), re.compile(r"\breturn\b")
_MOST = 3


@dataclass(frozen=True)
class Race:
    """A race, and the statements of which a barrier before one orders it."""

    violation: Violation
    places: tuple[Statement, ...]


def statements_of(kernel: Kernel) -> Sequence[Statement]:
    """Return the statements of a kernel's source; none if it cannot be read."""
    text = kernel.source_text()
    try:
        return python_statements(text) if getattr(kernel.build, "names", None) else c_statements(text)
    except (SyntaxError, RecursionError):
        return ()


def races_of(violations: Iterable[Violation], kernel: Kernel) -> list[Race]:
    """Return the races in shared memory that a barrier of the block orders, if their places are known."""
    named = [each for each in violations if BARRIER_HINT.match(each.hint) and each.source == kernel.source.name]
    statements = statements_of(kernel) if named else ()
    found = [(each, _places(each, statements)) for each in named]
    return [Race(each, places) for each, places in found if places]


def _places(violation: Violation, statements: Sequence[Statement]) -> tuple[Statement, ...]:
    match, later = _EARLIER.search(violation.message), _line_in_kernel(violation)
    if match is None:
        return ()
    earlier = int(match[1])
    body = common_body(statements, earlier, later)
    first, second = (next((at for at, each in enumerate(body) if each.has(line)), None) for line in (earlier, later))
    if first is None or second is None:
        return ()
    if _CARRIED in violation.message:
        return tuple(each for at, each in enumerate(body) if at > first or at <= second)
    return tuple(body[first + 1 : second + 1])


def _line_in_kernel(violation: Violation) -> int:
    """Return the line of a violation in the kernel's function: that of the outermost call, or its own."""
    return violation.callers[-1][1] if violation.callers else violation.line or 0


def least_set(races: Sequence[Race]) -> tuple[Statement, ...]:
    """Return the fewest statements such that barriers before them order all races; none if more than a few are needed.

    Of several, those that are nearest before the later accesses of races are chosen.
    """
    nearest = {
        each.begin: sum(_line_in_kernel(race.violation) == each.line for race in races)
        for race in races
        for each in race.places
    }
    places = sorted(
        {each for race in races for each in race.places}, key=lambda each: (-nearest[each.begin], -each.begin)
    )
    for count in range(1, _MOST + 1):
        for several in itertools.combinations(places, count):
            if all({*several} & {*race.places} for race in races):
                return tuple(sorted(several, key=lambda each: each.begin))
    return ()


def with_one_hint(violations: Sequence[Violation], kernel: Kernel) -> list[Violation]:
    """Return violations of which those that one barrier orders share one hint."""
    races = races_of(violations, kernel)
    hints = {id(each.violation): "" for each in races}
    for place in (chosen := least_set(races)):
        first = next(each for each in races if place in each.places)
        hints[id(first.violation)] = f"__syncthreads() before line {place.line}"
    return [replace(each, hint=hints.get(id(each), each.hint)) if chosen else each for each in violations]


def with_causes(violations: Sequence[Violation], kernel: Kernel) -> list[Violation]:
    """Return violations of which those about a skipped barrier name the return before it, or the if around it."""
    skipped = [each for each in violations if each.kind == "skipped-barrier" and each.source == kernel.source.name]
    statements = statements_of(kernel) if skipped else ()
    lines = kernel.source_text().splitlines() if statements else []
    named = {id(each): _with_cause(each, statements, lines) for each in skipped}
    return [named.get(id(each), each) for each in violations]


def _with_cause(skipped: Violation, statements: Sequence[Statement], lines: Sequence[str]) -> Violation:
    """Return a violation that names the only line that may keep threads from a barrier; the same without one."""
    returns, branches = (of(statements, lines, skipped.line or 0) for of in (_returns_before, _branches_around))
    match returns or branches:
        case [line]:
            why, what = ("has ended in", "return") if returns else ("does not take the branch of", "if")
        case _:
            return skipped
    return replace(
        skipped,
        message=skipped.message.replace(" has ended,", f" {why} line {line},", 1),
        hint=f"guards on the loads and the store instead of the {what} in line {line}",
    )


def _returns_before(statements: Sequence[Statement], lines: Sequence[str], barrier: int) -> list[int]:
    """Return the lines of conditional returns before a barrier of the same function."""
    found: list[int] = []
    for each in statements:
        if each.has(barrier):
            found += _returns_before(each.body, lines, barrier)
        elif each.last < barrier and _CONDITION.match(lines[each.line - 1]):
            found += [at for at in range(each.line, each.last + 1) if _RETURN.search(lines[at - 1])]
    return found


def _branches_around(statements: Sequence[Statement], lines: Sequence[str], barrier: int) -> list[int]:
    """Return the lines of the conditions around a barrier."""
    found: list[int] = []
    for each in (each for each in statements if each.has(barrier)):
        found += [each.line] if _CONDITION.match(lines[each.line - 1]) else []
        found += _branches_around(each.body, lines, barrier)
    return found

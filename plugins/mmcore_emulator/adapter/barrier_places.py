"""The places of barriers in a source: the least set that orders all races, and the lines that skip them."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from mmcore.devices.violations import Violation
from mmcore.kernel.declaration import Kernel
from mmcore_emulator.adapter.statements import Statement, around, c_statements, python_statements

BARRIER_HINT = re.compile(r"((?:__|\w+\.)syncthreads\(\)) before line (\d+)")
"""The hint about a race that a barrier of the block orders: the barrier in the source's language, and the line."""

_EARLIER = re.compile(r" at ([^,:]+):(\d+)(?:, called at ([^,:]+):(\d+))?, with no barrier between them")
_CARRIED = " in the next iteration of "
_OF_PART = ", where all threads of the block reach it"
_CONDITION, _RETURN = re.compile(r"\s*if\b"), re.compile(r"\breturn\b")
_ELSE, _NAME = re.compile(r"\belse\b"), re.compile(r"\b[a-z_]\w*")
_THREADS = re.compile(r"\b(?:threadIdx\.[xyz]|warpSize)\b")
_OF_ROLE = "a barrier of the branch's threads alone, bar.sync of another number than 0 with their count, or none there"
_MOST = 3


@dataclass(frozen=True)
class Race:
    """A race, and the statements of which a barrier before one orders it."""

    violation: Violation
    later: int  # the line of the later access, in the innermost function that has both
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
    return [race for each in named if (race := _race(each, kernel.source.name, statements)) and race.places]


def _race(violation: Violation, source: str, statements: Sequence[Statement]) -> Race | None:
    """Return a race with the places of a barrier; None if the lines of its accesses in ``source`` are not known."""
    match = _EARLIER.search(violation.message)
    if match is None:
        return None
    own, called = (match[1], int(match[2])), (match[3], int(match[4] or 0))
    in_one_call = violation.callers == (called,)
    (file, earlier), later = own, violation.line or 0
    if not in_one_call:
        file, earlier = called if match[3] else own
        later = violation.callers[-1][1] if violation.callers else later
    body = _common_body(violation, around(statements, earlier, later), in_one_call=in_one_call)
    first, second = (next((at for at, each in enumerate(body) if each.has(line)), None) for line in (earlier, later))
    if file != source or first is None or second is None:
        return None
    if _CARRIED in violation.message:
        return Race(violation, later, tuple(each for at, each in enumerate(body) if at > first or at <= second))
    return Race(violation, later, tuple(body[first + 1 : second + 1]))


def _common_body(violation: Violation, bodies: Sequence[Statement], *, in_one_call: bool) -> Sequence[Statement]:
    """Return the innermost of the statements around both accesses in which a barrier can order them; none without.

    It is that of a loop, or of a function that a loop calls, if one follows in the next iteration. Threads that do not
    all make an access may not all reach a barrier in a branch.
    """
    if violation.hint.endswith(_OF_PART):
        bodies = [*itertools.takewhile(lambda each: each.kind != "branch", bodies)]
    if _CARRIED in violation.message:
        loops = [each for each in bodies if each.kind == "loop"]
        functions = [*itertools.takewhile(lambda each: each.kind == "block", bodies)] if in_one_call else []
        bodies = loops or functions
    return bodies[-1].body if bodies else ()


def least_set(races: Sequence[Race]) -> tuple[Statement, ...]:
    """Return the fewest statements such that barriers before them order all races; none if more than a few are needed.

    Of several, those that are nearest before the later accesses of races are chosen.
    """
    nearest = {each.begin: sum(race.later == each.line for race in races) for race in races for each in race.places}
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
    guards = f"guards on the loads and the store instead of the {what} in line {line}"
    return replace(
        skipped,
        message=skipped.message.replace(" has ended,", f" {why} line {line},", 1),
        hint=guards if returns or not _gives_roles(statements, lines, line) else _OF_ROLE,
    )


def _gives_roles(statements: Sequence[Statement], lines: Sequence[str], line: int) -> bool:
    """Return whether the condition in a line is one of threads alone, and the others take an else."""
    for each in (each for each in statements if each.has(line)):
        if each.line == line and each.kind == "branch":
            between = [
                at for at in range(line, each.last + 1) if not any(inner.body and inner.has(at) for inner in each.body)
            ]
            has_else = any(_ELSE.search(lines[at - 1]) for at in between)
            return has_else and _is_of_threads(lines[line - 1].partition("(")[2], "\n".join(lines))
        return _gives_roles(each.body, lines, line)
    return False


def _is_of_threads(expression: str, text: str, depth: int = 4) -> bool:
    """Return whether an expression has names of threads and constants alone, or of variables that such ones set."""
    names = {*_NAME.findall(_THREADS.sub("", expression))}
    values = {name: re.findall(rf"\b{name}\s*=(?!=)\s*([^,;]+)[,;]", text) for name in names}
    return depth > 0 and all(
        several and all(_is_of_threads(value, text, depth - 1) for value in several) for several in values.values()
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

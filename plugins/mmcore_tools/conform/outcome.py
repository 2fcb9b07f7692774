"""Test cases, their properties and outcomes, and the conditions that failing cases share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from typing import Any

from mmcore.cell import Cell
from mmcore.kernel.arguments import SIZES
from mmcore.kernel.sizes import size_text

PROPERTIES = {
    "product": "every element that is written is within its tolerance",
    "written": "every element of C is written",
    "bounds": "no access outside the matrices, nor between the rows of a strided C",
    "inputs": "A and B are left as they were",
    "repeatable": "the same inputs give the same bits, whatever memory held before",
    "not-finite": "NaN and infinities in A and B reach the elements of C that they belong to, and no others",
    "hazards": "no race, no divergent barrier, no misaligned access, no element written twice",
    "proof": "no element of a small product is proved to be another sum of products",
    "over-read": "the declared over-read is large enough, and no larger than needed",
    "constraints": "each constraint allows some launches and refuses others, in its own words",
    "geometry": "block, grid, registers and shared memory fit compute capabilities 7.5 to 12.0",
    "known-bugs": "the kernel declares no known bugs",
}
"""The properties, each with its requirement."""

MOST_PROVED = 1 << 16
"""The largest m·n·k of a case whose proof takes less time than its other runs."""

UNTESTED = {
    "proof": f"no right case without hazards has m·n·k ≤ {MOST_PROVED:,}",
    "over-read": "no case that passed declares an over-read",
    "constraints": "no case violates a constraint",
}
"""The reasons why a property has no outcome, where it is not that no case was run to its end."""

PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"

UNPROVED = "not proved"
"""The beginning of the reason why a case has no proof, which keeps the other cases of its config from one, too."""

_OFF = " not a multiple of "
_LEAST = 3  # failing cases that show a common condition; two have many by chance
_FEW = 0.25  # the share of the passing cases that may share the condition of all failures
_DIVISORS = sorted(factor << shift for factor in (1, 3, 5, 7, 15) for shift in range(9) if 1 < factor << shift <= 256)


@dataclass(frozen=True)
class Case:
    """A test case: the cell, the config's id and the reason.

    A thorough one runs twice, and under the sanitizer. The emulator may run the first and the last block of one alone.
    """

    cell: Cell
    config: str
    why: str
    thorough: bool = True
    of_blocks: bool = False

    def __str__(self) -> str:
        forced = ", forced" if self.cell.force else ""
        return f"{size_text(vars(self.cell))} with {self.config} ({self.why}){forced}"

    @property
    def size(self) -> tuple[int, ...]:
        """The sizes and leading dimensions."""
        return tuple(getattr(self.cell, name) for name in SIZES)

    @property
    def work(self) -> int:
        """The number of multiplications, m·n·k."""
        return self.cell.m * self.cell.n * self.cell.k


@dataclass(frozen=True)
class Cases:
    """The test cases of a kernel.

    Attributes:
        allowed, violating: the cases that its constraints allow and forbid.
        not_found: properties with a kind of case that was not found: a violated constraint, gaps between rows.
        left_out: the number of allowed cases beyond the most that are tested.
    """

    allowed: tuple[Case, ...] = ()
    violating: tuple[Case, ...] = ()
    not_found: tuple[tuple[str, str], ...] = ()
    left_out: int = 0


@dataclass(frozen=True)
class Outcome:
    """One property of one test case.

    Attributes:
        property: one of :data:`PROPERTIES`.
        what: a description of the test.
        outcome: "passed", "failed", or "skipped" if the test cannot run on this machine.
        reason: the reason of a failure or a skip, or the violations that explain a refused launch.
        reproduce: the command that repeats the test.
        case: the case; None for a test of the whole kernel.
    """

    property: str
    what: str
    outcome: str
    reason: str = ""
    reproduce: str = ""
    case: Case | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the outcome as JSON-ready values."""
        sizes = self.case and {name: getattr(self.case.cell, name) for name in SIZES}
        values = {name: getattr(self, name) for name in ("property", "outcome", "reason", "reproduce")}
        return {**values, "case": self.what, "problem": sizes, "config": self.case and self.case.config}


def groups(outcomes: Sequence[Outcome]) -> list[tuple[str, list[Outcome]]]:
    """Return the failures of one property in groups, each with its common condition: "k not a multiple of 4".

    The condition that holds for most failures and no passing case makes the first group; the rest is grouped the same
    way, and two failures have none. If none holds for all failures, but one holds for them and only few passing cases,
    they make one group: "only with gaps between C's rows". Failures without a case are grouped by their reason. In a
    group, the failure of least work comes first.
    """
    failing = [each for each in outcomes if each.outcome == FAILED]
    reasons = dict.fromkeys(each.reason for each in failing if each.case is None)
    found = [("", [each for each in failing if each.case is None and each.reason == reason]) for reason in reasons]
    passing = [each.case for each in outcomes if each.case and each.outcome == PASSED]
    cases = sorted(((each, each.case) for each in failing if each.case), key=lambda pair: pair[1].work)
    limits = sorted({getattr(case.cell, axis) for _, case in cases for axis in "mnk"})
    passed = Counter(condition for case in passing for condition in _conditions(case, limits))
    # Conditions on sizes come before those on a config, and simple ones before others.
    held = [list(_conditions(case, limits)) for _, case in cases]
    of_all = set.intersection(*map(set, held)) if held else set()
    rarest = min((text for text in (held or [[]])[0] if text in of_all), key=passed.__getitem__, default="")
    if len(cases) >= _LEAST and 0 < passed[rarest] <= _FEW * len(passing):
        return [*found, (f"only with {rarest}", [each for each, _ in cases])]
    left = [(each, [text for text in texts if not passed[text]]) for (each, _), texts in zip(cases, held, strict=True)]
    while left:
        counts = Counter(text for _, held in left for text in held)
        common, count = max(counts.items(), key=lambda each: each[1], default=("", 0))
        common = common if count >= _LEAST else ""
        several = [each for each, held in left if not common or common in held]
        rivals = {text for text in counts if counts[text] == count} if common else set[str]()
        found.append((_of_largest_step(common, rivals, several) if passing else "every case", several))
        left = [(each, held) for each, held in left if each not in several]
    return found


def _of_largest_step(common: str, rivals: Set[str], failures: Sequence[Outcome]) -> str:
    """Return a condition such as "k not a multiple of 2" with the largest number that holds for as many failures.

    The parameter of the config that has this value is named, too: "k not a multiple of 8 = BK". Where the same holds
    for other sizes, they are named as well, as any of them may be the cause.
    """
    names, off, _ = common.partition(_OFF)
    several = "mnk" if names in "mnk" else [names]
    conditions = [_largest_step(each, rivals, failures) for each in several] if off else []
    return " and ".join(filter(None, conditions)) or common


def _largest_step(names: str, rivals: Set[str], failures: Sequence[Outcome]) -> str:
    """Return the condition of the largest number that divides some sizes in none of the failures; "" without one."""
    steps = [int(step) for text in rivals if (step := text.removeprefix(names + _OFF)).isdecimal()]
    if not steps:
        return ""
    largest = max(steps)
    configs = [each.case.cell.config for each in failures if each.case]
    parameters = [name for name in configs[0] if all(config.get(name) == largest for config in configs)]
    of_size = [name for name in parameters if name.lower().endswith(names)]
    known = of_size or parameters
    return f"{names}{_OFF}{largest}" + (f" = {known[0]}" if len(known) == 1 else "")


def are_remainders_of_k(failures: Sequence[Outcome], outcomes: Sequence[Outcome]) -> bool:
    """Return whether a number divides k in every passing case and in none of some failing ones."""
    failing = [each.case.cell.k for each in failures if each.case]
    passing = [each.case.cell.k for each in outcomes if each.case and each.outcome == PASSED]
    divisors = (each for each in _DIVISORS if all(k % each for k in failing))
    return bool(failing) and any(all(k % each == 0 for k in passing) for each in divisors)


def _conditions(case: Case, limits: Sequence[int]) -> Iterator[str]:
    """Yield the conditions that hold for a case, the simplest first; then the same in its config only."""
    cell, sizes = case.cell, {axis: getattr(case.cell, axis) for axis in "mnk"}
    rows = {"A": (cell.lda, cell.k), "B": (cell.ldb, cell.n), "C": (cell.ldc, cell.n)}
    gaps = [matrix for matrix, (leading, row) in rows.items() if leading > row]
    held = ["gaps between rows" if gaps else "no gaps between rows", *(f"gaps between {each}'s rows" for each in gaps)]
    held += ["m, n and k not all equal"] if len(set(sizes.values())) > 1 else []
    for divisor in _DIVISORS:
        off = [name for name, size in sizes.items() if size % divisor]
        held += [f"{name}{_OFF if name in off else ' a multiple of '}{divisor}" for name in sizes]
        several = (" or ".join(names) for names in ("mn", "mnk") if set(names) & set(off))
        held += [f"{names}{_OFF}{divisor}" for names in several]
        held += [f"m and n multiples of {divisor}"] if not {"m", "n"} & set(off) else []
    parameters = [(name, value) for name, value in cell.config.items() if type(value) is int and value > 1]
    held += [f"{name}{_OFF}{each}" for each, value in parameters for name, size in sizes.items() if size % value]
    for name, size in sizes.items():
        held += [f"{name} from {limit} on" for limit in limits if size >= limit]
        held += [f"{name} up to {limit}" for limit in limits if size <= limit]
    yield from held
    yield f"{case.config} alone"
    yield from (f"{case.config} and {text}" for text in held)

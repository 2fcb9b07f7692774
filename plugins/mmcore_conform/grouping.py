"""Failing cases, grouped by what they have in common and no passing case has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from mmcore_conform.outcome import FAILED, PASSED, Case, Outcome

_DIVISORS = sorted(factor << shift for factor in (1, 3, 5, 7, 15) for shift in range(9) if 1 < factor << shift <= 256)


def groups(outcomes: Sequence[Outcome]) -> list[tuple[str, list[Outcome]]]:
    """The failures of one property in groups: what each has in common, "k not a multiple of 4", and the failures.

    Sizes of failing and passing cases are compared: the condition that holds for most failures and no passing case
    makes a group, then the rest is grouped. Failures that are no cases are grouped by their reason. The failure of
    least work comes first.
    """
    failing = [each for each in outcomes if each.outcome == FAILED]
    by_reason: dict[str, list[Outcome]] = {}
    for each in failing:
        if each.case is None:
            by_reason.setdefault(each.reason, []).append(each)
    found = [("", several) for several in by_reason.values()]
    passing = [each.case for each in outcomes if each.case and each.outcome == PASSED]
    cases = sorted(((each, each.case) for each in failing if each.case), key=lambda pair: pair[1].work)
    limits = sorted({size for _, case in cases for size in _sizes(case).values()})
    excluded = {condition for case in passing for condition in _conditions(case, limits)}
    # Those of all configs stand before those of one, and the simplest first.
    left = [(each, [text for text in _conditions(case, limits) if text not in excluded]) for each, case in cases]
    while left:
        counts = Counter(text for _, held in left for text in held)
        common, count = max(counts.items(), key=lambda each: each[1], default=("", 0))
        several = [each for each, held in left if common in held] if count > 1 else [each for each, _ in left]
        found.append(("every case" if not passing else common if count > 1 else "", several))
        left = [(each, held) for each, held in left if each not in several]
    return found


def _sizes(case: Case) -> dict[str, int]:
    return {"m": case.cell.m, "n": case.cell.n, "k": case.cell.k}


def _conditions(case: Case, limits: Sequence[int]) -> Iterator[str]:
    """What holds for a case: in words, the simplest first; in all configs, then in its own alone."""
    sizes, cell = _sizes(case), case.cell
    rows = {"A": (cell.lda, cell.k), "B": (cell.ldb, cell.n), "C": (cell.ldc, cell.n)}
    gaps = [matrix for matrix, (leading, row) in rows.items() if leading > row]
    held = (
        ["gaps between rows", *(f"gaps between {each}'s rows" for each in gaps)] if gaps else ["no gaps between rows"]
    )
    held += ["m, n and k not all equal"] if len(set(sizes.values())) > 1 else []
    for divisor in _DIVISORS:
        off = [name for name, size in sizes.items() if size % divisor]
        held += [f"{name} {'not ' if name in off else ''}a multiple of {divisor}" for name in sizes]
        held += [
            f"{' or '.join(names)} not a multiple of {divisor}" for names in ("mn", "mnk") if set(names) & set(off)
        ]
        held += [f"m and n multiples of {divisor}"] if not {"m", "n"} & set(off) else []
    for name, size in sizes.items():
        held += [f"{name} from {limit} on" for limit in limits if size >= limit]
        held += [f"{name} up to {limit}" for limit in limits if size <= limit]
    yield from held
    yield f"{case.config} alone"
    yield from (f"{case.config} and {text}" for text in held)

"""A comparison as text, as JSON and as HTML."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mmcore.registry import registry
from mmcore.result import Result
from mmcore.result_view import facts, verdict, warnings_beside
from mmcore.time_ratio import Answer
from mmcore.view import View
from mmcore_tools.compare.counts import in_words, percent
from mmcore_tools.compare.measuring import Comparison
from mmcore_tools.compare.operands import Side
from mmcore_tools.compare.precision import largest_error, less_exact
from mmcore_tools.run import details

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

_COMMON = ("device", "problem", "seed")
_LETTERS = "AB"
_MANY_TIMES = 1000
_COMPARES = " compares "  # in the reason why a size was not tried at which the code takes another branch
_ANSWERS: dict[Answer, str] = {
    "faster": "B is faster",
    "slower": "B is slower",
    "same": "B is as fast as A",
    "cannot tell": "cannot tell whether B is faster",
}


def sentence(comparison: Comparison) -> str:
    """Return the answer in a sentence, and what of B is less exact."""
    exactness = less_exact(*comparison.results) if comparison.right else ""
    return "; ".join(filter(None, [_answer(comparison), exactness]))


def _answer(comparison: Comparison) -> str:
    """Return the answer in a sentence."""
    both = list(zip(_LETTERS, comparison.results, strict=True))
    wrong = [letter for letter, result in both if not result.verified]
    if wrong:
        what = "not finished" if all(result.timed_out or result.verified for result in comparison.results) else "wrong"
        return f"{' and '.join(wrong)} {'is' if len(wrong) == 1 else 'are'} {what}: no winner"
    if comparison.ratio is None:
        if comparison.unfinished:
            return f"no counts: {comparison.unfinished}"
        words = in_words(comparison.changes)
        time = comparison.explained.sentence() if comparison.explained else ""
        if time and (untried := [each for each, result in both if _COMPARES in result.not_tried]):
            time += f", if {' and '.join(untried)} {'is' if len(untried) == 1 else 'are'} right there"
        if words:
            return "; ".join([f"B has {words}", *([time] if time else [])])
        unlike = [f"{letter}: {side.declaration}" for letter, side in _sides(comparison) if side.declaration]
        if comparison.explained and comparison.explained.differs:
            unlike.append(time)
        return f"no count differs; {'; '.join(unlike)}" if unlike else "B does the same work as A"
    return f"{_ANSWERS[comparison.ratio.answer]}: {comparison.ratio}"


def report(comparison: Comparison) -> list[RenderableType]:
    """Return the sides with their verdicts, what they have in common, and the table of both."""
    from mmcore.cli.output import fields

    a, b = (dict(facts(each, side.kernel)) for each, side in zip(comparison.results, comparison.sides, strict=True))
    common = [(name, b[name] if a[name] == b[name] else f"A: {a[name]}\nB: {b[name]}") for name in _COMMON]
    parts: list[RenderableType] = [
        fields([(letter, f"{label}: {answer}") for letter, label, answer in _verdicts(comparison)]),
        "",
        fields([*common, *notes(comparison)]),
        "",
    ]
    reasons = comparison.explained.lines() if comparison.explained else []
    return [*parts, _table(comparison), "", *reasons, *([""] if reasons else [])] if comparison.right else parts


def reservations(comparison: Comparison) -> list[RenderableType]:
    """Return the verdicts that name sizes, and the warnings of each side, such as of its host code, a line each."""
    lines: list[RenderableType] = []
    several = zip(_verdicts(comparison), comparison.sides, comparison.results, strict=True)
    for (letter, label, answer), side, result in several:
        file = registry().files.get(side.kernel.name)
        warnings = dict.fromkeys((*(map(str, file.bugs) if file else ()), *warnings_beside(answer, result)))
        warnings |= {side.declaration: None} if side.declaration else {}
        said = [*([answer] if answer != "TEST PASS" else []), *(f"warning: {each}" for each in warnings)]
        lines += [f"{letter}, {label}: {each}" for each in said]
    return lines


def faults(comparison: Comparison) -> list[RenderableType]:
    """Return the faults and warnings of each side below its letter."""
    lines: list[RenderableType] = []
    for letter, result, side in zip(_LETTERS, comparison.results, comparison.sides, strict=True):
        *below, _ = details(result, [], side.kernel)
        lines += [f"{letter}, {side.label}:", *below] if below else []
    return lines


def notes(comparison: Comparison) -> list[tuple[str, str]]:
    """Return facts about declarations, the clock while the rounds were timed, and the predicted times."""
    ratio, conditions = comparison.ratio, comparison.results[1].conditions
    held = ", ".join(conditions.get("clock_reasons", ())).replace("_", " ")
    moved = ""
    if ratio is not None and ratio.clocks is not None and ratio.clock_moved:
        cycles = "" if ratio.cycles is None else f"; A takes {ratio.cycles:.3g} times as many cycles as B"
        moved = f"moved from {ratio.clocks[0]:.0f} MHz for A alone to {ratio.clocks[1]:.0f} MHz in turns{cycles}"
    times, predicted = comparison.explained, ""
    if times is not None and (a := times.a.predicted) and (b := times.b.predicted) and ratio is None:
        factor = a.high / a.seconds
        limits = f"A is limited by {a.limiter}\nB is limited by {b.limiter}"
        head = f"on {times.a.card}; eight of ten are right within a factor of {factor:.2g}"
        predicted = "\n".join([head, limits, *times.uncounted()])
    if why := comparison.why_unpredicted:
        predicted = "\n".join(filter(None, [predicted, f"{'not at further sizes' if predicted else 'none'}: {why}"]))
    declared = "\n".join(f"{letter}: {each.declaration}" for letter, each in _sides(comparison) if each.declaration)
    return [
        ("declaration", declared),
        ("clock", moved),
        ("held back by", held),
        ("predicted", predicted),
        ("counts", comparison.counted),
    ]


def to_json(comparison: Comparison) -> dict[str, Any]:
    """Return a comparison as JSON-ready values; ``answer``, ``faster`` and ``interval`` are null without times."""
    ratio = comparison.ratio
    counts = [
        {"name": each.count, "a": each.before, "b": each.now, "percent": each.percent} for each in comparison.changes
    ]
    return {
        "right": comparison.right,
        "answer": ratio and ratio.answer,
        "faster": ratio and ratio.faster,
        "interval": ratio and [*ratio.interval],
        "cycles": ratio and ratio.cycles,
        "slower": comparison.slower,
        "less_exact": less_exact(*comparison.results) or None,
        "predicted": comparison.explained and comparison.explained.to_json(),
        "unpredicted": comparison.why_unpredicted,
        "counted": comparison.counted,
        "right_at": comparison.right_at,
        "counts": counts,
        **{
            letter.lower(): {"label": side.label, "declaration": side.declaration or None, "result": result.to_json()}
            for (letter, side), result in zip(_sides(comparison), comparison.results, strict=True)
        },
    }


def view(comparison: Comparison) -> View:
    """Return the view of a comparison: both verdicts, the answer, and each number of A and of B."""
    numbers = [(name, f"{a} → {b} {change}".rstrip()) for name, a, b, change in _rows(comparison)]
    right: bool | None = None if comparison.right else False
    if comparison.right and (
        comparison.slower or (comparison.ratio is not None and comparison.ratio.answer == "faster")
    ):
        right = not comparison.slower
    labels = " and ".join(side.label for side in comparison.sides)
    sides = [(letter, f"{label}: {answer}") for letter, label, answer in _verdicts(comparison)]
    messages = comparison.explained.lines() if comparison.explained else []
    messages += [
        f"{letter}: {each}" for letter, r in zip(_LETTERS, comparison.results, strict=True) for each in r.failures()
    ]
    return View(sentence(comparison), right, labels, [*sides, *notes(comparison), *numbers], messages)


def _verdicts(comparison: Comparison) -> list[tuple[str, str, str]]:
    pairs = zip(_LETTERS, comparison.sides, comparison.results, strict=True)
    return [(letter, side.label, verdict(result, side.kernel)) for letter, side, result in pairs]


def _sides(comparison: Comparison) -> list[tuple[str, Side]]:
    """Return A and B by letter."""
    return list(zip(_LETTERS, comparison.sides, strict=True))


def _table(comparison: Comparison) -> Table:
    """Return the numbers of A and B with the change of each; the count that changed most is first."""
    from rich.table import Table

    table = Table("", box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for heading in ("A", "B", "change"):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in _rows(comparison):
        table.add_row(*row)
    return table


def _rows(comparison: Comparison) -> list[tuple[str, str, str, str]]:
    """Return the times, scores and counts as texts: the name, A's, B's, and the change."""
    if not comparison.right:
        return []
    a, b = comparison.results
    rows = [
        ("kernel time", _time(a), _time(b), _change(a.kernel_seconds, b.kernel_seconds)),
        ("GFLOP/s", _number(a.kernel_gflops), _number(b.kernel_gflops), _change(a.kernel_gflops, b.kernel_gflops)),
        ("speed of light", _share(a.speed_of_light), _share(b.speed_of_light), ""),
    ]
    times = comparison.explained
    for size, pair in times.times.items() if times and comparison.ratio is None else ():
        before, now = (each.seconds for each in pair)
        rows.append((f"predicted, {size}", _predicted(before), _predicted(now), _change(before, now)))
    first, second = largest_error(a), largest_error(b)
    if first or second:
        rows.append(("largest error", _error(first), _error(second), _change(first, second)))
    counts = [
        (each.count, f"{each.before:,}", f"{each.now:,}", _change(each.before, each.now)) for each in comparison.changes
    ]
    return [row for row in [*rows, *counts] if row[1] or row[2]]


def _predicted(seconds: float) -> str:
    """Return a predicted time to three digits."""
    unit, name = (1e3, "ms") if seconds >= 0.9995e-3 else (1e6, "µs")
    return f"{seconds * unit:#.3g}".rstrip(".") + f" {name}"


def _time(result: Result) -> str:
    return "" if result.kernel_seconds is None else f"{result.kernel_seconds * 1e6:.4g} µs"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}" if value < 1e4 else f"{value:.0f}"


def _error(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}"


def _share(value: float | None) -> str:
    return "" if value is None else f"{100 * value:.1f} %"


def _change(before: float | None, now: float | None) -> str:
    """Return the change in percent, or the factor of a large one; empty without one."""
    if not before or now is None or now == before:
        return ""
    ratio = now / before
    return percent(100 * (ratio - 1)) if ratio < _MANY_TIMES else f"× {ratio:.2g}"

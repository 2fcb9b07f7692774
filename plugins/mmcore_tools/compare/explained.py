"""Predicted times of two kernels, and the reasons for them that a change removed or added."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any, TypeAlias

from mmcore.cell import Cell
from mmcore.kernel.declaration import Kernel
from mmcore.kernel.sizes import size_text
from mmcore.verdict import places
from mmcore_emulator.adapter.launch_facts import source_line
from mmcore_performance.cards import Card
from mmcore_performance.prediction import Interval, times_as_fast
from mmcore_performance.reasons.ranking import LEAST_GAIN
from mmcore_performance.reasons.reason import Reason
from mmcore_performance.why import PredictedTime, Why, explained_time, sentence

_ByLine: TypeAlias = dict[tuple[str, str | None], Reason]
_EQUAL = 0.01
"""Difference of speeds that is not named."""
_UNSURE = 0.1
"""Difference of predicted speeds that may be wrong in sign."""


@dataclass(frozen=True)
class Explained:
    """The predicted times of A and B, with their reasons.

    Attributes:
        a, b: the explanations of one product on one card.
        gone: the reasons of A that B does not have, as sentences; the largest gain first.
        new: the reasons of B that A does not have.
        grown: the reasons of B that take longer than in A, as sentences.
        others: the explanations of A and B in further products on that card.
    """

    a: Why
    b: Why
    gone: tuple[str, ...] = ()
    new: tuple[str, ...] = ()
    grown: tuple[str, ...] = ()
    others: tuple[tuple[Why, Why], ...] = ()

    @classmethod
    def of(cls, a: Why, b: Why, kernel_a: Kernel, kernel_b: Kernel) -> Explained:
        """Return the times and reasons.

        Two reasons are the same if their kinds are, and the texts of their lines or their sentences.
        """
        of_a, of_b = _by_line(a, kernel_a), _by_line(b, kernel_b)
        gone = (sentence(reason, kernel_a) for reason in _others(of_a, of_b))
        new = (sentence(reason, kernel_b) for reason in _others(of_b, of_a))
        common = (key for key in of_b if key in of_a)
        grown = (sentence(of_b[key], kernel_b) for key in common if _grows(of_a[key], of_b[key], a, b))
        return cls(a, b, tuple(gone), tuple(new), tuple(grown))

    @property
    def times(self) -> dict[str, tuple[PredictedTime, PredictedTime]]:
        """The predicted times of A and B by product, as "1024×1024×1024"; the smallest first."""
        pairs = sorted([(self.a, self.b), *self.others], key=lambda pair: prod(pair[0].problem.values()))
        return {size_text(a.problem): (a.predicted, b.predicted) for a, b in pairs if a.predicted and b.predicted}

    @property
    def _speeds(self) -> dict[str, Interval]:
        """How many times as fast as A B is predicted to be, by product."""
        return {size: times_as_fast(a.interval, b.interval) for size, (a, b) in self.times.items()}

    @property
    def differs(self) -> bool:
        """True if the predicted times differ by as much as is named in a product, as by counts of machine code."""
        return any(abs(ratio - 1) >= _EQUAL for ratio, _, _ in self._speeds.values())

    def sentence(self) -> str:
        """Return how many times as fast as A each product is predicted to be by B, with intervals; "" without times.

        A small difference is less than the waits that a prediction may miss, and which the new reasons name. Reasons
        that a prediction does not count may also turn the answer. A limiter that changed is named.
        """
        speeds = [f"{_in_words(interval)} at {size}" for size, interval in self._speeds.items()]
        ratios = {size: ratio for size, (ratio, _, _) in self._speeds.items()}
        unsure = self.new and all(abs(ratio - 1) < _UNSURE for ratio in ratios.values())
        turned = {size: ratio * self._beyond(self.b) / self._beyond(self.a) for size, ratio in ratios.items()}
        doubt = ", which its new reasons may outweigh" if unsure else ""
        if any((ratio - 1) * (turned[size] - 1) < 0 for size, ratio in ratios.items()):
            doubt = ", which reasons beyond the prediction may outweigh"
        answer = f"on {self.a.card} B is predicted {', '.join(speeds)}{doubt}{self._left_out()}{self._limiters()}"
        return answer if speeds else ""

    def _left_out(self) -> str:
        """Return the lines that the small products left out, which a larger one may execute, as a further clause."""
        clauses = [
            f"{letter} does not execute {places(lines)}"
            for letter, why in (("A", self.a), ("B", self.b))
            if (lines := [each for each in why.not_executed if not each["branch"]])
        ]
        return f", from small products in which {' and '.join(clauses)}" if clauses else ""

    def _limiters(self) -> str:
        """Return what limits A and B, as a further clause; "" if it is the same."""
        a, b = self.a.predicted, self.b.predicted
        if a is None or b is None or a.limiter == b.limiter:
            return ""
        return f"; A is limited by {a.limiter}, and B by {b.limiter}"

    @staticmethod
    def _beyond(why: Why) -> float:
        """Return the part of the time that reasons leave that its prediction does not count."""
        return prod(1 - reason.gain for reason in why.reasons if reason.uncounted)

    def uncounted(self) -> list[str]:
        """Return a line for each of A and B that has reasons which its predicted time does not count."""
        return [
            f"without {letter}'s {', '.join(several)}"
            for letter, why in (("A", self.a), ("B", self.b))
            if (several := [_short(reason) for reason in why.reasons if reason.uncounted])
        ]

    @property
    def percent(self) -> float | None:
        """The change of the predicted time from A to B in percent; None unless there are both."""
        a, b = self.a.predicted, self.b.predicted
        return None if a is None or b is None else 100 * (b.seconds / a.seconds - 1)

    def lines(self) -> list[str]:
        """Return a line for each reason."""
        kinds = {"gone": self.gone, "new": self.new, "grown": self.grown}
        return [f"{kind}: {each}" for kind, several in kinds.items() for each in several]

    def to_json(self) -> dict[str, Any]:
        """Return JSON-ready values, times in ms."""
        times = {name: _times(why.predicted) for name, why in (("a", self.a), ("b", self.b))}
        sizes = [{"problem": size, "a": _times(a), "b": _times(b)} for size, (a, b) in self.times.items()]
        reasons = {"gone": [*self.gone], "new": [*self.new], "grown": [*self.grown]}
        return {"card": self.a.card, "problem": size_text(self.a.problem), **times, "sizes": sizes, **reasons}


def explained(cells: Sequence[Cell], kernels: Sequence[Kernel], card: Card) -> Explained:
    """Return the predicted times and the reasons of the cells of A and B on a card. Raises MmcoreError."""
    return Explained.of(*_whys(cells, card), *kernels)


def also_predicted(found: Explained, products: Iterable[Sequence[Cell]], card: Card) -> Explained:
    """Return an explanation with the times of further products of A and B. Raises MmcoreError."""
    return replace(found, others=tuple(_whys(cells, card) for cells in products))


def _whys(cells: Sequence[Cell], card: Card) -> tuple[Why, Why]:
    a, b = (explained_time(cell, card) for cell in cells)
    return a, b


def _in_words(interval: Interval) -> str:
    """Return a ratio of speeds and the ends of its interval in words."""
    ratio, low, high = interval
    if abs(ratio - 1) < _EQUAL:
        return f"as fast ({low:.1f} to {high:.1f} times)"
    if ratio > 1:
        return f"{ratio:.2f} times as fast ({low:.1f} to {high:.1f})"
    return f"{1 / ratio:.2f} times as slow ({1 / high:.1f} to {1 / low:.1f})"


def _short(reason: Reason) -> str:
    """Return a reason's kind, line and part of the time."""
    place = f" in line {reason.line.number}" if reason.line.number else ""
    return f"{reason.kind}{place} (about {100 * reason.gain:.0f} %)"


def _times(time: PredictedTime | None) -> dict[str, Any] | None:
    if time is None:
        return None
    return {"ms": time.seconds * 1e3, "low_ms": time.low * 1e3, "high_ms": time.high * 1e3, "limiter": time.limiter}


def _others(reasons: _ByLine, compared: _ByLine) -> Iterator[Reason]:
    """Yield the reasons that are not among the compared ones."""
    known = {(reason.kind, reason.sentence) for reason in compared.values()}
    yield from (each for key, each in reasons.items() if not (key in compared or (each.kind, each.sentence) in known))


def _grows(before: Reason, after: Reason, a: Why, b: Why) -> bool:
    """Return whether a reason takes longer in B than in A, by as much as a reason that is said."""
    if a.predicted is None or b.predicted is None:
        return False
    return after.gain * b.predicted.seconds >= (before.gain + LEAST_GAIN) * a.predicted.seconds


def _by_line(why: Why, kernel: Kernel) -> _ByLine:
    """Return the first reason of each kind at each text of a line."""
    several: _ByLine = {}
    for reason in why.reasons:
        several.setdefault((reason.kind, source_line(kernel, *reason.line)), reason)
    return several

"""A reason why a kernel is slow, and what it saves to remove it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from mmcore_emulator.profiler.counters import Line
from mmcore_performance.costs import NOTHING, Costs

NOWHERE = Line("", 0)
"""The line of the whole launch."""
_WRITTEN = ("kind", "sentence", "advice", "column", "gain", "next_gain", "last_line", "uncounted")


@dataclass(frozen=True)
class Reason:
    """A reason why a kernel is slow.

    Attributes:
        kind: the kind, "uncoalesced".
        sentence: what happens, a clause without a full stop.
        advice: what to try, an imperative clause.
        line, column: the place in the source; line 0 for the whole launch.
        other_lines: further lines that have it, beside ``line``.
        last_line: the last of neighbouring lines that have the same reason; 0 for one line.
        saved: the cycles of each unit that are saved without it.
        factor: the part of the time that is left without it, besides these cycles.
        scope: the time of which the factor is a part: "all", the units' "work", the "waits", or those for "loads".
        copies: how often a block begins to copy after a product, and waits: half as often with a second buffer, while
            other warps work. 0 if buffers do not matter.
        counter: the counter of the line that grows with the saved cycles; "" if those of the whole launch are saved.
        uncounted: True if the predicted time, which rests on counts, does not contain the waste.
        gain: the fraction of the time that is saved by it alone, of the predicted time if there is one.
        next_gain: the fraction that is saved of the time that is left without the reasons before it.
    """

    kind: str
    sentence: str
    advice: str
    line: Line = NOWHERE
    column: int = 0
    saved: Costs = NOTHING
    factor: float = 1.0
    scope: Literal["all", "work", "waits", "loads"] = "all"
    copies: float = 0.0
    counter: str = "warp_instructions"
    uncounted: bool = False
    gain: float = 0.0
    next_gain: float = 0.0
    last_line: int = 0
    other_lines: tuple[Line, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return JSON-ready values."""
        values = {name: getattr(self, name) for name in _WRITTEN}
        others = [line._asdict() for line in self.other_lines]
        return {**values, "source": self.line.source, "line": self.line.number, "other_lines": others}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Reason:
        """Return the reason of :meth:`to_json`, without its costs."""
        others = tuple(Line(**each) for each in values["other_lines"])
        line = Line(values["source"], values["line"])
        return cls(**{name: values[name] for name in _WRITTEN}, line=line, other_lines=others)


def on(card: str) -> str:
    """Return a card with its article: "an H200"."""
    return f"{'a' if card.startswith('T') else 'an'} {card}"


def counted(number: float, what: str) -> str:
    """Return a number with its noun, in the plural unless it is 1."""
    return f"{number:,.0f} {what}{'' if round(number) == 1 else 's'}"

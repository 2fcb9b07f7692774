"""The figure of a history: a panel for each model of card, a colour for each series."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, time
from functools import partial
from itertools import groupby

import numpy as np
from matplotlib import rc_context, rcParams
from matplotlib.axes import Axes
from numpy.typing import NDArray

from mmcore_history.measurements import Card
from mmcore_history.trends import Limits, Trend
from mmcore_plots.drawing import Drawing, Look, looks

_MOST = 7  # series, a colour each


def figure(found: Sequence[Trend], limits: Limits) -> Drawing:
    """Times over the runs' dates: of one kernel, product and config in ms, of several in percent of their references.

    Args:
        found: the trends, the worst first, one at least; where they are many, the first few are drawn, on every card.
        limits: what counted as a change.
    """
    labels = list(dict.fromkeys(each.subject.label for each in found))[:_MOST]
    drawn = [each for each in found if each.subject.label in labels]
    cards: dict[Card, list[Trend]] = {}
    for each in drawn:
        cards.setdefault(each.subject.card, []).append(each)
    # Cards of one name have different numbers of multiprocessors.
    several = len({card.name for card in cards}) < len(cards)
    days = sorted(measurement.run.day for each in drawn for measurement in each.measurements)
    look = looks({label: (label, "") for label in sorted(labels)})
    draw = partial(_draw, look=look, percent=limits.percent, relative=len(labels) > 1)
    left_out = (
        f" Of {len(found)} series, {len(drawn)} are drawn, the worst among them." if len(drawn) < len(found) else ""
    )
    return Drawing(
        title=f"{labels[0] if len(labels) == 1 else 'Times'} from {days[0]} to {days[-1]}",
        text="Lower is better. A marker is a run, a line goes through the medians of days. The dotted line is the "
        f"reference: the median of the runs before the newest, {limits.window} at most.{left_out}",
        caption="Medians of verified products.",
        panels={str(card) if several else card.name: partial(draw, found=of_card) for card, of_card in cards.items()},
    )


def _draw(axes: Axes, *, found: Sequence[Trend], look: Mapping[str, Look], percent: float, relative: bool) -> None:
    """The series of a card. The y axis shows what counts as a change at least, or noise would look like one."""
    references = []
    for each in found:
        label, reference = each.subject.label, each.reference_ms or each.newest.ms
        unit = reference / 100 if relative else 1.0
        references.append(reference / unit)
        dates = [measurement.run.date.replace(tzinfo=None) for measurement in each.measurements]
        times = [measurement.ms / unit for measurement in each.measurements]
        days = {day: [value for _, value in runs] for day, runs in groupby(zip(dates, times, strict=True), _noon)}
        line = look[label].line
        # The ticks of dates are chosen when the first of them is drawn.
        with rc_context({"date.converter": "concise"}):
            axes.plot(_dates(dates), times, **{**line, "linestyle": "", "markersize": 3, "alpha": 0.6})
            axes.plot(_dates(days), list(map(statistics.median, days.values())), label=label, **{**line, "marker": ""})
        axes.axhline(references[-1], color=rcParams["axes.edgecolor"], linewidth=0.7, linestyle=":")
    low, high = axes.get_ylim()
    axes.set_ylim(min(low, min(references) * (1 - percent / 50)), max(high, max(references) * (1 + percent / 50)))
    axes.set_ylabel("time, % of the reference" if relative else "time of a product, ms")


def _noon(run: tuple[datetime, float]) -> datetime:
    """The middle of a run's day."""
    return datetime.combine(run[0].date(), time(12))


def _dates(dates: Iterable[datetime]) -> NDArray[np.datetime64]:
    return np.array(list(dates), "datetime64[us]")

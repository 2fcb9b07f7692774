"""The figure of a history: a panel for each model of card, a colour for each series."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial
from itertools import groupby
from typing import Any

import numpy as np
from matplotlib import rc_context, rcParams
from matplotlib.axes import Axes
from numpy.typing import NDArray

from mmcore_tools.history.reading import Card
from mmcore_tools.history.trends import Limits, Trend
from mmcore_tools.plots.drawing import Drawing, Look, looks

_MOST = 7  # series, a colour each


def figure(found: Sequence[Trend], limits: Limits) -> Drawing:
    """Draw times against dates: of one series in ms, of several in percent of their medians.

    If there are many trends, only the first few are drawn: the worst.
    """
    labels = list(dict.fromkeys(each.subject.label for each in found))[:_MOST]
    drawn = [each for each in found if each.subject.label in labels]
    cards: dict[Card, list[Trend]] = {}
    for each in drawn:
        cards.setdefault(each.subject.card, []).append(each)
    # Two models may have one name and different numbers of multiprocessors.
    ambiguous = len({card.name for card in cards}) < len(cards)
    days = sorted(measurement.run.day for each in drawn for measurement in each.measurements)
    look = looks({label: (label, "") for label in sorted(labels)})
    draw = partial(_draw, look=look, percent=limits.percent, relative=len(labels) > 1)
    rest = f" Of {len(found)} series, {len(drawn)} are drawn, the worst among them." if len(drawn) < len(found) else ""
    return Drawing(
        title=f"{labels[0] if len(labels) == 1 else 'Times'} from {days[0]} to {days[-1]}",
        text="Lower is better. A marker is a run, a line goes through the medians of days, and the dotted line is the "
        f"median of all runs.{rest}",
        caption="Medians of verified products.",
        panels={str(card) if ambiguous else card.name: partial(draw, found=of_card) for card, of_card in cards.items()},
    )


def _draw(axes: Axes, *, found: Sequence[Trend], look: Mapping[str, Look], percent: float, relative: bool) -> None:
    """Draw the series of a card. The y axis spans at least a change, so that noise does not look like one."""
    level = 100.0
    for each in found:
        middle = statistics.median(measurement.ms for measurement in each.measurements)
        if not relative:  # it is the card's only series
            level = middle
        label = each.subject.label
        points = [(point.run.date.replace(tzinfo=None), point.ms * level / middle) for point in each.measurements]
        _plot(axes, label, look[label].line, points)
    low, high = axes.get_ylim()
    axes.set_ylim(min(low, level * (1 - percent / 50)), max(high, level * (1 + percent / 50)))
    axes.axhline(level, color=rcParams["axes.edgecolor"], linewidth=0.7, linestyle=":")
    axes.set_ylabel("time, % of the median" if relative else "time of a product, ms")


def _plot(axes: Axes, label: str, line: Mapping[str, Any], points: Sequence[tuple[datetime, float]]) -> None:
    """Draw a marker for each run, and a line through the medians of days."""
    days = [list(of_day) for _, of_day in groupby(points, lambda point: point[0].date())]
    dates, values = zip(*points, strict=True)
    # matplotlib chooses the ticks of dates when it draws the first of them.
    with rc_context({"date.converter": "concise"}):
        axes.plot(_dates(dates), values, **{**line, "linestyle": "", "markersize": 3, "alpha": 0.6})
        medians = [statistics.median(value for _, value in of_day) for of_day in days]
        axes.plot(_dates(of_day[0][0] for of_day in days), medians, label=label, **{**line, "marker": ""})


def _dates(dates: Iterable[datetime]) -> NDArray[np.datetime64]:
    return np.array(list(dates), "datetime64[us]")

"""The figure of a search: times by trial, and by the values of each parameter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes

from mmcore_tools.plots.drawing import Draw, Drawing
from mmcore_tools.plots.files import save
from mmcore_tools.tune.tuning import Tuning


def draw(tunings: Sequence[Tuning], device: Mapping[str, Any], path: Path) -> None:
    """Draw each search into a file; the names of several files have a number. Raises MmcoreError."""
    for number, tuning in enumerate(tunings):
        file = path if len(tunings) == 1 else path.with_stem(f"{path.stem}-{number + 1}")
        save(drawing_of(tuning, device), file)


def drawing_of(tuning: Tuning, device: Mapping[str, Any]) -> Drawing:
    """Return a panel for the search, and one for each parameter that varies."""
    search = tuning.search
    seconds = {id: value * 1e6 for id, value in search.seconds.items() if value is not None}

    def of_search(axes: Axes) -> None:
        values = list(seconds.values())
        axes.plot(range(1, len(values) + 1), values, "o", color="C0", markersize=3, label="a config")
        fastest = list(accumulate(values, min))
        axes.plot(range(1, len(values) + 1), fastest, color="C1", drawstyle="steps-post", label="the fastest so far")
        axes.set_xlabel("trial")
        _in_microseconds(axes)

    def of_parameter(name: str) -> Draw:
        def panel(axes: Axes) -> None:
            known = search.space.parameters[name]
            several = [
                [value for id, value in seconds.items() if search.space.point(id)[name] == each] for each in known
            ]
            for place, values in enumerate(several):
                axes.plot([place] * len(values), values, "o", color="C0", markersize=3)
            best = [(place, min(values)) for place, values in enumerate(several) if values]
            axes.plot(*zip(*best, strict=True), color="C1")
            axes.set_xticks(range(len(known)), list(map(str, known)))
            _in_microseconds(axes)

        return panel

    panels = {"The search": of_search, **{name: of_parameter(name) for name in search.space.parameters}}
    return Drawing(
        f"The search for the fastest config of {tuning.label}",
        "The time of each config by trial and by the values of each parameter; the line joins the fastest.",
        f"{len(seconds)} of {len(search.space.configs)} configs on {device['description']}; best {tuning.winner}",
        panels,
        height=2.4,
    )


def _in_microseconds(axes: Axes) -> None:
    axes.set_ylabel("µs")
    axes.set_yscale("log")
    for formats in (axes.yaxis.set_major_formatter, axes.yaxis.set_minor_formatter):
        formats(lambda value, place: f"{value:g}")

"""A figure with its panels and texts, the look of its series, and its SVG or PNG."""

from __future__ import annotations

import io
import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from matplotlib import style
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from mmcore_tools.plots.results import natural

Draw: TypeAlias = Callable[[Axes], None]
PLAIN = "{x:,.10g}"
"""The format of a tick's label, without powers of ten."""

_STYLE = "mmcore_tools.plots.mmcore"  # mmcore.mplstyle
_WIDTH = 7.6  # inches, as are the next
_AROUND_AXES = 0.7  # the title, ticks and label of axes
# The legend's letters, lines and samples.
_LEGEND_LETTER, _LEGEND_LINE, _LEGEND_HANDLE = 0.073, 0.185, 0.62
_COORDINATE = re.compile(r"-?\d+\.\d{3,}(?=[^<>]*>)")

# Kernels differ by colour and marker; their kinds by the line, or without lines by the filled part of the marker.
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">")
_LINES: Any = (("-", "full"), ((0, (5, 2)), "right"), ((0, (1, 1.4)), "top"), ((0, (6, 1.5, 1, 1.5)), "left"))
# Markers without lines are larger and hollow, so that none hides another.
_POINTS: Mapping[str, Any] = {"linestyle": "", "markersize": 6, "markerfacecolor": "none"}


class Look(NamedTuple):
    """The look of a series in matplotlib's terms: as a line with markers, and as markers alone."""

    line: dict[str, Any]
    points: dict[str, Any]


def looks(series: Mapping[str, Sequence[str]]) -> dict[str, Look]:
    """Return the look of each series by its label, given its kernel and its kind: a config or a way of measuring."""
    kernels, kinds = (list(dict.fromkeys(names)) for names in zip(*series.values(), strict=True))
    found = {}
    for label, (kernel, kind) in series.items():
        place = kernels.index(kernel)
        line, filling = _LINES[kinds.index(kind) % len(_LINES)]
        look = {"color": f"C{place}", "marker": _MARKERS[place % len(_MARKERS)]}
        points = {**look, **_POINTS, "fillstyle": filling, "markerfacecoloralt": f"C{place}"}
        found[label] = Look({**look, "linestyle": line}, points)
    return found


@dataclass(frozen=True)
class Drawing:
    """A figure."""

    title: str
    text: str
    caption: str  # the device, date and method
    panels: Mapping[str, Draw]  # draws into axes, by the title above them, two in a row; one legend serves all
    height: float = 3.3  # the height of each panel, in inches
    heights: Sequence[float] = ()  # the heights of the panels' axes if they differ; then each panel has a row

    @style.context(_STYLE, after_reset=True)
    def svg(self) -> str:
        """Return the figure as SVG; it is the same every time."""
        file = io.StringIO()
        _figure(self).savefig(file, format="svg", metadata={"Date": None})
        # A hundredth of a point is finer than any screen. Other fonts without serifs replace a missing one.
        text = _COORDINATE.sub(lambda found: f"{round(float(found[0]), 2):g}", file.getvalue())
        return text.replace("'DejaVu Sans'", "'DejaVu Sans', Verdana, sans-serif")

    @style.context(_STYLE, after_reset=True)
    def png(self) -> bytes:
        file = io.BytesIO()
        _figure(self).savefig(file, format="png", dpi=200, metadata={"Software": None})
        return file.getvalue()


def _figure(drawing: Drawing) -> Figure:
    """Return title, text, panels, legend and caption from top to bottom, each with the height that it needs."""
    title, text = textwrap.wrap(drawing.title, 64), textwrap.wrap(drawing.text, 114)
    caption = textwrap.wrap(drawing.caption, 138)
    columns = 1 if drawing.heights else min(2, len(drawing.panels))
    rows = -(-len(drawing.panels) // columns)
    inches = sum(drawing.heights) + rows * _AROUND_AXES if drawing.heights else rows * drawing.height
    figure = Figure()
    grid = figure.add_gridspec(rows, columns, height_ratios=drawing.heights or None)
    for index, (name, draw) in enumerate(drawing.panels.items()):
        draw(figure.add_subplot(grid[divmod(index, columns)], title=name))
    legend = _legend(figure)
    in_a_row = max(1, int(_WIDTH / (_LEGEND_HANDLE + _LEGEND_LETTER * max(map(len, legend), default=0))))

    heading = 0.12 + 0.215 * len(title)
    above = heading + 0.03 + 0.155 * len(text)
    below = 0.12 + 0.135 * len(caption)
    foot = below + (0.1 + _LEGEND_LINE * -(-len(legend) // in_a_row) if legend else 0.0)
    height = above + inches + foot
    figure.set_size_inches(_WIDTH, height)
    figure.set_layout_engine("constrained", rect=(0.0, foot / height, 1.0, 1 - (above + foot) / height))
    left = 0.1 / _WIDTH
    figure.text(left, 1 - 0.09 / height, "\n".join(title), va="top", fontsize=12, fontweight="bold")
    figure.text(left, 1 - heading / height, "\n".join(text), va="top", fontsize=8.5, linespacing=1.25)
    figure.text(left, 0.07 / height, "\n".join(caption), va="bottom", fontsize=7.2, linespacing=1.25)
    if legend:
        place = (0.5, below / height)
        figure.legend(legend.values(), legend, loc="lower center", bbox_to_anchor=place, ncols=in_a_row)
    return figure


def _legend(figure: Figure) -> dict[str, Artist]:
    """Return the labels and lines of the legend; none for a single series."""
    pairs = [zip(*axes.get_legend_handles_labels(), strict=True) for axes in figure.axes]
    found: dict[str, Artist] = {label: handle for each in pairs for handle, label in each}
    return {label: found[label] for label in sorted(found, key=natural)} if len(found) > 1 else {}

"""A figure: its panels and words, how its series look, and the SVG or PNG that matplotlib makes of it."""

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
"""The format of a tick's label without powers of ten."""

_STYLE = "mmcore_tools.plots.mmcore"  # mmcore.mplstyle
_WIDTH = 7.6  # inches
# The title, ticks and label of axes, in inches.
_AROUND_AXES = 0.7
# The legend's letters, lines and samples, in inches.
_LEGEND_LETTER, _LEGEND_LINE, _LEGEND_HANDLE = 0.073, 0.185, 0.62
_COORDINATE = re.compile(r"-?\d+\.\d{3,}(?=[^<>]*>)")

# What tells kernels apart without the style sheet's colours; and what tells their kinds: lines, or where there are none
# the part of a marker that stays empty.
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">")
_LINES: Any = (("-", "full"), ((0, (5, 2)), "right"), ((0, (1, 1.4)), "top"), ((0, (6, 1.5, 1, 1.5)), "left"))
# Markers alone are larger, and others are seen through them.
_POINTS: Mapping[str, Any] = {"linestyle": "", "markersize": 6, "markerfacecolor": "none"}


class Look(NamedTuple):
    """How one series is drawn, in matplotlib's terms: as a line with markers, or as markers alone."""

    line: dict[str, Any]
    points: dict[str, Any]


def looks(series: Mapping[str, Sequence[str]]) -> dict[str, Look]:
    """The look of each series by its label, given its kernel and its kind: a config or a way of measuring."""
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
    """A figure.

    Attributes:
        title: what it shows.
        text: how to read it.
        caption: what was measured and when.
        panels: what draws into each pair of axes, by the title above them; two stand side by side. Lines with a label
            get into a legend for all panels.
        height: inches of each panel.
        heights: inches of each panel's axes alone, where they differ: then one stands below the other.
    """

    title: str
    text: str
    caption: str
    panels: Mapping[str, Draw]
    height: float = 3.3
    heights: Sequence[float] = ()

    @style.context(_STYLE, after_reset=True)
    def svg(self) -> str:
        """The figure as SVG; the same every time."""
        file = io.StringIO()
        _figure(self).savefig(file, format="svg", metadata={"Date": None})
        # A hundredth of a point is finer than any screen; whoever has not the font gets another without serifs.
        text = _COORDINATE.sub(lambda found: f"{round(float(found[0]), 2):g}", file.getvalue())
        return text.replace("'DejaVu Sans'", "'DejaVu Sans', Verdana, sans-serif")

    @style.context(_STYLE, after_reset=True)
    def png(self) -> bytes:
        """The figure as PNG."""
        file = io.BytesIO()
        _figure(self).savefig(file, format="png", dpi=200, metadata={"Software": None})
        return file.getvalue()


def _figure(drawing: Drawing) -> Figure:
    """From above: title, text, panels, legend, caption; each as high as it takes."""
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
    """What a legend for all panels holds; nothing, where there is only one series to tell."""
    pairs = [zip(*axes.get_legend_handles_labels(), strict=True) for axes in figure.axes]
    found: dict[str, Artist] = {label: handle for each in pairs for handle, label in each}
    return {label: found[label] for label in sorted(found, key=natural)} if len(found) > 1 else {}

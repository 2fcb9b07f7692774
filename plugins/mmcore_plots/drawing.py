"""A figure: its panels and words, and the SVG or PNG that matplotlib makes of them."""

from __future__ import annotations

import io
import re
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from matplotlib import rc_context
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from mmcore_plots.results import natural
from mmcore_plots.style import SETTINGS

Draw: TypeAlias = Callable[[Axes], None]

WIDE, NARROW = 7.6, 3.75
"""Widths in inches: a page's, and a phone's."""
_PNG_DPI = 200
# The legend's letters, lines and samples, in inches.
_LEGEND_LETTER, _LEGEND_LINE, _LEGEND_HANDLE = 0.073, 0.185, 0.62
_LEGEND: Mapping[str, Any] = {"handlelength": 3.2, "columnspacing": 1.2, "labelspacing": 0.35}
_TAG = re.compile(r"<[^>]*>")
_COORDINATE = re.compile(r"-?\d+\.\d{3,}")


class Panel(NamedTuple):
    """One pair of axes: the title above it, what draws into it, and its height in inches.

    The title is empty where the figure's own does. Series with a label get into the figure's legend.
    """

    title: str
    draw: Draw
    height: float = 3.3


@dataclass(frozen=True)
class Drawing:
    """A figure.

    ``kind`` is what ``--figure`` calls it, ``text`` says how to read it, ``caption`` what was measured and when.
    Two panels stand side by side where there is room.
    """

    kind: str
    title: str
    text: str
    caption: str
    panels: tuple[Panel, ...]

    @rc_context(SETTINGS)
    def svg(self) -> str:
        """The whole figure with its words, on an opaque light background."""
        return _svg(_framed(self))

    @rc_context(SETTINGS)
    def png(self) -> bytes:
        """The same, as PNG."""
        file = io.BytesIO()
        _framed(self).savefig(file, format="png", dpi=_PNG_DPI, metadata={"Software": None})
        return file.getvalue()

    @rc_context(SETTINGS)
    def bare_svg(self, width: float) -> str:
        """The panels alone, ``width`` inches wide, for a page that sets the words itself."""
        return _svg(_drawn(self, width))


def _framed(drawing: Drawing) -> Figure:
    title, text = textwrap.wrap(drawing.title, 64), textwrap.wrap(drawing.text, 114)
    caption = textwrap.wrap(drawing.caption, 138)
    heading = 0.12 + 0.215 * len(title)
    figure = _drawn(drawing, WIDE, above=heading + 0.03 + 0.155 * len(text), below=0.12 + 0.135 * len(caption))
    left, height = 0.1 / WIDE, figure.get_figheight()
    figure.text(left, 1 - 0.09 / height, "\n".join(title), va="top", fontsize=12, fontweight="bold")
    figure.text(left, 1 - heading / height, "\n".join(text), va="top", fontsize=8.5, linespacing=1.25)
    figure.text(left, 0.07 / height, "\n".join(caption), va="bottom", fontsize=7.2, linespacing=1.25)
    return figure


def _drawn(drawing: Drawing, width: float, above: float = 0.0, below: float = 0.0) -> Figure:
    """The panels and their legend, with room in inches above and below them for words."""
    columns = 1 if width < WIDE else min(2, len(drawing.panels))
    rows = [drawing.panels[start : start + columns] for start in range(0, len(drawing.panels), columns)]
    heights = [max(panel.height for panel in row) for row in rows]
    figure = Figure(figsize=(width, sum(heights)))
    axes = figure.subplots(len(rows), columns, squeeze=False, height_ratios=heights)
    for place, panel in zip(axes.flat, drawing.panels, strict=False):
        place.set_title(panel.title)
        panel.draw(place)
    for place in axes.flat[len(drawing.panels) :]:
        place.remove()
    legend = _legend(figure)
    in_a_row = max(1, int(width / (_LEGEND_HANDLE + _LEGEND_LETTER * max(map(len, legend), default=0))))
    foot = below + (0.1 + _LEGEND_LINE * -(-len(legend) // in_a_row) if legend else 0.0)
    height = sum(heights) + above + foot
    figure.set_figheight(height)
    room = (0.0, foot / height, 1.0, 1 - (above + foot) / height)
    figure.set_layout_engine("constrained", rect=room, w_pad=0.06, h_pad=0.06)
    if legend:
        place = {"loc": "lower center", "bbox_to_anchor": (0.5, below / height), "borderaxespad": 0.1}
        figure.legend(list(legend.values()), list(legend), ncols=in_a_row, **_LEGEND, **place)
    return figure


def _legend(figure: Figure) -> dict[str, Artist]:
    """What a legend for all panels holds; nothing, where there is only one series to tell."""
    found: dict[str, Artist] = {}
    for axes in figure.axes:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    return {label: found[label] for label in sorted(found, key=natural)} if len(found) > 1 else {}


def _svg(figure: Figure) -> str:
    file = io.StringIO()
    figure.savefig(file, format="svg", metadata={"Date": None})
    # A hundredth of a point is finer than any screen; and whoever has not the font gets another without serifs.
    text = _TAG.sub(lambda tag: _COORDINATE.sub(lambda each: f"{round(float(each[0]), 2):g}", tag[0]), file.getvalue())
    return text.replace("'DejaVu Sans'", "'DejaVu Sans', Verdana, sans-serif")

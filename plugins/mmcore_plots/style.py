"""How figures look: colours that the colour-blind tell apart, and markers and lines that tell without colour."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import cycle
from typing import Any, NamedTuple

# Okabe and Ito's palette, but for its yellow and black, one of which is lost on each background.
PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7f7f7f")
# The colours of text and axes, of grid lines, and of the background: opaque, so that a figure reads the same anywhere.
INK, FAINT, PAPER = "#222222", "#c8c8c8", "#ffffff"

_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">")
_LINES: tuple[Any, ...] = ("-", (0, (5, 2)), (0, (1, 1.4)), (0, (6, 1.5, 1, 1.5)))
# Which part of a marker stays empty.
_FILLINGS = ("full", "right", "top", "left")

#: What matplotlib is told of every figure. Text stays text, so that it can be searched, selected and read aloud.
SETTINGS: Any = {
    **dict.fromkeys(("axes.edgecolor", "axes.labelcolor", "text.color", "xtick.color", "ytick.color"), INK),
    **dict.fromkeys(("figure.facecolor", "savefig.facecolor"), PAPER),
    **dict.fromkeys(("axes.labelsize", "font.size"), 9),
    **dict.fromkeys(("legend.fontsize", "xtick.labelsize", "ytick.labelsize"), 8.5),
    **dict.fromkeys(("axes.spines.right", "axes.spines.top", "legend.frameon"), False),
    **dict.fromkeys(("axes.axisbelow", "axes.grid", "path.simplify"), True),
    "axes.titlelocation": "left",
    "axes.titlesize": 9.5,
    "axes.titleweight": "bold",
    "axes.linewidth": 0.8,
    "grid.color": FAINT,
    "grid.linewidth": 0.5,
    "lines.linewidth": 1.6,
    "lines.markersize": 5,
    "font.family": "DejaVu Sans",
    "svg.fonttype": "none",
    "svg.hashsalt": "mmcore",
}


class Look(NamedTuple):
    """How one series is drawn, in matplotlib's terms."""

    color: str
    marker: str
    linestyle: Any
    fillstyle: str

    def published(self) -> dict[str, Any]:
        """Markers alone, larger and hollow or half filled: what a lecture published."""
        colors = {"color": self.color, "markerfacecolor": PAPER, "markerfacecoloralt": self.color}
        return {**colors, "marker": self.marker, "markersize": 6, "fillstyle": self.fillstyle, "linestyle": ""}

    def line(self) -> dict[str, Any]:
        """A line with markers."""
        return {"color": self.color, "marker": self.marker, "linestyle": self.linestyle}


def looks(series: Mapping[str, tuple[str, str]]) -> dict[str, Look]:
    """The look of each series by its label, given its kernel and its kind: a config, or a way of measuring.

    Colour and marker tell the kernel; the line, and what is filled of a published marker, tell the kind.
    """
    kernels, kinds = (dict.fromkeys(names) for names in zip(*series.values(), strict=True))
    colors = dict(zip(kernels, zip(cycle(PALETTE), cycle(_MARKERS), strict=False), strict=False))
    lines = dict(zip(kinds, zip(cycle(_LINES), cycle(_FILLINGS), strict=False), strict=False))
    return {label: Look(*colors[kernel], *lines[kind]) for label, (kernel, kind) in series.items()}


def family_colors(kernels: Iterable[str]) -> dict[str, str]:
    """The colour of each kernel: that of its family, which is what its name has before the dot."""
    families = {kernel: kernel.partition(".")[0] for kernel in kernels}
    colors = dict(zip(sorted(set(families.values())), cycle(PALETTE), strict=False))
    return {kernel: colors[family] for kernel, family in families.items()}

"""How figures look: colours that the colour-blind tell apart, and markers and lines that tell without colour."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import Any

# Okabe and Ito's palette, but for its yellow and black, one of which is lost on each background.
PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7f7f7f")
INK = "#222222"
"""Text and axes."""
FAINT = "#c8c8c8"
"""Grid lines."""
PAPER = "#ffffff"
"""The background, opaque: a figure reads the same wherever it is shown."""

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


@dataclass(frozen=True)
class Look:
    """How one series is drawn; ``color``, ``marker``, ``linestyle`` and ``fillstyle`` are matplotlib's."""

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


def looks(kernels: Iterable[str], kinds: Sequence[object]) -> dict[tuple[str, object], Look]:
    """A look for each kernel and kind (a block, a measure).

    Colour and marker tell the kernel; the line, and what is filled of a published marker, tell the kind.
    """
    return {
        (kernel, kind): Look(color, marker, line, filling)
        for kernel, color, marker in zip(kernels, cycle(PALETTE), cycle(_MARKERS), strict=False)
        for kind, line, filling in zip(kinds, cycle(_LINES), cycle(_FILLINGS), strict=False)
    }


def families(kernels: Iterable[str]) -> dict[str, str]:
    """The colour of each family of kernels, which is what their names have before the dot."""
    return dict(zip(sorted(set(map(family, kernels))), cycle(PALETTE), strict=False))


def family(kernel: str) -> str:
    """The first part of a kernel's name."""
    return kernel.partition(".")[0]

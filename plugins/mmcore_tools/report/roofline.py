"""A drawing of the speed of light: the roofs of a card, and the rate of one product below them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mmcore.kernel.problem import Problem
from mmcore.planning.peaks import Peaks
from mmcore.view import escaped

_WIDTH, _HEIGHT, _LEFT, _BOTTOM, _TOP = 560, 300, 60, 40, 24
_SIDES = ((-10, "end"), (10, "start"))  # of the names of the first rates
_DECADES = 2.5  # of rates that are drawn below the highest roof, at least


@dataclass(frozen=True)
class Rate:
    """A rate in FLOP/s with its name; the ends of an interval if it is predicted."""

    name: str
    low: float
    high: float

    def __str__(self) -> str:
        """Return "predicted: 6.6 to 9.9 TFLOP/s"."""
        ends = dict.fromkeys(map(_text, (self.low, self.high)))
        return f"{self.name}: {' to '.join(ends)} TFLOP/s"


def roofline(problem: Problem, unit: str, peaks: Peaks, rates: Sequence[Rate]) -> str:
    """Return the drawing of one or two rates of a product, as SVG; empty if the rate of the ``unit`` is unknown.

    The intensity is the product's: its operations for each byte of A, B and C, moved once.
    """
    peak = peaks.of(unit)
    if peak is None or not rates:
        return ""
    intensity = problem.flops / problem.compulsory_bytes
    ridge = peak / peaks.bytes_per_second
    lowest = min(peak / 10**_DECADES, *(rate.low / 2 for rate in rates))
    axes = _Axes(min(intensity, ridge) / 8, max(intensity, ridge) * 8, lowest, peak * 4)
    roof = [(axes.left, axes.left * peaks.bytes_per_second), (ridge, peak), (axes.right, peak)]
    parts = [*axes.grid(), axes.path(roof)]
    parts.append(axes.text(axes.right, peak, f"{_text(peak)} TFLOP/s {unit}", "end", -6))
    memory = f"{_text(peaks.bytes_per_second)} TB/s of device memory"
    parts.append(axes.text(axes.left, axes.left * peaks.bytes_per_second, memory, "start", 18))
    reached = min(peak, intensity * peaks.bytes_per_second)
    parts.append(axes.gap(intensity, max(rate.high for rate in rates), reached))
    for rate, (side, anchor) in zip(rates, _SIDES, strict=False):
        parts += axes.mark(intensity, rate, side, anchor)
    words = escaped("; ".join(map(str, rates)))
    size = f'viewBox="0 0 {_WIDTH} {_HEIGHT}" width="100%" style="max-width:{_WIDTH}px"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{words}" {size}>'
    return "".join([head, *parts, "</svg>"])


@dataclass(frozen=True)
class _Axes:
    """Two logarithmic axes: flop per byte and FLOP/s."""

    left: float
    right: float
    bottom: float
    top: float

    def x(self, value: float) -> float:
        part = math.log(value / self.left) / math.log(self.right / self.left)
        return _LEFT + part * (_WIDTH - _LEFT - 12)

    def y(self, value: float) -> float:
        part = math.log(max(value, self.bottom) / self.bottom) / math.log(self.top / self.bottom)
        return _HEIGHT - _BOTTOM - part * (_HEIGHT - _BOTTOM - _TOP)

    def grid(self) -> Iterator[str]:
        for power in range(math.ceil(math.log10(self.bottom)), math.floor(math.log10(self.top)) + 1):
            y = self.y(10.0**power)
            yield f'<line x1="{_LEFT}" x2="{_WIDTH - 12}" y1="{y:.1f}" y2="{y:.1f}" stroke="var(--faint)"/>'
            yield f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{10.0 ** (power - 12):g}</text>'
        for power in range(math.ceil(math.log10(self.left)), math.floor(math.log10(self.right)) + 1):
            x = self.x(10.0**power)
            yield f'<text x="{x:.1f}" y="{_HEIGHT - _BOTTOM + 16}" text-anchor="middle">{10.0**power:g}</text>'
        yield f'<text x="{_WIDTH - 12}" y="{_HEIGHT - 6}" text-anchor="end">flop per byte of A, B and C</text>'
        yield f'<text x="4" y="{_TOP - 4}">TFLOP/s</text>'

    def path(self, points: Sequence[tuple[float, float]]) -> str:
        line = " ".join(f"{self.x(x):.1f},{self.y(y):.1f}" for x, y in points)
        return f'<polyline points="{line}" fill="none" stroke="var(--ink)" stroke-width="2"/>'

    def text(self, x: float, y: float, text: str, anchor: str, above: float) -> str:
        return f'<text x="{self.x(x):.1f}" y="{self.y(y) + above:.1f}" text-anchor="{anchor}">{escaped(text)}</text>'

    def gap(self, intensity: float, rate: float, reached: float) -> str:
        """Return a dotted line from a rate to the roof above it."""
        x, low, high = self.x(intensity), self.y(rate), self.y(reached)
        ends = f'x1="{x:.1f}" x2="{x:.1f}" y1="{low:.1f}" y2="{high:.1f}"'
        return f'<line {ends} stroke="var(--ink)" stroke-dasharray="2 5"/>'

    def mark(self, intensity: float, rate: Rate, side: float, anchor: str) -> Iterator[str]:
        """Yield a dot, or a bar from the low to the high end, with its name on one side."""
        x, low, high = self.x(intensity), self.y(rate.low), self.y(rate.high)
        ends = f'x1="{x:.1f}" x2="{x:.1f}" y1="{low:.1f}" y2="{high:.1f}"'
        yield f'<line {ends} stroke="var(--bad)" stroke-width="8" stroke-linecap="round"/>'
        place = f'x="{x + side:.1f}" y="{(low + high) / 2 + 4:.1f}" text-anchor="{anchor}"'
        yield f"<text {place}>{escaped(str(rate))}</text>"


def _text(rate: float) -> str:
    """Return a rate in units of 10¹² to three digits."""
    value = rate / 1e12
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"

"""The documentation's figures, made from the committed results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from bench.studies.study import RESULTS, ROOT
from mmcore_tools.plots.figures import figure
from mmcore_tools.plots.reading import read

ALL_KERNELS = ("baseline.json", "poznan-v1.json")
EXPERIMENTS = (
    *("upc-sizes", "upc-remainders", "upc-transfers", "unsa-blocks", "lezione9-coalescing", "poznan-first"),
    *("poznan-second", "ladder", "ladder-sizes"),
)


class Source(NamedTuple):
    """The options of ``mmcore plot RESULTS… --figure KIND --size SIZE``; an empty kind is the default figure."""

    results: Sequence[str]
    kind: str = ""
    size: int | None = None


FIGURES: Mapping[str, Source] = {
    "docs/figures/bars-640.svg": Source(ALL_KERNELS, "bars", 640),
    "docs/figures/roofline-640.svg": Source(ALL_KERNELS, "roofline", 640),
    **{f"docs/figures/{name}.svg": Source((f"experiments/{name}.json",)) for name in EXPERIMENTS},
}


def svg(source: Source) -> str:
    """Return the figure as SVG."""
    (results,) = read([RESULTS / "nvidia-h200" / name for name in source.results])
    return figure(results, source.kind, source.size).svg()


def main() -> None:
    """Write every figure."""
    for name, source in FIGURES.items():
        (ROOT / name).parent.mkdir(exist_ok=True)
        (ROOT / name).write_text(svg(source), encoding="utf-8")

"""The documentation's figures, made from the committed results.

``python -m bench.studies.figures`` writes them; a test tells when a figure and the results part company.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from mmcore_tools.plots.figures import figure
from mmcore_tools.plots.reading import read

ROOT = Path(__file__).parents[2]
H200 = ROOT / "bench" / "results" / "nvidia-h200"
ALL_KERNELS = ("baseline.json", "poznan-v1.json")
EXPERIMENTS = (
    "upc-sizes",
    "upc-remainders",
    "upc-transfers",
    "unsa-blocks",
    "lezione9-coalescing",
    "poznan-first",
    "poznan-second",
    "ladder",
    "ladder-sizes",
)


class Source(NamedTuple):
    """What a figure is made from: ``mmcore plot RESULTS… --figure KIND --size SIZE``; without a kind, the usual one."""

    results: Sequence[str]
    kind: str = ""
    size: int | None = None


FIGURES: Mapping[str, Source] = {
    "docs/figures/bars-640.svg": Source(ALL_KERNELS, "bars", 640),
    "docs/figures/roofline-640.svg": Source(ALL_KERNELS, "roofline", 640),
    **{f"docs/figures/{name}.svg": Source((f"experiments/{name}.json",)) for name in EXPERIMENTS},
}


def svg(source: Source) -> str:
    """The figure."""
    (results,) = read([H200 / name for name in source.results])
    return figure(results, source.kind, source.size).svg()


if __name__ == "__main__":
    for name, source in FIGURES.items():
        (ROOT / name).parent.mkdir(exist_ok=True)
        (ROOT / name).write_text(svg(source), encoding="utf-8")

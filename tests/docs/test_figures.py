"""The documentation's figures are those of the committed results."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from bench.studies.figures import FIGURES, svg
from bench.studies.study import ROOT

_MOST_BYTES = 300_000
# The emulator counts sixteen kernels for it.
_SLOW = pytest.mark.slow


def drawn_by(figure: str) -> str:
    """Return the version of matplotlib that drew a figure."""
    found = re.search(r"Matplotlib v([\d.]+)", figure)
    assert found is not None
    return found[1]


def words(figure: str) -> list[str]:
    """Return the text of a figure: labels, numbers and caption."""
    return [
        "".join(text.itertext()) for text in ElementTree.fromstring(figure).iter("{http://www.w3.org/2000/svg}text")
    ]


@pytest.mark.parametrize("name", [pytest.param(name, marks=_SLOW if "roofline" in name else ()) for name in FIGURES])
def test_a_figure_is_made_from_the_committed_results(name: str) -> None:
    committed, made = (ROOT / name).read_text(encoding="utf-8"), svg(FIGURES[name])
    assert len(committed.encode()) < _MOST_BYTES
    assert words(committed) == words(made)
    if drawn_by(committed) == drawn_by(made):
        # Names of clip paths are digests of places before they are rounded.
        assert re.sub("p[0-9a-f]{10}", "p", committed) == re.sub("p[0-9a-f]{10}", "p", made)
    # Other versions of matplotlib round and name differently, but write the same text.


def test_every_figure_is_shown_by_a_page() -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    text = "".join(page.read_text(encoding="utf-8") for page in pages).replace("](docs/", "](")
    assert [name for name in FIGURES if f"]({name.removeprefix('docs/')})" not in text] == []

"""The gallery has the reports that its page names, each with the verdict and the line that it is for."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import Any

import pytest

DOCS = Path(__file__).parents[2] / "docs"
GALLERY: dict[str, Any] = runpy.run_path(str(DOCS / "gallery.py"))
SEEN = {
    "tiled": ("TEST PASS", "loads from shared memory"),
    "remainder": ("TEST FAIL", "out-of-bounds-read at remainder.cu:10"),
    "race": ("TEST FAIL", "shared-race at race.cu:8"),
    "rows": ("TEST PASS", "lines 9, 10, about"),
    "banks": ("TEST PASS", "banks"),
    "local": ("TEST PASS", "local memory"),
    "hang": ("TEST FAIL", "hang.cu:11"),
    "cupy": ("TEST FAIL", "line 22 passes a, an array of float64"),
    "wgmma": ("TEST PASS", "tensor cores"),
    "float64": ("TEST PASS", "combine"),
}


def test_the_page_names_every_report() -> None:
    named = re.findall(r'href="gallery/(\w+)\.html"', (DOCS / "gallery.md").read_text("utf-8"))
    assert named == list(GALLERY["REPORTS"]) == list(SEEN)


@pytest.mark.slow
@pytest.mark.parametrize("name", SEEN)
def test_a_report_shows_what_it_is_for(name: str, tmp_path: Path) -> None:
    verdict, shown = SEEN[name]
    # It may name a size that was not tried.
    assert re.search(rf": {verdict}( at |$)", GALLERY["write"](name, tmp_path))
    page = (tmp_path / f"{name}.html").read_text("utf-8")
    assert shown in page
    assert not re.search(r'(?:src|href)="(?!#|data:)', page), "the page loads nothing"

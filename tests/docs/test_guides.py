"""Whoever follows a how-to page sees what the page shows."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.docs.walkthrough import Reader

PAGES = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("name", ["hanging-pipeline", "review-a-claim", "ci-without-a-gpu"])
def test_whoever_follows_the_page_sees_what_it_shows(name: str, tmp_path: Path) -> None:
    # A command that takes itself for a worker of pytest-xdist measures nothing.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    reader = Reader(tmp_path, environment, lambda typed, printed: printed)
    reader.follow((PAGES / f"{name}.md").read_text(encoding="utf-8"))

"""docs/studies.md lists every study and every committed file of results."""

from __future__ import annotations

from collections import Counter

import pytest

from bench.studies.study import RESULTS, ROOT
from bench.studies.tables.studies import STUDIES, Study

FOLDER = ROOT / "bench" / "studies"


def test_every_study_is_listed() -> None:
    modules = {path.stem for path in FOLDER.glob("*.py")} - {"__init__", "__main__", "study"}
    packages = {path.parent.name for path in FOLDER.glob("*/main.py")}
    assert modules | packages <= set(STUDIES)


@pytest.mark.parametrize("study", STUDIES.values(), ids=STUDIES)
def test_every_pattern_of_results_has_files(study: Study) -> None:
    assert [pattern for pattern in study.results if not any(RESULTS.glob(pattern))] == []


def test_every_committed_file_comes_from_one_study() -> None:
    counts = Counter(path for study in STUDIES.values() for path in study.files)
    assert counts == dict.fromkeys(RESULTS.rglob("*.json"), 1)

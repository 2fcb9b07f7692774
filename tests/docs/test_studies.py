"""docs/studies.md lists every study and every committed file of results."""

from __future__ import annotations

from collections import Counter

import pytest

from bench.studies.study import RESULTS, ROOT
from bench.studies.tables.studies import COMMANDS, MODULES, Study, files

STUDIES = ROOT / "bench" / "studies"


def test_every_study_is_listed() -> None:
    modules = {path.stem for path in STUDIES.glob("*.py")} - {"__init__", "study"}
    packages = {path.parent.name for path in STUDIES.glob("*/__main__.py")}
    assert modules | packages <= set(MODULES)


@pytest.mark.parametrize("study", [*MODULES.values(), *COMMANDS], ids=lambda study: study.command)
def test_every_pattern_of_results_has_files(study: Study) -> None:
    assert [pattern for pattern in study.results.split() if not any(RESULTS.glob(pattern))] == []


def test_every_committed_file_comes_from_one_study() -> None:
    counts = Counter(path for study in (*MODULES.values(), *COMMANDS) for path in files(study))
    assert counts == dict.fromkeys(RESULTS.rglob("*.json"), 1)

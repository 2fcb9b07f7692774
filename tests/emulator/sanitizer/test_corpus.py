"""Every hazard of every kernel of the corpus is reported on its line, and nothing else is."""

from __future__ import annotations

from pathlib import Path

import pytest

from mmcore.devices.violations import Violation
from tests.emulator.sanitizer.corpus import FOLDER, Case, Expected, cases

CASES = [case for file in sorted(FOLDER.glob("*.cu")) for case in cases(file)]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.file.stem}: {case.name}")
def test_a_check_reports_exactly_the_hazards_of_a_kernel(case: Case, tmp_path: Path) -> None:
    hazards, lines = case.check(tmp_path)
    assert unmatched(list(case.expected), hazards, lines) == ([], [])


def unmatched(
    expected: list[Expected], hazards: list[Violation], lines: dict[str, set[int]]
) -> tuple[list[Expected], list[Violation]]:
    """Return the expected hazards without a report, and the reported ones that were not expected."""
    missing = []
    for each in sorted(expected, key=lambda each: -len(each.texts) - len(each.marks)):
        found = next((hazard for hazard in hazards if each.describes(hazard, lines)), None)
        if found is None:
            missing.append(each)
        else:
            hazards = [hazard for hazard in hazards if hazard is not found]
    return missing, hazards

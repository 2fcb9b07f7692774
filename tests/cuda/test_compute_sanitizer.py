"""compute-sanitizer's output as violations, and ``check --with`` where it is not installed."""

from __future__ import annotations

import pytest

from mmcore.kernel.geometry import Dim3
from mmcore_cuda.ncu.compute_sanitizer import violations
from tests.command_line import mmcore
from tests.tables import section_of


def test_its_output_becomes_a_violation_for_each_kind_and_line() -> None:
    stray, race = violations(section_of(__file__, "output"))
    assert (stray.kind, stray.source, stray.line, stray.count) == ("out-of-bounds-read", "product.cu", 14, 2)
    assert (stray.thread, stray.block) == (Dim3(1, 0, 0), Dim3(2, 3, 0))
    assert "out of bounds" in stray.message
    assert "Host Frame" not in stray.message
    assert (race.kind, race.line, race.thread) == ("shared-race", 10, None)
    assert race.message == (
        "Error: Race reported between Write access at product.cu:10; and Read access at product.cu:12"
    )
    assert violations("========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n") == []


@pytest.mark.parametrize(
    ("tool", "said"),
    [
        ("valgrind", "there is no 'valgrind' to check with; there is compute-sanitizer"),
        ("compute-sanitizer", "compute-sanitizer is not on the PATH"),
    ],
)
def test_a_tool_that_cannot_be_used_is_one_sentence(tool: str, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    result = mmcore("check", "upc.kernel01", "--with", tool)
    assert result.exit_code == 2
    assert said in result.stderr

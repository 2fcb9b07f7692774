"""Violations in neighbouring lines are shown together if they differ by the line alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from mmcore.cli.source_quote import folded
from mmcore.devices.violations import Violation
from tests.command_line import mmcore
from tests.wrong_kernels import RIGHT

STORE = "C[row * n + column] = sum;"


def violation(line: int | None, message: str = "is wrong", column: int = 3, count: int = 1) -> Violation:
    return Violation("wgmma-order", message, source="own.cu", line=line, column=column, count=count)


def test_neighbouring_lines_with_the_same_message_are_folded() -> None:
    lines = [violation(7), violation(8, column=9), violation(10, count=2), violation(40), violation(41)]
    assert folded(lines) == [(lines[0], "also in 2 more lines, to line 10"), (lines[3], "also in line 41")]


@pytest.mark.parametrize("other", [violation(8, "is late"), violation(10), violation(7), violation(None)])
def test_others_are_shown_apart(other: Violation) -> None:
    assert folded([violation(7), other]) == [(violation(7), ""), (other, "")]


@pytest.mark.parametrize("command", ["check", "run"])
def test_a_command_shows_the_first_of_them(command: str, tmp_path: Path) -> None:
    path = tmp_path / "own.cu"
    stray = "C[m * n] = sum;"
    path.write_text(RIGHT.replace(STORE, f"{STORE}\n{stray}\n__syncwarp();\n{stray}"))
    result = mmcore(command, str(path), "--size", "20", "--seed", "1", "--device", "emulator", "--quiet")
    assert result.exit_code == 1
    line = next(number for number, text in enumerate(path.read_text().splitlines(), 1) if text == stray)
    assert result.stdout.count("out-of-bounds-write") == 1
    assert f"\n  also in line {line + 2}\n" in result.stdout

"""``mmcore run my.py``: kernels in Python files, compiled and judged without running the file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mmcore.registry import registry
from mmcore_sources.cuda_file.files import file_kernel
from mmcore_sources.cuda_file.inference.expressions import LaunchText
from tests.command_line import mmcore as command
from tests.tables import cases


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(registry(), "files", {})
    return tmp_path


def written(program: str) -> str:
    """Write a program whose first line is line 1, and return its path."""
    Path("my.py").write_text(program.removeprefix("\n"))
    return "my.py"


def check_verdict(case: dict[str, Any]) -> None:
    """Require the verdict on a program, the line of a fault, and warnings."""
    result = command("run", written(case["text"]), "--json", "--device", "emulator")
    verdict, _, line = case["verdict"].partition(" ")
    assert result.exit_code == (verdict != "right"), result.output
    answer = json.loads(result.stdout)
    faults = {(each["kind"], str(each["line"])) for each in answer["violations"]}
    assert not line or (verdict, line) in faults, faults
    assert set(case.get("warnings", ())) <= set(answer["warnings"])


def check_launch(case: dict[str, Any]) -> None:
    """Require the block and the grid that are inferred from a program."""
    kernel = file_kernel({"file": written(case["text"])}, {}).kernel
    assert isinstance(kernel.launch, LaunchText)
    assert (str(kernel.usual_configs[0].block), kernel.launch.grid) == tuple(case["launch"])


@cases(__file__, "programs", "case")
def test_a_program_of_each_library_is_judged_at_its_own_lines(case: dict[str, Any]) -> None:
    check_verdict(case)


@cases(__file__, "programs", "case")
def test_launches_in_python_are_read(case: dict[str, Any]) -> None:
    check_launch(case)


@cases(__file__, "refusals", "program, reason")
def test_what_keeps_a_program_from_being_judged_is_one_sentence(program: str, reason: str) -> None:
    result = command("run", written(program))
    assert (result.exit_code, result.stderr) == (2, f"Error: my.py {reason}\n")

"""CuTe DSL kernels of Python files: compiled without a GPU and without running the file. cuTile's are refused."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from tests.command_line import mmcore as command
from tests.sources.test_cutedsl import needs_dsl
from tests.sources.test_python_file import check_launch, check_verdict, written
from tests.tables import cases, section_of


@needs_dsl
@cases(__file__, "programs", "case")
def test_a_program_is_judged_at_its_own_lines(case: dict[str, Any]) -> None:
    check_verdict(case)


@cases(__file__, "programs", "case")
def test_launches_are_read_without_the_dsl(case: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cutlass", None)
    check_launch(case)


def test_without_the_dsl_the_command_that_installs_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cutlass", None)
    program = section_of(__file__, "programs")["a_thread_for_each_element"]["text"]
    result = command("run", written(program), "--device", "emulator")
    assert result.exit_code == 2
    assert "python -m pip install 'mmcore-cuda[cutedsl]'" in result.stderr


@cases(__file__, "refusals", "program, reason")
def test_what_cannot_be_compiled_is_one_sentence(program: str, reason: str) -> None:
    result = command("run", written(program), "--device", "emulator")
    assert (result.exit_code, result.stderr) == (2, f"Error: {reason}\n")

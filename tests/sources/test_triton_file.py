"""Triton kernels of Python files: compiled without a GPU and without running the file."""

from __future__ import annotations

import json
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from mmcore_sources.cuda_file.files import file_kernel
from mmcore_sources.cuda_file.inference.expressions import LaunchText
from tests.command_line import mmcore as command
from tests.sources.test_python_file import written
from tests.tables import cases

needs_triton = pytest.mark.skipif(
    find_spec("triton") is None, reason="Triton is not installed; python -m pip install 'mmcore-cuda[triton]' brings it"
)


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "triton"))


@needs_triton
@cases(__file__, "programs", "case")
def test_a_program_is_judged_at_its_own_lines(case: dict[str, Any]) -> None:
    result = command("run", written(case["text"]), "--size", case["size"], "--json", "--device", "emulator")
    verdict, _, line = case["verdict"].partition(" ")
    assert result.exit_code == (verdict != "right"), result.output
    faults = {(each["kind"], str(each["line"])) for each in json.loads(result.stdout)["violations"]}
    assert not line or (verdict, line) in faults, faults


@cases(__file__, "programs", "case")
def test_launches_are_read_without_triton(case: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "triton", None)
    kernel = file_kernel({"file": written(case["text"])}, {}).kernel
    assert isinstance(kernel.launch, LaunchText)
    assert kernel.launch.grid == case["grid"]

"""The commands that a verdict prints for its findings: each shows these findings again."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from tests.command_line import mmcore as command
from tests.kernel_sources import kernel_source
from tests.tables import section_of

_TILED, _NAIVE = (
    kernel_source("tiled_16"),
    section_of(str(Path(__file__).with_name("test_repairs.py")), "naive")["text"],
)
_FINDING = re.compile(r"^(?:warning: )?([a-z-]+)(?: of \w+)? at my\.cu:(\d+)", re.MULTILINE)
_COMMAND = re.compile(r"^ +mmcore ((?:run|check) .*)$", re.MULTILINE)
_ZEROS = re.compile(r"(\w+\[threadIdx\.y\]\[threadIdx\.x\]) = (.*) \? (.*) : 0;")


def _findings(*words: str) -> tuple[set[tuple[str, str]], list[str]]:
    """Return the kinds and lines of a verdict's findings, and the commands beside them."""
    output = command(*words).stdout
    findings = output.partition("\nhint:")[0]
    return set(_FINDING.findall(findings)), _COMMAND.findall(findings)


@pytest.mark.parametrize(
    ("text", "kind", "size"),
    [
        *((_ZEROS.sub(r"if (\2) \1 = \3;", _TILED), "stale-read", size) for size in ("", "43", "225", "64")),
        (_TILED.replace("    __syncthreads();  // until all have read\n", ""), "shared-race", ""),
        (_NAIVE.replace("col >= n) return", "col > n) return"), "out-of-bounds", "225"),
        (_NAIVE.replace("float sum = 0", "float sum"), "uninitialized", ""),
    ],
    ids=["anywhere", "small", "large", "whole tiles", "race", "out of bounds", "uninitialized"],
)
def test_the_printed_command_shows_the_findings_again(text: str, kind: str, size: str, folder: Path) -> None:
    (folder / "my.cu").write_text(text)
    found, commands = _findings("run", "my.cu", *(["--size", size] if size else []), "--device", "emulator")
    assert any(name.startswith(kind) for name, _ in found)
    assert commands
    for each in commands:
        assert found <= _findings(*shlex.split(each))[0]

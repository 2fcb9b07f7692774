"""Changes of a source that a hint names, applied to it as text."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.command_line import mmcore as command
from tests.tables import section_of

KERNELS = ("naive", "tiled", "numba")
MISTAKES = [(kernel, name) for kernel in KERNELS for name in section_of(__file__, kernel)["mistakes"]]


def run(file: str, text: str) -> Any:
    Path(file).write_text(text)
    return command("run", file, "--device", "emulator", "--seed", "1", "--quiet", "--timeout", "600")


def applied(text: str, output: str) -> str:
    """Return a source with the line of the first hint."""
    change = re.search(r"^hint: the product is right at .* in line (\d+):\n    (.*)$", output, re.M)
    assert change, output
    lines = text.split("\n")
    line = int(change[1]) - 1
    lines[line] = lines[line][: -len(lines[line].lstrip())] + change[2]
    return "\n".join(lines)


@pytest.mark.slow
@pytest.mark.parametrize(("kernel", "mistake"), MISTAKES)
def test_a_named_change_of_a_line_makes_the_whole_verdict_pass(kernel: str, mistake: str) -> None:
    if kernel == "numba" and find_spec("numba") is None:
        pytest.skip("python -m pip install 'mmcore-cuda[numba]' brings it")
    section = section_of(__file__, kernel)
    text, (right, wrong) = section["text"].removeprefix("\n"), section["mistakes"][mistake]
    assert text.count(right) == 1
    mutant = text.replace(right, wrong)
    result = run(section["file"], mutant)
    assert result.exit_code == 1
    repaired = run(section["file"], applied(mutant, result.stdout))
    assert repaired.exit_code == 0, result.stdout + repaired.stdout


def test_exchanged_bounds_of_a_guard_are_exchanged_and_not_joined_by_or() -> None:
    section = section_of(__file__, "naive")
    output = run("my.cu", section["text"].removeprefix("\n").replace(*section["mistakes"]["exchanged_bounds"])).stdout
    assert " with m and n instead of n and m in line 5:\n    if (row < m && col < n) {\n" in output


def test_a_change_that_makes_a_kernel_without_guards_right_at_whole_tiles_is_said_to_do_so() -> None:
    text = section_of(__file__, "whole")["text"].removeprefix("\n")
    output = run("my.cu", text.replace("B[i * n", "B[i * k")).stdout
    assert (
        "hint: the product is right at whole tiles, at 32×48×64 and at 96×48×96, with n instead of k in line 6"
        in output
    )

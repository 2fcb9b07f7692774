"""The examples of docs/emulate-any-kernel.md print the output that the page shows."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path
from typing import Any

import pytest

from mmcore_emulator.machine.violations import Violation
from mmcore_emulator.profiler.counters import NAMES

PAGE = (Path(__file__).parents[2] / "docs" / "emulate-any-kernel.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^```python\n(.*?)^```(?:\n\n```text\n(.*?)^```)?", PAGE, re.MULTILINE | re.DOTALL)
# The counts of a report change from one release of the compiler to the next.
COUNTS = re.compile(r"(?<=^  )(\w.*\S) +[\d,]+$", re.MULTILINE)


def test_the_examples_print_what_the_page_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for example, shown in EXAMPLES:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(example, names)
        assert COUNTS.sub("", printed.getvalue()) == COUNTS.sub("", shown), example
    names["test_vector_add_at_a_size_that_no_block_divides"]()


def test_the_counters_of_the_page_exist() -> None:
    table = PAGE.partition("| counters | what they count |")[2].partition("\n\n")[0]
    named = [name for name in re.findall(r"`(\w+)`", table) if not name.startswith("cp")]
    assert set(named) <= {*NAMES}


def test_a_hazard_has_the_attributes_that_the_page_names() -> None:
    assert {"kind", "message", "array", "source", "line", "block", "thread", "count"} <= {*Violation.__annotations__}

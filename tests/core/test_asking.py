"""The place of an error in a plugin's code."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

import mmcore
from mmcore.errors import asking, place


def test_ctrl_c_is_the_users() -> None:
    with pytest.raises(KeyboardInterrupt), asking("the test", "nothing"):
        raise KeyboardInterrupt


def raised_in(*files: str) -> str:
    """Return the location of an error that is raised through functions in these files, each calling the next."""
    made: dict[str, Any] = {}
    for file, what in zip(reversed(files), ["1 / 0", *["call()"] * len(files)], strict=False):
        exec(compile(f"\n\ndef called(): {what}", file, "exec"), made := {"call": made.get("called")})
    with pytest.raises(ZeroDivisionError) as raised:
        made["called"]()
    return place(raised.value.with_traceback(raised.tb.tb_next))


STANDARD, OURS = Path(os.__file__).parent, Path(mmcore.__file__).parent


@pytest.mark.parametrize(
    ("files", "said"),
    [
        (["/acme/rule.py"], "rule.py:3"),
        (["/acme/rule.py", "/acme/tiles.py"], "tiles.py:3"),
        (["/acme/rule.py", f"{STANDARD}/json/decoder.py"], "rule.py:3"),
        (["/acme/rule.py", f"{OURS}/kernel/launch.py"], "rule.py:3"),
        (["/acme/rule.py", "/site/pluggy/_callers.py", "<string>"], "rule.py:3"),
        ([f"{STANDARD}/site-packages/acme/rule.py", f"{OURS}/registry.py"], "rule.py:3"),
        ([f"{STANDARD}/dist-packages/acme/rule.py"], "rule.py:3"),
        ([f"{STANDARD}/site-packages/pluggy/_callers.py", f"{OURS}/registry.py", f"{STANDARD}/abc.py"], ""),
    ],
)
def test_the_place_of_an_error_is_the_innermost_call_of_the_plugins_own(files: list[str], said: str) -> None:
    assert raised_in(*files) == said

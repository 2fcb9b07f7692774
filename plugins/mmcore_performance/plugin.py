"""The plugin: the command ``mmcore why``, and its first reason in ``mmcore run``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from mmcore.hookspecs import hookimpl

if TYPE_CHECKING:
    from mmcore.result import Result


@hookimpl
def mmcore_commands() -> Mapping[str, str]:
    """Return ``mmcore why``."""
    return {"why": "mmcore_performance.why_command:why"}


@hookimpl
def mmcore_remarks(result: Result) -> Iterable[str]:
    """Return the first reason why a right kernel is slow, on a known card or the emulator."""
    from mmcore_performance.remark import remarks

    return remarks(result)

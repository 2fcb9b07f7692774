"""The plugin: the command ``mmcore why``."""

from __future__ import annotations

from collections.abc import Mapping

from mmcore.hookspecs import hookimpl


@hookimpl
def mmcore_commands() -> Mapping[str, str]:
    """Return ``mmcore why``."""
    return {"why": "mmcore_performance.why_command:why"}

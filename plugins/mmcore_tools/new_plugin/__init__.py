"""The command ``mmcore new-plugin``."""

from __future__ import annotations

from collections.abc import Mapping

from mmcore.hookspecs import hookimpl


@hookimpl
def mmcore_commands() -> Mapping[str, str]:
    """``mmcore new-plugin``."""
    return {"new-plugin": "mmcore_tools.new_plugin.command:new_plugin"}

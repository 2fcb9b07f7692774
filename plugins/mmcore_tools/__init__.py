"""Commands about the installation: ``mmcore doctor``."""

from __future__ import annotations

from collections.abc import Mapping

from mmcore.hookspecs import hookimpl


@hookimpl
def mmcore_commands() -> Mapping[str, str]:
    """Return ``mmcore doctor``."""
    return {"doctor": "mmcore_tools.doctor:doctor"}

"""A class's submissions, graded by a rubric: ``mmcore grade``."""

from __future__ import annotations

from collections.abc import Mapping

from mmcore.hookspecs import hookimpl


@hookimpl
def mmcore_commands() -> Mapping[str, str]:
    """Return ``mmcore grade``."""
    return {"grade": "mmcore_grading.command:grade"}

"""Exercises on matrix-product kernels, from a thread for each element to a tensor core: ``mmcore exercise``."""

from __future__ import annotations

from collections.abc import Mapping

from mmcore.hookspecs import hookimpl


@hookimpl
def mmcore_commands() -> Mapping[str, str]:
    """Return ``mmcore exercise``."""
    return {"exercise": "mmcore_exercises.command:exercise"}

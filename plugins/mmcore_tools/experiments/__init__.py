"""Presets: the lectures' experiments, declared by plugins and run by the command ``mmcore experiment``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from mmcore.hookspecs import hookimpl, hookspec
from mmcore_tools.experiments.preset import InvalidPreset, Preset, UnknownPreset

__all__ = ["InvalidPreset", "Preset", "UnknownPreset"]


@hookspec
def mmcore_presets() -> Iterable[Preset]:  # type: ignore[empty-body]
    """Return the presets that this plugin adds."""


@hookimpl
def mmcore_commands() -> Mapping[str, str]:
    """``mmcore experiment``."""
    return {"experiment": "mmcore_tools.experiments.command:experiment"}

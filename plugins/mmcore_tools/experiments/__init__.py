"""Presets: experiments that plugins declare and the command ``mmcore experiment`` runs."""

from mmcore_tools.experiments.preset import InvalidPreset, Preset, UnknownPreset

__all__ = ["InvalidPreset", "Preset", "UnknownPreset"]

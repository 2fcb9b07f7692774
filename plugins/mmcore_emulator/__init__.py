"""A CUDA emulator: it runs PTX on any machine with numpy, bit by bit, and finds hazards and costs by source line."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mmcore_emulator.adapter.api import check, profile
    from mmcore_emulator.adapter.check import Check
    from mmcore_emulator.adapter.profile import Profile

__all__ = ["Check", "Profile", "check", "profile"]

_LAZY = {
    "check": "mmcore_emulator.adapter.api",
    "profile": "mmcore_emulator.adapter.api",
    "Check": "mmcore_emulator.adapter.check",
    "Profile": "mmcore_emulator.adapter.profile",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_LAZY[name]), name)

"""A CUDA emulator: it runs PTX on any machine with numpy, bit by bit, and finds hazards and costs by source line.

:func:`launch` runs any kernel on numpy arrays. ``check`` and ``profile`` do the same for the kernels of mmcore.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mmcore_emulator.adapter.api import check, profile
    from mmcore_emulator.adapter.check import Check
    from mmcore_emulator.adapter.profile import Profile
    from mmcore_emulator.api.launch import launch
    from mmcore_emulator.api.report import Report
    from mmcore_emulator.api.tensor_map import TensorMap
    from mmcore_emulator.errors import CompileError, EmulatorError, LaunchError, PtxError, UnsupportedInstruction
    from mmcore_emulator.machine.violations import Violation

__all__ = [
    "Check",
    "CompileError",
    "EmulatorError",
    "LaunchError",
    "Profile",
    "PtxError",
    "Report",
    "TensorMap",
    "UnsupportedInstruction",
    "Violation",
    "check",
    "launch",
    "profile",
]

_LAZY = {
    "check": "mmcore_emulator.adapter.api",
    "profile": "mmcore_emulator.adapter.api",
    "Check": "mmcore_emulator.adapter.check",
    "Profile": "mmcore_emulator.adapter.profile",
    "launch": "mmcore_emulator.api.launch",
    "Report": "mmcore_emulator.api.report",
    "TensorMap": "mmcore_emulator.api.tensor_map",
    "CompileError": "mmcore_emulator.errors",
    "EmulatorError": "mmcore_emulator.errors",
    "LaunchError": "mmcore_emulator.errors",
    "PtxError": "mmcore_emulator.errors",
    "UnsupportedInstruction": "mmcore_emulator.errors",
    "Violation": "mmcore_emulator.machine.violations",
}


if not TYPE_CHECKING:  # a type checker is to find misspelt names

    def __getattr__(name: str) -> Any:
        if name not in _LAZY:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(_LAZY[name]), name)

"""Errors of the emulator."""

from __future__ import annotations


class EmulatorError(Exception):
    """Base of every error that the emulator raises on purpose."""


class PtxError(EmulatorError):
    """PTX that cannot be read, or contradicts itself."""


class CompileError(EmulatorError):
    """CUDA C++ that NVRTC does not compile, with NVRTC's log; or NVRTC is not installed."""


class UnsupportedInstruction(EmulatorError):
    """An instruction, variable or type that the emulator does not support; the text names it and its line."""


class LaunchError(EmulatorError):
    """A launch that the device cannot make: its geometry, its arguments, or memory that the host lacks."""


class TimeLimit(EmulatorError):
    """A launch that was stopped because its time was over."""


class WorkLimit(TimeLimit):
    """A launch that was stopped because it had done the most work."""

"""What mmcore raises: every error a user can cause is an :class:`MmcoreError` whose text is one sentence.

The command line prints that sentence on stderr and exits with 2; Python callers catch the class.
"""

from __future__ import annotations

from collections.abc import Sequence


class MmcoreError(Exception):
    """Base of everything mmcore raises on purpose."""


class InvalidProblem(MmcoreError):
    """The sizes, leading dimensions, types or arrays do not describe a matrix product."""


class InvalidBlock(MmcoreError):
    """A block shape that is not one, two or three positive whole numbers."""


class InvalidKernel(MmcoreError):
    """A plugin's declaration of a kernel contradicts itself or names something that does not exist."""


class Unanswered(InvalidKernel):
    """A plugin's launch rule or constraint does not return."""


class UnknownKernel(MmcoreError):
    """No registered kernel has that name."""


class ConflictingKernels(MmcoreError):
    """Several plugins claim one kernel name; none of them gets it."""


class InvalidSweep(MmcoreError):
    """A plugin's declaration of an experiment contradicts itself."""


class UnknownSweep(MmcoreError):
    """No registered experiment has that name."""


class ConflictingSweeps(MmcoreError):
    """Several plugins claim one experiment's name; none of them gets it."""


class LockFailed(MmcoreError):
    """A lock between processes cannot be kept on this machine."""


class UnknownCapability(MmcoreError):
    """The limits of that compute capability are not known."""


class PluginNotWritten(MmcoreError):
    """A new plugin's package cannot be written: its name is taken, its folder is not free, or its model is no model."""


class Refused(MmcoreError):
    """The launch rule forbids this launch.

    Attributes:
        kernel: the kernel's name.
        reasons: one clause for each constraint that does not hold, with the numbers at hand.
    """

    def __init__(self, kernel: str, reasons: Sequence[str]) -> None:
        self.kernel = kernel
        self.reasons = tuple(reasons)
        super().__init__(f"{kernel}: {'; '.join(self.reasons)}")


class CompileError(MmcoreError):
    """NVRTC rejected the source; the text holds its log, with the .cu file's own name and lines."""


class CompilerStopped(CompileError):
    """NVRTC had not ended when the time limit was reached."""


class CompilerMissing(MmcoreError):
    """NVRTC cannot be loaded on this machine."""


class NoDevice(MmcoreError):
    """The device asked for does not exist here."""


class DeviceLost(MmcoreError):
    """An earlier fault destroyed this process's CUDA context; only a new process can use the GPU again."""


class DeviceFault(MmcoreError):
    """The device refused an operation other than the kernel itself (an allocation, a copy, a module load)."""


class KernelFault(MmcoreError):
    """A launch did something it must not do, so that its product cannot be trusted."""


class InvalidResults(MmcoreError):
    """A file holds no results of mmcore's, is damaged, or has nothing for the figure that was asked for."""


class NothingToDrawWith(MmcoreError):
    """Figures take matplotlib, which is not installed."""

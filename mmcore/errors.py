"""The errors that mmcore raises: each that a user can cause is an :class:`MmcoreError` with a text of one sentence.

The command line prints that sentence on stderr and exits with 2, or with 1 if the kernel's own program fails; Python
callers catch the class.
"""

from __future__ import annotations

import contextlib
import inspect
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from mmcore.messages import suggestion

_OURS = Path(__file__).parent
_STANDARD = Path(os.__file__).parent
_UNEXPECTED = re.compile(r"(\w+)\.__init__\(\) got an unexpected keyword argument '(\w+)'")


class MmcoreError(Exception):
    """Base of everything mmcore raises on purpose.

    Attributes:
        options: options that would make the command run, as they are typed; each entry is one way.
    """

    options: tuple[str, ...] = ()


class InvalidProblem(MmcoreError):
    """The sizes, leading dimensions, types or arrays do not describe a matrix product."""


class InvalidBlock(MmcoreError):
    """A block shape that is not one, two or three positive whole numbers."""


class InvalidConfig(MmcoreError):
    """A config whose parameters are not there, or have no such values."""


class InvalidKernel(MmcoreError):
    """A plugin's declaration of a kernel contradicts itself or names something that does not exist."""


class FailingProgram(InvalidKernel):
    """A source whose own program fails before it launches the kernel; commands exit with 1."""


class LacksOption(InvalidKernel):
    """A file does not contain something that an option gives."""

    def __init__(self, text: str, *options: str) -> None:
        super().__init__(text)
        self.options = options


class SeveralKernels(LacksOption):
    """A file that contains several kernels where a command needs one.

    Attributes:
        names: the kernels that may be matrix products.
        others: the kernels that are none.
        references: a reference to each of ``names``, where the file is known.
    """

    def __init__(self, file: str, names: Sequence[str], others: Sequence[str] = ()) -> None:
        several = f"{file} has {len(names)} kernels, {', '.join(names)}; give one, as in --entry {names[-1]}"
        super().__init__(several, *(f"--entry {name}" for name in names))
        self.names, self.others = tuple(names), tuple(others)
        self.references: tuple[Mapping[str, Any], ...] = ()


class NoKernel(InvalidKernel):
    """A file that cannot be read, defines no kernel, or none that compiles without another file.

    Attributes:
        file: the file, as an absolute path, where it is known.
        others: files of the same project that define matrix products, or include the file; each takes the ``options``.
    """

    file: Path | None = None
    others: tuple[Path, ...] = ()


class UnknownName(MmcoreError):
    """No plugin brings anything of that name."""


class UnknownKernel(UnknownName):
    """No registered kernel has that name."""


class DuplicateName(MmcoreError):
    """Several plugins bring something of one name; it belongs to none of them."""


class UnknownCapability(MmcoreError):
    """The limits of that compute capability are not known."""


class ConstraintViolation(MmcoreError):
    """The kernel's constraints, or the device's limits, forbid this launch: ``reasons`` has a clause for each."""

    def __init__(self, kernel: str, reasons: Sequence[str]) -> None:
        self.kernel = kernel
        self.reasons = tuple(reasons)
        self.options = tuple(re.findall(r"--size \d+x\d+x\d+", " ".join(reasons))[:1])  # a size that is allowed
        super().__init__(f"{kernel}: {'; '.join(self.reasons)}")


class SharedMemoryExceeded(ConstraintViolation):
    """A block takes more shared memory than the device has; another device may have it."""


class Unsupported(MmcoreError):
    """The device, or this machine, lacks what the kernel needs, so that it cannot be verified there."""


class UnsupportedInstruction(Unsupported):
    """The kernel uses something that the device does not know."""


class CompileError(MmcoreError):
    """A compiler rejected the source; the text holds its log, with the source's own name and lines."""


class UnknownValue(CompileError):
    """A kernel needs a value to compile that only a run of its file's program computes."""


class CompilerMissing(Unsupported):
    """A compiler that the kernel needs cannot be loaded on this machine; the text says how to get it."""


class NoDevice(MmcoreError):
    """The requested device does not exist."""


class DeviceLost(MmcoreError):
    """A kernel took the process that used the device with it; only a new process can use the device again."""


class TimeLimit(MmcoreError):
    """The time limit was reached before there was a result."""


class WorkLimit(TimeLimit):
    """A launch had more work than it was allowed, on every host alike."""


class DeviceError(MmcoreError):
    """The device refused an operation other than the kernel itself (an allocation, a copy, a module load)."""


class KernelError(MmcoreError):
    """A launch did something it must not do, so that its product cannot be trusted."""


def described(error: BaseException) -> str:
    """Return an error in one line: mmcore's own sentence, or the class and text of another error."""
    try:
        text = str(error)
    except Exception:  # a plugin's class may fail at that, too
        text = "(its text cannot be read)"
    if isinstance(error, MmcoreError):
        return text
    return " ".join(f"{type(error).__name__}: {text}{_similar_parameter(text)}".split())


def _similar_parameter(text: str) -> str:
    """Return ". Did you mean 'block'?" where Python before 3.13 refuses a mistyped argument of a class of mmcore."""
    refused = _UNEXPECTED.fullmatch(text)
    refusing = getattr(sys.modules.get("mmcore"), refused[1], None) if refused else None
    if refused is None or not isinstance(refusing, type):
        return ""
    near = suggestion(refused[2], inspect.signature(refusing).parameters)
    return near and f". {near[0].upper()}{near[1:]}"


def place(error: BaseException) -> str:
    """Return file and line of the innermost call in the plugin's own code, "matmul.py:7"; empty if there is none."""
    import traceback  # only errors need it

    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if not _is_foreign(frame.filename):
            return f"{Path(frame.filename).name}:{frame.lineno}"
    return ""


@contextlib.contextmanager
def asking(what: str, about: str) -> Iterator[None]:
    """Turn what a plugin's code, such as "acme.fast: its launch rule", raises into one sentence with file and line."""
    try:
        yield
    except Unsupported:
        raise
    except (Exception, SystemExit) as error:
        reason = f": {error}" if isinstance(error, InvalidKernel) else f" failed: {type(error).__name__}: {error}"
        where = ", ".join(filter(None, (place(error), f"for {about}")))
        raise InvalidKernel(f"{what}{reason} ({where})") from error


def _is_foreign(filename: str) -> bool:
    """Return whether a file is mmcore's, pluggy's or Python's, or does not exist."""
    path = Path(filename)
    standard = path.is_relative_to(_STANDARD) and not {"site-packages", "dist-packages"} & set(path.parts)
    return filename.startswith("<") or path.is_relative_to(_OURS) or standard or path.parent.name == "pluggy"


def error_to_json(error: Exception) -> dict[str, Any]:
    """Return an error as JSON for another process: its text, and the name of its class or a base class here.

    Anything else than a MmcoreError becomes one.
    """
    if not isinstance(error, MmcoreError):
        return {"error": MmcoreError.__name__, "text": described(error)}
    known = next(each.__name__ for each in type(error).__mro__ if each.__module__ == __name__)
    if isinstance(error, ConstraintViolation):
        return {"error": known, "kernel": error.kernel, "reasons": error.reasons, "text": str(error)}
    return {"error": known, "text": str(error)}


def error_from_json(values: Mapping[str, Any]) -> MmcoreError:
    """Return the error that :func:`error_to_json` wrote."""
    error: type[Any] = globals().get(values["error"], MmcoreError)
    raised: MmcoreError = error(values["kernel"], values["reasons"]) if "reasons" in values else error(values["text"])
    return raised

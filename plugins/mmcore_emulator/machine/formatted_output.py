"""The output of a kernel: calls of ``printf``, kept in a buffer until the launch ends.

The host's C library formats the text, as on a GPU. Reference: CUDA C++ Programming Guide, "Formatted Output".
"""

from __future__ import annotations

import ctypes
import functools
import re
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mmcore_emulator.numerics.types import DType

BUFFER_BYTES = 1 << 20
"""Default size of the buffer in bytes; when it is full, the latest calls replace the oldest."""
# NVIDIA does not document the size of a call. These are the sizes of its arguments, and of a header.
_CALL_BYTES, _ARGUMENT_BYTES = 16, 8
_MOST_ARGUMENTS = 32
_LONGEST = 1 << 16

_CONVERSION = re.compile(
    rb"%(?:%|(?P<flags>[-+ #0]*)(?P<width>\*|\d{0,9})(?P<precision>(?:\.(?:\*|\d{0,9}))?)"
    rb"(?P<length>hh?|ll?|z)?(?P<type>[cdiouxXpeEfgGaAs]))"
)
_library = ctypes.CDLL(None)
_content = ctypes.create_string_buffer(_LONGEST)
_library.snprintf.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p]

Argument: TypeAlias = int | float | bytes | None
"""A number, or a string; None for a null pointer."""


@dataclass(frozen=True)
class Conversion:
    """A conversion in a format, for one argument ("%5.2f") or two ("%*d")."""

    text: bytes  # the conversion in C's syntax
    types: tuple[DType, ...]  # type of each argument
    takes_text: bool  # true if the last argument is the address of a string

    def of(self, arguments: Iterable[Argument]) -> bytes:
        """Return the arguments in the format of the conversion."""
        passed = [_as_passed(argument) for argument in arguments]
        nbytes = _library.snprintf(_content, _LONGEST, self.text, *passed)
        return ctypes.string_at(_content, min(nbytes, _LONGEST - 1)) if nbytes >= 0 else self.text


def _as_passed(argument: Argument) -> ctypes.c_char_p | ctypes.c_double | ctypes.c_longlong:
    if isinstance(argument, bytes | None):
        return ctypes.c_char_p(argument)
    return ctypes.c_double(argument) if isinstance(argument, float) else ctypes.c_longlong(argument)


Format: TypeAlias = tuple[bytes | Conversion, ...]
"""Text and conversions, alternating."""


@functools.lru_cache
def format_of(text: bytes) -> Format:
    """Return the format of a string; conversions beyond 32 arguments remain text."""
    parts: list[bytes | Conversion] = []
    end = count = 0
    for match in _CONVERSION.finditer(text):
        conversion = _conversion(match)
        taken = len(conversion.types) if isinstance(conversion, Conversion) else 0
        if count + taken > _MOST_ARGUMENTS:
            break
        parts += [text[end : match.start()], conversion]
        end, count = match.end(), count + taken
    return (*parts, text[end:])


def _conversion(match: re.Match[bytes]) -> bytes | Conversion:
    kind, length = match["type"], match["length"] or b""
    if kind is None:
        return b"%"
    is_long = kind in b"eEfgGaAps" or length in (b"l", b"ll", b"z")
    last = np.dtype(np.float64 if kind in b"eEfgGaA" else np.int64 if is_long else np.int32)
    stars = (match["width"] + match["precision"]).count(b"*")
    text = b"%" + match["flags"] + match["width"] + match["precision"] + (length if kind in b"diouxX" else b"") + kind
    return Conversion(text, (*[np.dtype(np.int32)] * stars, last), kind == b"s")


@dataclass(frozen=True)
class _Calls:
    """Calls of a format: the threads' numbers in the grid, a column for each argument, and the bytes of each call."""

    format: Format
    threads: NDArray[np.integer]
    columns: Sequence[NDArray[Any]]
    nbytes: NDArray[np.int64]

    def after(self, count: int) -> _Calls:
        """Return all calls but the first ones."""
        return _Calls(self.format, self.threads[count:], [each[count:] for each in self.columns], self.nbytes[count:])


class PrintBuffer:
    """The output of a launch's threads."""

    def __init__(self) -> None:
        self._calls: deque[_Calls] = deque()
        self._nbytes = 0
        self.lost = 0  # calls that later calls replaced

    def add(self, text: Format, threads: NDArray[np.integer], columns: Sequence[NDArray[Any]]) -> None:
        """Add a call of each thread, by its number in the grid, with strings in place of addresses."""
        nbytes = np.full(len(threads), _CALL_BYTES + _ARGUMENT_BYTES * len(columns), np.int64)
        for column in columns:
            if column.dtype == object:
                nbytes += [len(each or b"") for each in column]
        self._calls.append(_Calls(text, threads, columns, nbytes))
        self._nbytes += int(nbytes.sum())
        while self._nbytes > BUFFER_BYTES:
            self._lose_oldest()

    def _lose_oldest(self) -> None:
        """Remove as many of the oldest calls as the buffer has no room for, of those that were added together."""
        oldest = self._calls.popleft()
        removed = np.cumsum(oldest.nbytes)
        count = min(int(np.searchsorted(removed, self._nbytes - BUFFER_BYTES)) + 1, len(removed))
        self._nbytes -= int(removed[count - 1])
        self.lost += count
        if count < len(removed):
            self._calls.appendleft(oldest.after(count))

    def text(self) -> str:
        """Return the output, ordered by block and thread, each thread's calls in order."""
        calls = [
            (thread, each.format, arguments)
            for each in self._calls
            for thread, *arguments in zip(
                each.threads.tolist(), *(column.tolist() for column in each.columns), strict=True
            )
        ]
        calls.sort(key=lambda call: call[0])
        printed = (part for _, parts, arguments in calls for part in _converted(parts, arguments))
        return b"".join(printed).decode(errors="replace")

    def flush(self, write: Callable[[str], object] | None) -> None:
        """Write the text of all calls, if any, and the number of lost calls; ``None`` drops them."""
        if self._calls and write is not None:
            lost = f"{self.lost} earlier calls of printf are lost: the buffer holds {BUFFER_BYTES} bytes\n"
            write(lost * bool(self.lost) + self.text())


def _converted(parts: Format, arguments: Sequence[Argument]) -> Iterable[bytes]:
    position = 0
    for part in parts:
        if isinstance(part, bytes):
            yield part
        else:
            yield part.of(arguments[position : position + len(part.types)])
            position += len(part.types)

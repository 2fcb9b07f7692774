"""What a kernel prints: the calls of ``printf``, kept in a buffer until the launch ends.

The C library of the host formats, as on a GPU. Reference: CUDA C++ Programming Guide, "Formatted Output".
"""

from __future__ import annotations

import ctypes
import functools
import re
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

BUFFER_BYTES = 1 << 20
"""What the buffer holds, unless the host asks for another size; then the latest takes the place of the oldest."""
# NVIDIA does not say what a call takes there. This is what its arguments need, and who prints what.
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


@dataclass(frozen=True)
class Conversion:
    """What stands for arguments in a format: "%5.2f" for one, "%*d" for two.

    Attributes:
        text: the conversion, as the C library reads it.
        types: what each of the arguments is passed as.
        takes_text: whether the last is the address of a text.
    """

    text: bytes
    types: tuple[np.dtype[Any], ...]
    takes_text: bool

    def of(self, arguments: Iterable[Any]) -> bytes:
        """The arguments, numbers or texts (None for no text), converted."""
        given = [_as_passed(each) for each in arguments]
        nbytes = _library.snprintf(_content, _LONGEST, self.text, *given)
        return ctypes.string_at(_content, min(nbytes, _LONGEST - 1)) if nbytes >= 0 else self.text


def _as_passed(argument: Any) -> Any:
    if isinstance(argument, bytes | None):
        return ctypes.c_char_p(argument)
    return ctypes.c_double(argument) if isinstance(argument, float) else ctypes.c_longlong(argument)


Format: TypeAlias = tuple[bytes | Conversion, ...]
"""Text and conversions, by turns."""


@functools.lru_cache
def format_of(text: bytes) -> Format:
    """The format that a text is; what it asks for beyond 32 arguments stays as it is written."""
    parts: list[bytes | Conversion] = []
    end = count = 0
    for found in _CONVERSION.finditer(text):
        conversion = _conversion(found)
        taken = len(conversion.types) if isinstance(conversion, Conversion) else 0
        if count + taken > _MOST_ARGUMENTS:
            break
        parts += [text[end : found.start()], conversion]
        end, count = found.end(), count + taken
    return (*parts, text[end:])


def _conversion(found: re.Match[bytes]) -> bytes | Conversion:
    kind, length = found["type"], found["length"] or b""
    if kind is None:
        return b"%"
    is_long = kind in b"eEfgGaAps" or length in (b"l", b"ll", b"z")
    last = np.dtype(np.float64 if kind in b"eEfgGaA" else np.int64 if is_long else np.int32)
    stars = (found["width"] + found["precision"]).count(b"*")
    text = b"%" + found["flags"] + found["width"] + found["precision"] + (length if kind in b"diouxX" else b"") + kind
    return Conversion(text, (*[np.dtype(np.int32)] * stars, last), kind == b"s")


class PrintBuffer:
    """What the threads of a launch have printed.

    Attributes:
        lost: calls whose text gave way to that of others.
    """

    def __init__(self) -> None:
        self._calls: deque[tuple[int, Format, tuple[Any, ...], int]] = deque()
        self._nbytes = 0
        self.lost = 0

    def add(self, thread: int, text: Format, arguments: tuple[Any, ...]) -> None:
        """A call by the thread of that number in the grid, with its arguments, or texts in the place of addresses."""
        texts = sum(len(each) for each in arguments if isinstance(each, bytes))
        nbytes = _CALL_BYTES + _ARGUMENT_BYTES * len(arguments) + texts
        self._calls.append((thread, text, arguments, nbytes))
        self._nbytes += nbytes
        while self._nbytes > BUFFER_BYTES:
            self._nbytes -= self._calls.popleft()[-1]
            self.lost += 1

    def text(self) -> str:
        """What is printed, by block and thread, and of each thread in the order of its calls."""
        calls = sorted(self._calls, key=lambda call: call[0])
        printed = (part for _, parts, arguments, _ in calls for part in _converted(parts, arguments))
        return b"".join(printed).decode(errors="replace")

    def flush(self, write: Callable[[str], object]) -> None:
        """Write the text of all calls, if there are any, and how many calls were lost."""
        if self._calls:
            lost = f"{self.lost} earlier calls of printf are lost: the buffer holds {BUFFER_BYTES} bytes\n"
            write(lost * bool(self.lost) + self.text())


def _converted(parts: Format, arguments: tuple[Any, ...]) -> Iterable[bytes]:
    position = 0
    for part in parts:
        if isinstance(part, bytes):
            yield part
        else:
            yield part.of(arguments[position : position + len(part.types)])
            position += len(part.types)

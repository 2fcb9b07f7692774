"""Asking a plugin's launch rule or constraint: what goes wrong there is one sentence, and an answer comes in time."""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

from mmcore.errors import InvalidKernel, Unanswered
from mmcore.places import place
from mmcore.printing import to_stderr

#: How long an answer may take: it is arithmetic on a few numbers.
SECONDS = 10.0
# What catches the first interruption gets another.
_AGAIN_SECONDS = 1.0
# What was asked in vain: it is not asked again.
_unanswered: dict[tuple[str, str], str] = {}


class _NoAnswer(BaseException):
    """There was none in time; the text says where it was. It is no Exception, which plugins catch now and then."""


@contextlib.contextmanager
def asking(what: str, about: str) -> Iterator[None]:
    """Ask inside; what is printed there is no part of a command's output.

    Args:
        what: who is asked: "acme.fast: its launch rule".
        about: what for: "64×64×64 in 16×16 blocks".

    Raises:
        InvalidKernel: it raises.
        Unanswered: it has not answered after :data:`SECONDS`. (Only the main thread can be interrupted.)
    """
    if (what, about) in _unanswered:
        raise Unanswered(_unanswered[what, about])
    try:
        with to_stderr(), _in_time():
            yield
    except _NoAnswer as place:
        _unanswered[what, about] = f"{what} had not answered after {SECONDS:g} s for {about}: it was at {place}"
        raise Unanswered(_unanswered[what, about]) from None
    except InvalidKernel as error:
        raise InvalidKernel(f"{what}: {error} ({_at(error)}for {about})") from error
    except (Exception, SystemExit) as error:
        reason = f"{type(error).__name__}: {error}"
        raise InvalidKernel(f"{what} failed: {reason} ({_at(error)}for {about})") from error


def _at(error: BaseException) -> str:
    where = place(error)
    return f"{where}, " if where else ""


@contextlib.contextmanager
def _in_time() -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    began = time.monotonic()
    handler = signal.signal(signal.SIGALRM, _interrupt)
    seconds, interval = signal.setitimer(signal.ITIMER_REAL, SECONDS, _AGAIN_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        # None is a handler that Python did not set, and cannot set again.
        signal.signal(signal.SIGALRM, signal.SIG_DFL if handler is None else handler)
        if seconds:
            # Somebody else's alarm comes when it would have come, or at once if that is over.
            signal.setitimer(signal.ITIMER_REAL, max(seconds - (time.monotonic() - began), 1e-6), interval)


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise _NoAnswer(f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}" if frame else "an unknown place")

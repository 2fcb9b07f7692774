"""A plugin's launch rule or constraint, asked: what it raises is one sentence with the line where it was."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from mmcore.errors import InvalidKernel
from mmcore.tracebacks import place


@contextlib.contextmanager
def asking(what: str, about: str) -> Iterator[None]:
    """Ask inside.

    Args:
        what: who is asked: "acme.fast: its launch rule".
        about: what for: "64×64×64 with block=16x16".

    Raises:
        InvalidKernel: it raises.
    """
    try:
        yield
    except InvalidKernel as error:
        raise InvalidKernel(f"{what}: {error} ({_at(error)}for {about})") from error
    except (Exception, SystemExit) as error:
        reason = f"{type(error).__name__}: {error}"
        raise InvalidKernel(f"{what} failed: {reason} ({_at(error)}for {about})") from error


def _at(error: BaseException) -> str:
    where = place(error)
    return f"{where}, " if where else ""

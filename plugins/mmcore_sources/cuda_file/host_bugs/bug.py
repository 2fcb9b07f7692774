"""A bug of host code."""

from __future__ import annotations

from typing import NamedTuple


class Bug(NamedTuple):
    """A mistake in the host code: its kind, line, and one sentence; ``file`` is the name of another file that has it.

    ``array`` is the matrix that it leaves wrong for certain, ``launch`` the line of the launch concerned, if another.
    """

    kind: str
    line: int
    message: str
    array: str = ""
    launch: int = 0
    file: str = ""

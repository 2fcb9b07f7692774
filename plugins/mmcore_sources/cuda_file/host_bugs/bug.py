"""A bug of host code."""

from __future__ import annotations

from typing import NamedTuple


class Bug(NamedTuple):
    """A mistake in the host code: its kind, line, and one sentence.

    ``array`` is the matrix that it leaves wrong for certain, ``launch`` the line of the launch concerned, if another.
    """

    kind: str
    line: int
    message: str
    array: str = ""
    launch: int = 0

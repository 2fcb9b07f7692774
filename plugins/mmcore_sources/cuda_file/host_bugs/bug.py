"""A bug of host code."""

from __future__ import annotations

from typing import NamedTuple


class Bug(NamedTuple):
    """A mistake in the host code: its kind, line, and one sentence."""

    kind: str
    line: int
    message: str

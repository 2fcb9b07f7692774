"""What was read off a source or guessed, and the option that says otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Note(NamedTuple):
    """One thing that nobody said: what it is, its value, where that comes from, and the option that changes it."""

    what: str
    value: str
    why: str
    option: str
    guessed: bool = False


def told(name: str, notes: Sequence[Note]) -> str:
    """The notes as a table; empty where nothing was inferred."""
    if not notes:
        return ""
    rows = [(note.what, note.value, f"({'a guess: ' * note.guessed}{note.why})", note.option) for note in notes]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    lines = ["  ".join(map(str.ljust, row, (*widths, 0))).rstrip() for row in rows]
    return "\n".join(
        [f"inferred from {name}, and the option that says otherwise:", *(f"  {line}" for line in lines), ""]
    )

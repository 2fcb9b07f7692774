"""Notes about values that were inferred or guessed, with the option that changes each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Note(NamedTuple):
    """A value that the user did not give: its name, value, origin, and the option that changes it."""

    what: str
    value: str
    why: str
    option: str
    guessed: bool = False


def notes_table(name: str, notes: Sequence[Note]) -> str:
    """Return the notes as a table; empty if there are none."""
    if not notes:
        return ""
    rows = [(note.what, note.value, f"({'a guess: ' * note.guessed}{note.why})", note.option) for note in notes]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    lines = ["  ".join(map(str.ljust, row, (*widths, 0))).rstrip() for row in rows]
    return "\n".join([f"inferred from {name}, with the option that changes it:", *(f"  {line}" for line in lines), ""])

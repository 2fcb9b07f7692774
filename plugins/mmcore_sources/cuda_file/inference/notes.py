"""Notes about values that were inferred or guessed, with the option that changes each."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import NamedTuple

_COLUMNS = 80


class Note(NamedTuple):
    """A value that the user did not give.

    Attributes:
        what, value: its name, and the value as a text.
        why: its origin, in words.
        option: the option that changes it; "none" or empty without one.
        guessed: whether nothing in the source gives the value.
    """

    what: str
    value: str
    why: str
    option: str
    guessed: bool = False


def notes_table(name: str, notes: Sequence[Note]) -> str:
    """Return the notes as a table of at most 80 columns, with the options on the left; empty if there are none."""
    if not notes:
        return ""
    width = max(len(note.option) for note in notes)
    lines = [f"inferred from {name}, with the option that changes it:"]
    for note in notes:
        text = f"{note.what} {note.value} ({'a guess: ' * note.guessed}{note.why})"
        first, further = f"  {note.option:{width}}  ", " " * (width + 4)
        lines += textwrap.wrap(
            text,
            _COLUMNS,
            initial_indent=first,
            subsequent_indent=further,
            break_long_words=False,
            break_on_hyphens=False,
        )
    return "\n".join([*lines, ""])

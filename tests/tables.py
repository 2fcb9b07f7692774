"""Tables in text: rows of words, and values as the words of a row."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest


def table(names: str, text: str) -> pytest.MarkDecorator:
    """Parametrize a test with the rows of a text, each a line or ended by a semicolon; the last column is the rest."""
    width = len(names.split())
    lines = [line for line in text.splitlines() if not line.strip().startswith("#")]
    rows = [row.split(maxsplit=width - 1) for line in lines for row in line.split(";") if row.strip()]
    return pytest.mark.parametrize(names.split(), [[word.strip() for word in row] for row in rows])


def words_of(value: Any) -> str:
    """Return a dataclass in words: all fields but those with their default; "none" for None."""
    if value is None:
        return "none"
    words = []
    for field in dataclasses.fields(value):
        content = getattr(value, field.name)
        text = ",".join(map(str, content)) if isinstance(content, tuple) else str(content)
        if field.default is dataclasses.MISSING:
            words.append(text)
        elif content != field.default:
            words.append(f"{field.name}={text}")
    return " ".join(words)

"""Tables in text: rows of words, and values as the words of a row."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest


def table(names: str, text: str) -> pytest.MarkDecorator:
    """Parametrize a test with the rows of a text; the last column is the rest of a line."""
    width = len(names.split())
    lines = [line.strip() for line in text.splitlines()]
    rows = [line.split(maxsplit=width - 1) for line in lines if line and not line.startswith("#")]
    return pytest.mark.parametrize(names.split(), rows)


def words_of(value: Any) -> str:
    """Return a dataclass in words: the fields without a default, then those that differ from it; "none" for None."""
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

"""Tables in text: rows of words, and values as the words of a row."""

from __future__ import annotations

import dataclasses
import tomllib
from pathlib import Path
from typing import Any

import pytest


def table(names: str, text: str) -> pytest.MarkDecorator:
    """Parametrize a test with the rows of a text, each a line or ended by a semicolon; the last column is the rest."""
    width = len(names.split())
    lines = [line for line in text.splitlines() if not line.strip().startswith("#")]
    rows = [row.split(maxsplit=width - 1) for line in lines for row in line.split(";") if row.strip()]
    return pytest.mark.parametrize(names.split(), [[word.strip() for word in row] for row in rows])


def cases(test_file: str, section: str, names: str) -> pytest.MarkDecorator:
    """Parametrize a test with the rows of a section of the .toml file beside the test.

    The rows are an array, or a table whose keys become the ids of the rows. Arrays become tuples.
    """
    rows = section_of(test_file, section)
    titled = isinstance(rows, dict)
    return pytest.mark.parametrize(names, list(rows.values()) if titled else rows, ids=list(rows) if titled else None)


def section_of(test_file: str, section: str) -> Any:
    """Return a section of the .toml file beside a test; its arrays are tuples."""
    return _frozen(tomllib.loads(Path(test_file).with_suffix(".toml").read_text(encoding="utf-8"))[section])


def _frozen(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _frozen(content) for name, content in value.items()}
    return tuple(map(_frozen, value)) if isinstance(value, list) else value


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

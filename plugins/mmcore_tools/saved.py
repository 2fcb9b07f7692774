"""Saved results: the document of a file, and its fields, each checked before it is used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mmcore.errors import MmcoreError
from mmcore.messages import visible
from mmcore_pytest.saved_results import read_document

HOW = {"kernel": "caches", "end-to-end": "memory"}
"""The field that says how a result was measured, by its measure."""

DAMAGE = (ValueError, OverflowError, TypeError, AttributeError, KeyError, MmcoreError)
"""The errors that reading a damaged document may raise."""


class InvalidResults(MmcoreError):
    """Saved results that are damaged or missing, or that lack what a figure needs."""


def saved_document(path: Path) -> dict[str, Any]:
    """Return the document of a file that pytest-benchmark wrote. Raises InvalidResults for any other file."""
    try:
        document = read_document(path)
    except OSError as error:
        raise InvalidResults(f"{path} cannot be read: {error.strerror or error}") from None
    except (ValueError, RecursionError) as error:
        raise InvalidResults(f"{path} is damaged, or no JSON: {error}") from None
    if not isinstance(document, dict) or not isinstance(document.get("benchmarks"), list):
        raise InvalidResults(f"{path} holds no results: pytest-benchmark did not save it")
    return document


def damage(error: Exception) -> str:
    """Return the reason for one of the errors in :data:`DAMAGE`, as a clause."""
    if isinstance(error, KeyError):
        return f"it has no {error}"
    return "it is not in the form of mmcore's results" if isinstance(error, TypeError | AttributeError) else str(error)


def text(values: Mapping[str, Any], name: str, default: str | None = None) -> str:
    """Return a text field with control characters written out. Raises ValueError for any other value."""
    value = values[name] if default is None else values.get(name, default)
    if not isinstance(value, str) or not (value.strip() or value == default):
        raise ValueError(f"{name!r} is not a text")
    return visible(value)


def one_of(values: Mapping[str, Any], name: str, choices: Sequence[str]) -> str:
    """Return a field that has one of several values. Raises ValueError for any other value."""
    if values[name] not in choices:
        raise ValueError(f"{name!r} is not {' or '.join(map(repr, choices))}")
    return str(values[name])


def whole(values: Mapping[str, Any], name: str) -> int:
    """Return a field that counts something. Raises ValueError for anything but a whole number from 1."""
    value = values[name]
    if type(value) is not int or not 0 < value < 2**63:
        raise ValueError(f"{name!r} is not a whole number from 1")
    return value


def number(values: Mapping[str, Any], name: str) -> float:
    """Return a field that measures something. Raises ValueError for anything but a number from 0."""
    value = values[name]
    if type(value) not in (int, float) or not 0 <= value < 2**63:
        raise ValueError(f"{name!r} is not a number from 0")
    return float(value)

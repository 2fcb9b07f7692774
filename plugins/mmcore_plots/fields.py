"""Values of a JSON document that somebody else wrote: each is what it must be, or a sentence says what it is not."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from mmcore.errors import InvalidResults


class Fields:
    """The fields of one JSON object.

    Args:
        where: what the object is, for the sentences: the file, and the place in it.
        values: the object.

    Raises:
        InvalidResults: it is no object; and from every method, a field is missing or is of the wrong kind.
    """

    def __init__(self, where: str, values: object) -> None:
        if not isinstance(values, Mapping):
            raise InvalidResults(f"{where} is not a result of mmcore's: it is no object")
        self._where = where
        self._values = values

    def _wrong(self, name: str, what: str) -> InvalidResults:
        if name not in self._values:
            return InvalidResults(f"{self._where} is not a result of mmcore's: it has no {name!r}")
        return InvalidResults(f"{self._where}: {name!r} is not {what}")

    def inside(self, name: str) -> Fields:
        """The fields of an object in this one."""
        return Fields(self._where, self.mapping(name))

    def mapping(self, name: str) -> Mapping[str, Any]:
        """An object."""
        value = self._values.get(name)
        if not isinstance(value, Mapping):
            raise self._wrong(name, "an object")
        return value

    def list(self, name: str) -> Sequence[Any]:
        """A list; empty where there is none."""
        value = self._values.get(name, ())
        if not isinstance(value, list | tuple):
            raise self._wrong(name, "a list")
        return value

    def text(self, name: str, default: str | None = None) -> str:
        """A text."""
        value = self._values.get(name, default)
        if not isinstance(value, str) or (default is None and not value):
            raise self._wrong(name, "a text")
        return value

    def texts(self, name: str) -> Sequence[str]:
        """Several texts; none where there is no such field."""
        found = self.list(name)
        if not all(isinstance(each, str) for each in found):
            raise self._wrong(name, "a list of texts")
        return found

    def choice(self, name: str, choices: Sequence[str]) -> str:
        """One of some texts."""
        value = self._values.get(name)
        if value not in choices:
            raise self._wrong(name, " or ".join(map(repr, choices)))
        return str(value)

    def truth(self, name: str) -> bool:
        """True or false; false where there is neither."""
        value = self._values.get(name, False)
        if not isinstance(value, bool):
            raise self._wrong(name, "true or false")
        return value

    def whole(self, name: str, *, least: int = 1) -> int:
        """A whole number."""
        value = self._values.get(name)
        if not _is_whole(value, least):
            raise self._wrong(name, f"a whole number from {least}")
        return int(value)  # type: ignore[arg-type]

    def wholes(self, name: str) -> Sequence[int]:
        """One to three whole numbers."""
        value = self._values.get(name)
        if (
            not isinstance(value, list | tuple)
            or not 1 <= len(value) <= 3
            or not all(_is_whole(each, 1) for each in value)
        ):
            raise self._wrong(name, "one to three whole numbers")
        return value

    def number(self, name: str) -> float | None:
        """A number above or at 0; None for null."""
        value = self._values.get(name)
        if value is None and name in self._values:
            return None
        if not _is_number(value):
            raise self._wrong(name, "a number")
        return float(value)  # type: ignore[arg-type]

    def needed_number(self, name: str) -> float:
        """A number above 0."""
        value = self.number(name)
        if not value:
            raise self._wrong(name, "a number above 0")
        return value

    def counts(self, name: str) -> Mapping[str, int]:
        """Whole numbers by name, those that are null left out; none where there is no such field."""
        value = self._values.get(name) or {}
        if not isinstance(value, Mapping):
            raise self._wrong(name, "an object")
        counts = {key: count for key, count in value.items() if count is not None}
        if not all(_is_whole(count, 0) for count in counts.values()):
            raise self._wrong(name, "whole numbers by name")
        return counts


def _is_whole(value: object, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value < 2**63


def _is_number(value: object) -> bool:
    return (
        isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 2**63 and math.isfinite(value)
    )

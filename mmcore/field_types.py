"""A check of the fields of records that plugins make: dataclasses and named tuples."""

from __future__ import annotations

import dataclasses
import types
import typing
from typing import Any

from mmcore.errors import MmcoreError


def check_fields(record: Any) -> None:
    """Raise MmcoreError if a field of a record, or of a record in it, holds a value of another type than declared.

    A list may stand for a tuple. Other objects pass, and so do records that check themselves when they are made.
    """
    if not _is_unchecked_record(record):
        return
    for name, hint in typing.get_type_hints(type(record)).items():
        for value, expected in _items(getattr(record, name), hint):
            if not _fits(value, expected):
                wanted = expected.__name__ if isinstance(expected, type) else expected
                raise MmcoreError(f"{name} of {type(record).__name__} holds {type(value).__name__}, not {wanted}")
            check_fields(value)


def _is_unchecked_record(value: Any) -> bool:
    is_record = dataclasses.is_dataclass(value) or (isinstance(value, tuple) and hasattr(value, "_fields"))
    return is_record and not hasattr(value, "__post_init__")


def _items(value: Any, hint: Any) -> list[tuple[Any, Any]]:
    """Return the items of a tuple of any length, or else the value, each with the type that it should have."""
    arguments = typing.get_args(hint)
    if typing.get_origin(hint) is tuple and arguments[-1] is ... and isinstance(value, tuple | list):
        return [(item, arguments[0]) for item in value]
    return [(value, hint)]


def _fits(value: Any, hint: Any) -> bool:
    """Return whether a value has a type; the parameters of a generic type are ignored."""
    kind = typing.get_origin(hint) or hint
    if kind in (types.UnionType, typing.Union):
        return any(_fits(value, each) for each in typing.get_args(hint))
    if kind is Any or not isinstance(kind, type):
        return True
    return isinstance(value, int | float if kind is float else tuple | list if kind is tuple else kind)

"""Whether a plugin, by being loaded, replaced something that others rely on."""

from __future__ import annotations

import importlib
import pkgutil
import sys
from collections.abc import Iterator
from types import FunctionType
from typing import Any, NamedTuple

# What judges, measures and reports.
_WHOLE = ("mmcore", "mmcore_emulator", "pytest_benchmark")
_GUARDED = (*_WHOLE, "pluggy", "_pytest", "pytest", "numpy", "statistics", "time")
_CONSTANTS = (int, float, str, bytes, tuple, frozenset)


class Guard:
    """What was there before a plugin was loaded."""

    def __init__(self) -> None:
        _import_all()
        self._before = dict(_contents())

    def replaced(self) -> str:
        """The first thing that is not what it was, by its full name; empty if everything is."""
        now = dict(_contents())
        return next((name for name, content in self._before.items() if not _same(now.get(name), content)), "")


def _import_all() -> None:
    """Import what a plugin could import first and then change."""
    for root in _WHOLE:
        package = importlib.import_module(root)
        for found in pkgutil.walk_packages(package.__path__, f"{root}.", onerror=lambda _: None):
            if not found.name.endswith("__main__"):
                try:
                    importlib.import_module(found.name)
                except Exception:
                    # It needs what is not installed here, and so can do nothing here.
                    continue


def _contents() -> Iterator[tuple[str, Any]]:
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] in _GUARDED:
            for attribute, value in list(vars(module).items()):
                yield f"{name}.{attribute}", _essence(value)
                if isinstance(value, type) and value.__module__ == name:
                    for member, content in list(vars(value).items()):
                        yield f"{name}.{attribute}.{member}", _essence(content)


def _essence(value: Any) -> Any:
    """What of a value has to stay: a function with its code, what else is called or gives an attribute, a constant."""
    if isinstance(value, FunctionType):
        return _Code(value, value.__code__, value.__defaults__)
    if isinstance(value, (staticmethod, classmethod)):
        return _essence(value.__func__)
    if callable(value) or hasattr(type(value), "__get__") or isinstance(value, _CONSTANTS):
        return value
    return None


class _Code(NamedTuple):
    function: FunctionType
    code: object
    defaults: object


def _same(now: Any, before: Any) -> bool:
    if isinstance(before, _Code):
        return isinstance(now, _Code) and all(one is other for one, other in zip(now, before, strict=True))
    return before is None or now is before or (isinstance(before, _CONSTANTS) and bool(now == before))

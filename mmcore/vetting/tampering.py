"""Whether a plugin, by being loaded, replaced something that others rely on."""

from __future__ import annotations

import builtins
import importlib
import pkgutil
import sys
from collections.abc import Iterator
from types import FunctionType, ModuleType
from typing import Any, NamedTuple

# Their tables count too: what mmcore knows of types, devices and instructions.
_OWN = ("mmcore", "mmcore_emulator")
# What judges, measures and reports.
_WHOLE = (*_OWN, "pytest_benchmark")
_GUARDED = (*_WHOLE, "pluggy", "_pytest", "pytest", "numpy", "statistics", "time")
# The standard library's part in it. Much of the rest is replaced by honest packages when they are imported, as
# inspect.getfile is by PyTorch.
_STANDARD = frozenset(
    (
        *("abc", "array", "base64", "collections", "contextlib", "copy", "dataclasses", "enum", "fnmatch", "functools"),
        *("hashlib", "itertools", "json", "math", "numbers", "operator", "random", "re", "secrets", "string", "struct"),
        *("cmath", "ctypes", "decimal", "fractions", "io", "os", "pathlib", "posix", "posixpath", "shutil", "tempfile"),
        *("fcntl", "gc", "multiprocessing", "select", "signal", "subprocess", "tomllib", "zlib"),
    )
)
# They are there to be replaced.
_HOOKS = frozenset(("excepthook", "displayhook", "unraisablehook", "breakpointhook"))
_CONSTANTS = (int, float, str, bytes, tuple, frozenset)
_IMMUTABLE_TYPE = 1 << 8


class Guard:
    """What was there before a plugin was loaded."""

    def __init__(self) -> None:
        _import_all()
        self._modules = {name: module for name, module in sys.modules.items() if _is_guarded(name)}
        self._before = dict(_contents(self._modules))
        self._builtins = dict(vars(builtins))

    def replaced(self) -> str:
        """The first thing that is not what it was, by its full name; empty if everything is."""
        # They come first, and without a call of any of them: what follows relies on them.
        for builtin, content in self._builtins.items():
            if builtins.__dict__.get(builtin) is not content:
                return f"builtins.{builtin}"
        now = dict(_contents({name: sys.modules.get(name, module) for name, module in self._modules.items()}))
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


def _is_guarded(module: str) -> bool:
    root = module.partition(".")[0]
    return root in _GUARDED or root in _STANDARD


def _contents(modules: dict[str, ModuleType]) -> Iterator[tuple[str, Any]]:
    """What must stay, by its full name."""
    for name, module in modules.items():
        root = name.partition(".")[0]
        essence = _essence if root in _GUARDED else _called
        yield name, module
        for attribute, value in list(getattr(module, "__dict__", {}).items()):
            full_name = f"{name}.{attribute}"
            if isinstance(value, ModuleType):
                continue
            if isinstance(value, (dict, list, set)):
                if root in _OWN and not attribute.startswith("__"):
                    yield from _entries(full_name, value)
            elif attribute not in _HOOKS:
                yield full_name, essence(value)
                if isinstance(value, type) and value.__module__ == name and not value.__flags__ & _IMMUTABLE_TYPE:
                    for member, content in list(vars(value).items()):
                        yield f"{full_name}.{member}", essence(content)


def _entries(name: str, container: dict[Any, Any] | list[Any] | set[Any]) -> Iterator[tuple[str, Any]]:
    """What a table holds; an empty one is a cache, and there to be filled."""
    if not container:
        yield name, None
    elif isinstance(container, dict):
        for key, content in container.items():
            yield f"{name}[{key!r}]", _held(content)
        yield name, _Held(type(container), tuple(container))
    elif isinstance(container, list):
        yield name, _Held(type(container), tuple(map(_held, container)))
    else:
        yield name, _Held(type(container), (frozenset(container),))


def _held(value: Any) -> Any:
    """What of an entry has to stay: at least that it is the same object."""
    essence = _essence(value)
    return value if essence is None else essence


def _called(value: Any) -> Any:
    """What of a value has to stay where only what is called counts."""
    return None if isinstance(value, _CONSTANTS) else _essence(value)


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


class _Held(NamedTuple):
    container: type
    content: tuple[Any, ...]


def _same(now: Any, before: Any) -> bool:
    if now is before or before is None:
        return True
    if isinstance(before, _Code):
        return (
            isinstance(now, _Code)
            and now.function is before.function
            and now.code is before.code
            and now.defaults is before.defaults
        )
    if isinstance(before, _Held):
        return (
            isinstance(now, _Held)
            and now.container is before.container
            and len(now.content) == len(before.content)
            and all(map(_same, now.content, before.content))
        )
    return isinstance(before, _CONSTANTS) and bool(now == before)

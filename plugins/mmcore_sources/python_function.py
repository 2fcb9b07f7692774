"""Kernel functions in Python, given as objects or as "module:function"."""

from __future__ import annotations

import importlib
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from mmcore_sources.python_file.extraction import FunctionInFile


def imported(function: Any) -> Any:
    """Return a function, imported if it is given as "module:function", or loaded if it is one of a file."""
    if isinstance(function, FunctionInFile):
        return function.load(("jit", "heuristics"))
    if not isinstance(function, str):
        return function
    module, _, name = function.partition(":")
    return getattr(importlib.import_module(module), name)


def source_of(function: Any) -> Path:
    """Return the file of a function, without importing it."""
    if isinstance(function, FunctionInFile):
        return function.path
    if isinstance(function, str):
        module = find_spec(function.partition(":")[0])
        return Path(module.origin) if module and module.origin else Path()
    import inspect  # slow to import, and not needed to list kernels

    return Path(inspect.getsourcefile(inspect.unwrap(getattr(function, "fn", function))) or "")

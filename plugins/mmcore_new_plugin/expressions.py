"""A kernel's declaration, written as the Python code that makes it."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Mapping
from typing import Any

from mmcore.errors import PluginNotWritten
from mmcore.kernel.geometry import Dim3
from mmcore.kernel.declaration import Kernel
from mmcore_new_plugin.layout import Bracketed, CompiledModule, text_literal
from mmcore_new_plugin.transplant import Transplant


def expression(value: object, transplant: Transplant) -> CompiledModule:
    """The code that makes a value; the functions and classes in it are made available by ``transplant``.

    Raises:
        PluginNotWritten: there is no such code for it.
    """

    def code(inner: object) -> CompiledModule:
        return expression(inner, transplant)

    if isinstance(value, str):
        return text_literal(value)
    if value is None or isinstance(value, (bool, int)) or (isinstance(value, float) and math.isfinite(value)):
        return repr(value)
    if isinstance(value, Dim3):
        return code(value[: 3 if value.z > 1 else 2 if value.y > 1 else 1])
    if type(value) is tuple:
        return Bracketed("(", tuple(("", code(each)) for each in value), ")", comma=True)
    if type(value) is list:
        return Bracketed("[", tuple(("", code(each)) for each in value), "]")
    if type(value) is dict:
        return Bracketed("{", tuple((f"{_flat_key(key)}: ", code(each)) for key, each in value.items()), "}")
    if isinstance(value, functools.partial):
        transplant.import_as("functools", "functools", "")
        positional = tuple(("", code(each)) for each in (value.func, *value.args))
        named = tuple((f"{name}=", code(each)) for name, each in value.keywords.items())
        return Bracketed("functools.partial(", positional + named, ")")
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _instance(value, transplant)
    if callable(value):
        return transplant.name_of(value)
    raise PluginNotWritten(f"{value!r} in its declaration cannot be written as code")


def declaration(kernel: Kernel, transplant: Transplant, changed: Mapping[str, CompiledModule]) -> Bracketed:
    """``Kernel(…)`` with all that differs from what it would be anyhow.

    Args:
        kernel: the kernel to declare.
        transplant: makes the launch rule and the constraints available.
        changed: fields that are written otherwise than the kernel has them.
    """
    implied = {"accumulator": kernel.dtype, "output": kernel.accumulator}
    items: list[tuple[str, CompiledModule]] = []
    for field in dataclasses.fields(kernel):
        value = getattr(kernel, field.name)
        if field.name in changed:
            items.append((f"{field.name}=", changed[field.name]))
        elif value != implied.get(field.name, _default(field)):
            items.append((f"{field.name}=", expression(value, transplant)))
    return Bracketed("Kernel(", tuple(items), ")")


def _instance(value: Any, transplant: Transplant) -> Bracketed:
    """``Class(first, second=…)``, without the fields that have their default."""
    fields = [field for field in dataclasses.fields(value) if field.init]
    given = [field for field in fields if getattr(value, field.name) != _default(field)]
    items = tuple(
        (
            "" if field is fields[0] and not field.kw_only else f"{field.name}=",
            expression(getattr(value, field.name), transplant),
        )
        for field in given
    )
    return Bracketed(f"{transplant.name_of(type(value))}(", items, ")")


def _default(field: dataclasses.Field[Any]) -> object:
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return field.default


def _flat_key(key: object) -> str:
    return text_literal(key) if isinstance(key, str) else repr(key)

"""The generated part of hooks.md: ``python docs/hooks.py`` writes it from the declarations of the hooks."""

from __future__ import annotations

import ast
import dataclasses
import importlib
import inspect
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from mmcore import Kernel, hookspecs
from mmcore.registry import registry

PAGE = Path(__file__).with_name("hooks.md")
_GENERATED = re.compile(r"(?<=<!-- hooks: begin -->\n).*(?=<!-- hooks: end -->)", re.DOTALL)
_ROLE = re.compile(r":\w+:`(?:~[\w.]+\.)?([\w.]+)`")
_CLASS = re.compile(r":class:`~?([\w.]+)`")
_RAISES = re.compile(r"\n\nRaises:\n.*", re.DOTALL)
_FIELDS = re.compile(r"^    (\w+(?:, \w+)*): (.*(?:\n {8}.*)*)", re.MULTILINE)
_ELSEWHERE = (Kernel,)  # types whose fields another page explains


def page() -> str:
    """Return the text of the page."""
    functions = hooks()
    table = ["| hook | returns | declared in |", "|---|---|---|"]
    table += [f"| [`{name}`](#{name}) | {_summary(each)} | `{each.__module__}` |" for name, each in functions.items()]
    parts = ["\n".join(table), *(_hook(name, each) for name, each in functions.items())]
    kinds = {kind.__name__: kind for each in functions.values() for kind in _types_of_hook(each)}
    parts += ["## Types of the answers and arguments", *(_explained(kind) for _, kind in sorted(kinds.items()))]
    generated = "\n\n".join(parts)
    return _GENERATED.sub(lambda _: f"\n{generated}\n\n", PAGE.read_text("utf-8"))


def hooks() -> dict[str, Any]:
    """Return the functions that declare mmcore's hooks, by name; those of ``mmcore.hookspecs`` come first."""
    callers = {name: hook for name, hook in vars(registry().hook).items() if not name.startswith("_")}
    functions = {name: hook.spec.function for name, hook in callers.items() if hook.spec}
    order = {name: number for number, name in enumerate(vars(hookspecs))}
    names = sorted(functions, key=lambda name: (order.get(name, len(order)), functions[name].__module__, name))
    return {name: functions[name] for name in names if functions[name].__module__.startswith("mmcore")}


def _hook(name: str, function: Any) -> str:
    """Return a hook's heading, signature and docstring."""
    taken = ", ".join(f"{each.name}: {each.annotation}" for each in inspect.signature(function).parameters.values())
    signature = f"def {name}({taken}) -> {inspect.signature(function).return_annotation}"
    first = "\n\nThe first answer counts." if getattr(registry().hook, name).spec.opts["firstresult"] else ""
    return f"## {name}\n\n```py\n{signature}\n```\n\n{_markdown(inspect.getdoc(function) or '')}{first}"


def _summary(function: Any) -> str:
    """Return the first sentence of a docstring without its verb."""
    sentence = re.split(r"\.(?:\s|$)", _markdown(inspect.getdoc(function) or ""), maxsplit=1)[0]
    return " ".join(sentence.removeprefix("Return ").split())


def _types_of_hook(function: Any) -> Iterator[type]:
    """Yield the types in a hook's signature and docstring, and in the fields of these types."""
    signature, module = inspect.signature(function), function.__module__
    arguments = " ".join(str(each.annotation) for each in signature.parameters.values())
    roles = " ".join(_CLASS.findall(inspect.getdoc(function) or ""))
    kinds = list(_types(f"{signature.return_annotation} {arguments} {roles}", module))
    for kind in kinds:
        kinds += [each for each in _types(" ".join(_annotations(kind).values()), kind.__module__) if each not in kinds]
    yield from kinds


def _types(text: str, module_name: str) -> Iterator[type]:
    """Yield mmcore's classes that a text in a module names, but those that another page explains."""
    imports = _imports(inspect.getsource(sys.modules[module_name]))
    for path, name in re.findall(r"([\w.]+\.)?\b([A-Z]\w+)", text):
        defined = importlib.import_module(path.rstrip(".") or imports.get(name, module_name))
        kind = getattr(defined, name, None)
        if inspect.isclass(kind) and kind.__module__.startswith("mmcore") and kind not in _ELSEWHERE:
            yield kind


def _is_record(kind: type) -> bool:
    return dataclasses.is_dataclass(kind) or hasattr(kind, "_fields")


def _imports(source: str) -> Mapping[str, str]:
    """Return the modules of the names that a module imports, for type checkers too."""
    nodes = (each for each in ast.walk(ast.parse(source)) if isinstance(each, ast.ImportFrom))
    return {alias.name: node.module or "" for node in nodes for alias in node.names}


def _explained(kind: type) -> str:
    """Return a type's heading, text and attributes. Raises KeyError for a record's field without a text."""
    text, _, attributes = _RAISES.sub("", inspect.getdoc(kind) or "").partition("\n\nAttributes:\n")
    attributes, _, more = attributes.partition("\n\n")
    rows = _FIELDS.findall(attributes)
    types, explained = _typed_attributes(kind), {name for names, _ in rows for name in names.split(", ")}
    missing = _annotations(kind).keys() - explained if _is_record(kind) else ()
    if missing:
        raise KeyError(f"{kind.__name__} has no text about {', '.join(sorted(missing))}")
    table = [
        "| attribute | type and default | meaning |",
        "|---|---|---|",
        *(_row(names, what, types) for names, what in rows),
    ]
    heading = f"### {kind.__name__}\n\n`{kind.__module__}.{kind.__name__}`. {_markdown(text)}"
    return "\n\n".join(filter(None, [heading, "\n".join(table) if rows else "", _markdown(more)]))


def _annotations(kind: type) -> dict[str, str]:
    """Return the annotations of a type's fields, the inherited ones first."""
    annotations: dict[str, Any] = {}
    for each in reversed(kind.__mro__):
        annotations |= inspect.get_annotations(each) if each.__module__.startswith("mmcore") else {}
    return {name: getattr(each, "__forward_arg__", each) for name, each in annotations.items()}


def _typed_attributes(kind: Any) -> dict[str, str]:
    """Return the type of each field and property as a text, with its default value if it has one."""
    defaults = {name: getattr(kind, name) for name in vars(kind) if dataclasses.is_dataclass(kind)}
    defaults |= getattr(kind, "_field_defaults", {})
    types = _annotations(kind)
    properties = inspect.getmembers(kind, lambda member: isinstance(member, property))
    returned = {name: each.fget.__annotations__.get("return", "") for name, each in properties}
    return returned | {
        name: f"{each} = {defaults[name]!r}" if name in defaults else each for name, each in types.items()
    }


def _row(names: str, what: str, types: Mapping[str, str]) -> str:
    """Return a row of a table. The type is empty for an attribute that only ``__init__`` sets."""
    attributes = names.split(", ")
    kinds = dict.fromkeys(types.get(name, "") for name in attributes)
    cells = [", ".join(f"`{each}`" for each in texts if each) for texts in (attributes, kinds)]
    return "| " + " | ".join(each.replace("|", r"\|") for each in (*cells, " ".join(_markdown(what).split()))) + " |"


def _markdown(text: str) -> str:
    """Return a docstring's text as Markdown."""
    return _ROLE.sub(r"`\1`", text).replace("``", "`")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")

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
_FIELDS = re.compile(r"^    (\w+(?:, \w+)*): (.*(?:\n {8}.*)*)", re.MULTILINE)
_ELSEWHERE = (Kernel,)  # types whose fields another page explains


def page() -> str:
    """Return the text of the page."""
    functions = hooks()
    table = ["| hook | returns | declared in |", "|---|---|---|"]
    table += [f"| [`{name}`](#{name}) | {_summary(each)} | `{each.__module__}` |" for name, each in functions.items()]
    parts = ["\n".join(table), *(_hook(name, each) for name, each in functions.items())]
    records = {name: kind for each in functions.values() for name, kind in _records(each)}
    parts += ["## Types of the answers", *(_record(kind) for _, kind in sorted(records.items()))]
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


def _records(function: Any) -> Iterator[tuple[str, type]]:
    """Yield the types in a hook's answer that have fields."""
    module = sys.modules[function.__module__]
    imports = _imports(inspect.getsource(module))
    for name in re.findall(r"\b[A-Z]\w+", inspect.signature(function).return_annotation):
        defined = importlib.import_module(imports[name]) if name in imports else module
        kind = getattr(defined, name, None)
        has_fields = dataclasses.is_dataclass(kind) or hasattr(kind, "_fields")
        if has_fields and kind not in _ELSEWHERE:
            yield name, kind


def _imports(source: str) -> Mapping[str, str]:
    """Return the modules of the names that a module imports, for type checkers too."""
    nodes = (each for each in ast.walk(ast.parse(source)) if isinstance(each, ast.ImportFrom))
    return {alias.name: node.module or "" for node in nodes for alias in node.names}


def _record(kind: type) -> str:
    """Return the heading of a type, the text about it, and its fields. Raises KeyError for a field without a text."""
    text, _, attributes = (inspect.getdoc(kind) or "").partition("\n\nAttributes:\n")
    explained = {name: (names, what) for names, what in _FIELDS.findall(attributes) for name in names.split(", ")}
    types = dict(_typed_fields(kind))
    rows = dict.fromkeys(explained[name] for name in types)
    table = [
        "| field | type and default | meaning |",
        "|---|---|---|",
        *(_row(names, types, what) for names, what in rows),
    ]
    return f"### {kind.__name__}\n\n`{kind.__module__}.{kind.__name__}`. {_markdown(text)}\n\n" + "\n".join(table)


def _typed_fields(kind: Any) -> Iterator[tuple[str, str]]:
    """Yield the names of a type's fields, each with its type, and with its default value if it has one."""
    defaults = {name: getattr(kind, name) for name in vars(kind) if dataclasses.is_dataclass(kind)}
    defaults |= getattr(kind, "_field_defaults", {})
    for name, annotation in inspect.get_annotations(kind).items():
        text = getattr(annotation, "__forward_arg__", annotation)
        yield name, f"{text} = {defaults[name]!r}" if name in defaults else text


def _row(names: str, types: Mapping[str, str], what: str) -> str:
    fields = names.split(", ")
    cells = [", ".join(f"`{each}`" for each in texts) for texts in (fields, dict.fromkeys(types[n] for n in fields))]
    return "| " + " | ".join(each.replace("|", r"\|") for each in (*cells, " ".join(_markdown(what).split()))) + " |"


def _markdown(text: str) -> str:
    """Return a docstring's text as Markdown."""
    return _ROLE.sub(r"`\1`", text).replace("``", "`")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")

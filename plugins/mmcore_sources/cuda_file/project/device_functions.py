"""Device functions that a file calls and another source of its project defines, which a linker would connect."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from mmcore_cuda.cuda_source.tokens import words
from mmcore_cuda.cuda_source.tree import Node, parse, text_of, walk
from mmcore_sources.cuda_file.project.sources import sources_of_project

_ON_DEVICE = re.compile(r"\b__device__\b")


def with_device_functions(path: Path, text: str, headers: Iterable[str]) -> tuple[str, dict[str, str], tuple[str, ...]]:
    """Return a source with the device functions that it lacks at its end, their files by name, and the missing names.

    Functions that a header or the source declares, that it calls, and that neither defines are looked for.
    """
    declared, defined = set[str](), set[str]()
    for content in (text, *headers):
        for node in _functions(content) if _ON_DEVICE.search(content) else ():
            on_device = _ON_DEVICE.search(text_of(node).partition("{")[0])
            (defined if node.type == "function_definition" else declared).update([_name(node)] if on_device else [])
    missing = (declared - defined) & words(text.encode())
    found: dict[str, str] = {}
    for other, content in sources_of_project(path) if missing else ():
        for node in _functions(content) if any(name in content for name in missing) else ():
            name, head = _name(node), text_of(node).partition("{")[0]
            if node.type == "function_definition" and name in missing and _ON_DEVICE.search(head):
                text += f"\n{(node.text or b'').decode(errors='replace')}\n"
                found[name] = other.name
                missing.discard(name)
    return text, found, tuple(sorted(missing))


def _functions(text: str) -> Iterator[Node]:
    """Yield the declarations and definitions of functions, except templates."""
    for node in walk(parse(text.encode())):
        generic = node.parent is not None and node.parent.type == "template_declaration"
        if node.type in ("declaration", "function_definition") and not generic and _declarator(node) is not None:
            yield node


def _declarator(node: Node) -> Node | None:
    inner = node.child_by_field_name("declarator")
    while inner is not None and inner.type in ("pointer_declarator", "reference_declarator"):
        inner = inner.child_by_field_name("declarator") or next(iter(inner.named_children), None)
    return inner if inner is not None and inner.type == "function_declarator" else None


def _name(node: Node) -> str:
    declarator = _declarator(node)
    named = None if declarator is None else declarator.child_by_field_name("declarator")
    return "" if named is None else text_of(named).rpartition("::")[2]

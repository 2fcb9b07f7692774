"""Values as Python expressions, broken over lines the way ruff breaks them."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from typing import TypeAlias

WIDTH = 120

CompiledModule: TypeAlias = "str | Bracketed"


@dataclass(frozen=True)
class Bracketed:
    """An expression in brackets: a call, a tuple, a dictionary.

    Attributes:
        opening: what stands before the items, such as "Kernel(".
        items: (prefix, code) each; the prefix is a keyword with its "=", a key with its ":", or empty.
        closing: the closing bracket.
        comma: whether one item alone is followed by a comma, as in a tuple.
    """

    opening: str
    items: tuple[tuple[str, CompiledModule], ...]
    closing: str
    comma: bool = False


def flat(code: CompiledModule) -> str:
    """The expression on one line."""
    if isinstance(code, str):
        return code
    inner = ", ".join(prefix + flat(item) for prefix, item in code.items)
    return f"{code.opening}{inner}{',' if code.comma and len(code.items) == 1 else ''}{code.closing}"


def broken(prefix: str, code: CompiledModule, indent: int) -> list[str]:
    """The lines of an item in a list: on one line if it fits, with a comma at the end."""
    line = f"{' ' * indent}{prefix}{flat(code)},"
    if len(line) <= WIDTH:
        return [line]
    if isinstance(code, Bracketed):
        inner = [line for name, item in code.items for line in broken(name, item, indent + 4)]
        return [f"{' ' * indent}{prefix}{code.opening}", *inner, f"{' ' * indent}{code.closing},"]
    return _broken_text(prefix, code, indent) if _is_plain_text(code) else [line]


def _is_plain_text(code: str) -> bool:
    return code.startswith('"') and "\\" not in code and " " in code


def _broken_text(prefix: str, code: str, indent: int) -> list[str]:
    """A string literal as several that Python joins."""
    width = WIDTH - indent - 4 - len('""')
    parts = textwrap.wrap(code[1:-1], width - 1, drop_whitespace=False, break_long_words=False, break_on_hyphens=False)
    lines = [f'{" " * (indent + 4)}"{part}"' for part in parts]
    return [f"{' ' * indent}{prefix}(", *lines, f"{' ' * indent}),"]


def text_literal(text: str) -> str:
    """A string literal, in double quotes unless it has some in it."""
    literal = repr(text)
    if literal.startswith("'") and '"' not in text:
        literal = '"' + literal[1:-1].replace("\\'", "'") + '"'
    return literal

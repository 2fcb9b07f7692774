"""Macros that launch kernels: each use is replaced by the launch, which the names of the host function surround."""

from __future__ import annotations

import re

_DEFINED = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)\(([^()]*)\)((?:\\\n|[^\n])*)", re.MULTILINE)
_WORD = re.compile(r"(?:\s*##\s*)?\b([A-Za-z_]\w*)\b(?:\s*##\s*)?")
_MOST_LEVELS, _MOST_USES = 3, 200


def with_launches(text: str) -> str:
    """Return a source with the uses of its launching macros replaced; lines keep their numbers."""
    for _ in range(_MOST_LEVELS if "<<<" in text else 0):
        macros = {name: ([each.strip() for each in listed.split(",")], body.replace("\\\n", " "))
                  for name, listed, body in _DEFINED.findall(text) if "<<<" in body}  # fmt: skip
        expanded = _expanded(text, macros) if macros else text
        if expanded == text:
            break
        text = expanded
    return text


def _expanded(text: str, macros: dict[str, tuple[list[str], str]]) -> str:
    definitions = [match.span() for match in _DEFINED.finditer(text)]
    uses = list(re.finditer(rf"\b(?:{'|'.join(map(re.escape, macros))})\b\s*\(", text))[:_MOST_USES]
    for use in reversed(uses):
        if any(begin <= use.start() < end for begin, end in definitions):
            continue
        names, body = macros[use[0].rstrip("( \t\n")]
        arguments, end = _arguments(text, use.end())
        if len(arguments) == len(names):
            values = dict(zip(names, arguments, strict=True))
            launch = _WORD.sub(lambda word: values[word[1]] if word[1] in values else word[0], body)  # noqa: B023
            lines = "\n" * text.count("\n", use.start(), end)
            text = f"{text[: use.start()]}{' '.join(launch.split())}{lines}{text[end:]}"
    return text


def _arguments(text: str, begin: int) -> tuple[list[str], int]:
    """Return the arguments of a macro that begin at a position, and the position after them; none without an end."""
    depth, start, arguments = 0, begin, list[str]()
    for position in range(begin, len(text)):
        sign = text[position]
        if sign in "([{":
            depth += 1
        elif sign == "," and not depth:
            arguments.append(" ".join(text[start:position].split()))
            start = position + 1
        elif sign in ")]}":
            if not depth:
                return [*arguments, " ".join(text[start:position].split())], position + 1
            depth -= 1
    return [], begin

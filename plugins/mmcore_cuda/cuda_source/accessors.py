"""Macros that access an array, compute an index or launch a kernel, such as ``#define A(i, j) a[(i) * n + (j)]``."""

from __future__ import annotations

import re

from mmcore_cuda.cuda_source.tokens import blank, code, directives, without_comments

_DEFINITION = re.compile(rb"[ \t]+(?P<name>\w+)\((?P<parameters>[\w\s,]*)\)(?P<value>.*)", re.DOTALL)
_ACCESS = re.compile(rb".*(?:\w|\(\w+\))\s*\[.*|(?=.*\*)(?=.*\+)[\w\s()*+]+", re.DOTALL)
_PLACE = re.compile(rb"[ \t]+(?P<name>\w+)[ \t]+(?P<value>[^\n]*\b(?:thread|block)(?:Idx|Dim)\.[^\n]*)")
_WORD = re.compile(rb"\b[A-Za-z_]\w*\b")
_MOST = 2000  # calls that are replaced


def without_accessors(content: bytes) -> bytes:
    """Return a source with the calls of such macros replaced by the accesses and launches, in the same lines.

    Macros that stand for a thread's place, such as ``#define tx threadIdx.x``, are replaced, too.
    """
    content = _without_places(content)
    macros: dict[bytes, tuple[list[bytes], bytes]] = {}
    for each in directives(content):
        macro = _DEFINITION.match(each.text) if each.word == "define" else None
        value = without_comments(macro["value"]).replace(b"\\\n", b" ").strip() if macro is not None else b""
        launches = b"<<<" in value
        if macro is not None and (launches or (b";" not in value and _ACCESS.fullmatch(value))):
            macros[macro["name"]] = (
                [name.strip() for name in macro["parameters"].split(b",")],
                value if launches or b"[" in value else b"(%s)" % value,
            )
    if not macros:
        return content
    calls = re.compile(rb"\b(?:" + b"|".join(map(re.escape, macros)) + rb")\s*\(")
    visible, position, parts = code(content), 0, list[bytes]()
    for call in calls.finditer(visible):
        arguments, end = _arguments(visible, content, call.end())
        parameters, value = macros[call[0].rstrip(b"( \t\r\n")]
        if call.start() >= position and len(arguments) == len(parameters) and len(parts) < _MOST:
            values = dict(zip(parameters, arguments, strict=True))
            access = _WORD.sub(lambda word, values=values: values.get(word[0], word[0]), value)  # type: ignore[misc]
            lines = re.sub(rb"[^\n]", b"", blank(content[call.start() : end]))
            parts += [content[position : call.start()], access, lines]
            position = end
    return b"".join([*parts, content[position:]])


def _without_places(content: bytes) -> bytes:
    macros = [macro for each in directives(content) if each.word == "define" and (macro := _PLACE.fullmatch(each.text))]
    places = {macro["name"]: macro["value"].strip() for macro in macros}
    if not places:
        return content
    visible, position, parts = code(content), 0, list[bytes]()
    for word in _WORD.finditer(visible):
        if word[0] in places:
            parts += [content[position : word.start()], places[word[0]]]
            position = word.end()
    return b"".join([*parts, content[position:]])


def _arguments(visible: bytes, content: bytes, begin: int) -> tuple[list[bytes], int]:
    """Return the arguments of a call whose parenthesis is before ``begin``, and the position after the call."""
    arguments, depth, first = list[bytes](), 1, begin
    for position in range(begin, len(visible)):
        sign = visible[position : position + 1]
        depth += (sign in b"([{") - (sign in b")]}")
        if not depth or (sign == b"," and depth == 1):
            arguments.append(b" ".join(content[first:position].split()))
            first = position + 1
        if not depth:
            return arguments, position + 1
    return [], len(visible)

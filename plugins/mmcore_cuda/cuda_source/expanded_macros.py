"""The calls of macros in a source, replaced by the code that they stand for.

Numbers and types such as ``#define TILE 32`` keep their names, because a config may give other values. Every other
macro is replaced as the preprocessor does it. Lines keep their numbers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from mmcore_cuda.cuda_source.tokens import Directive, code, directives, without_comments

_DEFINITION = re.compile(rb"\s+(?P<name>\w+)(?:\((?P<parameters>[\w\s,.]*)\))?(?P<text>.*)", re.DOTALL)
# The text of a macro without parameters that is no number, type or name: a list, a statement, a thread's place.
_CODE = re.compile(rb"[,;{}=\[\]]|<<<|\b__\w+__\b|\b(?:thread|block)(?:Idx|Dim)\b|\bconst\b|^$")
_LAUNCH = re.compile(rb"\s*(?:<[^;(){}]*>\s*)?<<<")  # after the name of a kernel
_MOST_NAMED = 200
_PASTED = re.compile(rb"\s*##\s*")
_STRING = re.compile(rb"#\s*([A-Za-z_]\w*)")
_PRAGMA = re.compile(rb'\b_Pragma\s*\(\s*"[^"\n]*"\s*\)')
_WORD = re.compile(rb"\b[A-Za-z_]\w*\b")
# (i) + (j), which reads like a cast of +j to the type i, as does (i * (j)) + k.
_BEFORE_OPERAND = re.compile(rb"(?:^|[^\w\s)\]]|\breturn)\s*\($")
_AFTER_OPERAND = re.compile(rb"\)\s*(?:[-+*/%&),\]]|$)")
_VARIABLE = re.compile(rb"(?!(?:char|short|int|long|unsigned|float|double|half|__\w+|\w+_t)\b)[A-Za-z_]\w*")
_LEFT, _RIGHT = b"([{", b")]}"
_MOST_CALLS, _LONGEST = 20_000, 1 << 18
_REST = b"__VA_ARGS__"


@dataclass(frozen=True)
class Definition:
    """A definition of a macro: its parameters, None unless it has a list of them, and its text."""

    name: bytes
    parameters: tuple[bytes, ...] | None
    text: bytes

    def is_code(self, following: bytes) -> bool:
        """Return whether it stands for code where a text follows it, and not for a number, a type or a name."""
        code = self.parameters is not None or _CODE.search(self.text) is not None
        return code or _LAUNCH.match(following) is not None


def definitions(content: bytes) -> Iterator[Definition]:
    """Yield the macros that a source defines."""
    found = (_definition(each) for each in directives(content) if each.word == "define")
    return (each for each in found if each is not None)


def _definition(directive: Directive) -> Definition | None:
    """Return the macro that ``#define`` defines."""
    text = re.sub(rb"\\\r?\n", b" ", without_comments(directive.text))
    match = _DEFINITION.fullmatch(text)
    if match is None:
        return None
    listed = match["parameters"]
    parameters = None if listed is None else tuple(each.strip() for each in listed.split(b",") if each.strip())
    return Definition(match["name"], parameters, _PRAGMA.sub(b"", match["text"]).strip())


class Macros:
    """The macros that are defined at a place of a source, at first those of its headers."""

    def __init__(self, of_headers: Iterable[Definition] = ()) -> None:
        self._macros = {each.name: each for each in of_headers}
        self._calls = 0

    def expanded(self, content: bytes) -> bytes:
        """Return a source with its macros expanded, which are those at its end from then on."""
        begin, parts, own = 0, list[bytes](), set[bytes]()
        for each in (one for one in directives(content) if one.word in ("define", "undef")):
            parts += [self.expanded_text(content[begin : each.begin]), content[each.begin : each.end]]
            begin, definition = each.end, _definition(each)
            if each.word == "undef":
                self._macros.pop(each.text.strip(), None)
                own.discard(each.text.strip())
            elif definition is not None and definition.name not in own:  # of several in branches, the first
                self._macros[definition.name] = definition
                own.add(definition.name)
        return b"".join([*parts, self.expanded_text(content[begin:])])

    def expanded_text(self, text: bytes, within: frozenset[bytes] = frozenset()) -> bytes:
        """Return a text without calls of macros, except of those that it is the text of."""
        if not self._macros:
            return text
        visible, position, parts = code(text), 0, list[bytes]()
        for word in _WORD.finditer(visible):
            macro = self._macros.get(word[0])
            if (
                macro is None
                or word.start() < position
                or word[0] in within
                or not macro.is_code(visible[word.end() : word.end() + _MOST_NAMED])
            ):
                continue
            arguments, end = _arguments(visible, text, word.end()) if macro.parameters is not None else ([], word.end())
            values = _values(macro, arguments) if arguments is not None else None
            if values is None or self._calls >= _MOST_CALLS:
                continue
            self._calls += 1
            inner = {name: self.expanded_text(value, within) for name, value in values.items()}
            replaced = self.expanded_text(_substituted(macro.text, values, inner), within | {word[0]})
            if len(replaced) <= _LONGEST:
                parts += [text[position : word.start()], _on_lines(replaced, text.count(b"\n", word.start(), end))]
                position = end
        return b"".join([*parts, text[position:]])


def _arguments(visible: bytes, text: bytes, begin: int) -> tuple[list[bytes] | None, int]:
    """Return the arguments in parentheses after a position, None without them, and the position after the call."""
    while visible[begin : begin + 1].isspace():
        begin += 1
    if visible[begin : begin + 1] != b"(":
        return None, begin
    arguments, depth, first = list[bytes](), 0, begin + 1
    for position in range(begin, len(visible)):
        sign = visible[position : position + 1]
        depth += (sign in _LEFT) - (sign in _RIGHT)
        if not depth or (sign == b"," and depth == 1):
            argument = without_comments(text[first:position]).strip(b" \t")
            arguments.append(argument if b";" in argument else b" ".join(argument.split()))
            first = position + 1
        if not depth:
            return arguments, position + 1
    return None, len(visible)


def _values(macro: Definition, arguments: list[bytes]) -> dict[bytes, bytes] | None:
    """Return the arguments of a call by parameter; None if it has others than the macro."""
    names = macro.parameters or ()
    if names and names[-1].endswith(b"..."):
        count = len(names) - 1
        rest = b", ".join(arguments[count:])
        names, arguments = (*names[:-1], names[-1].removesuffix(b"...") or _REST), [*arguments[:count], rest]
    elif not names and arguments == [b""]:
        arguments = []
    return dict(zip(names, arguments, strict=True)) if len(names) == len(arguments) else None


def _substituted(text: bytes, raw: Mapping[bytes, bytes], inner: Mapping[bytes, bytes]) -> bytes:
    """Return a macro's text with its arguments: the raw ones beside ``##``, otherwise with their macros replaced."""
    text = re.sub(rb",\s*##\s*(?=__VA_ARGS__\b)", b"," if raw.get(_REST, b"").strip() else b"", text)
    parts = _PASTED.split(text)
    if len(parts) > 1:
        return b"".join(_with(each, raw) for each in parts)
    return _with(text, inner)


def _with(text: bytes, values: Mapping[bytes, bytes]) -> bytes:
    """Return a text with values in place of names, and with ``""`` in place of ``#name``."""
    text = _STRING.sub(lambda word: b'""' if word[1] in values else word[0], text)
    visible, position, parts = code(text), 0, list[bytes]()
    for word in _WORD.finditer(visible):
        if word[0] in values:
            value, (begin, end) = values[word[0]], word.span()
            is_operand = _AFTER_OPERAND.match(visible, end) and _BEFORE_OPERAND.search(visible, 0, begin)
            if is_operand and _VARIABLE.fullmatch(value):
                begin, end = begin - 1, end + 1
            parts += [text[position:begin], value]
            position = end
    return b"".join([*parts, text[position:]])


def _on_lines(text: bytes, count: int) -> bytes:
    """Return a text with ``count`` ends of lines; statements in an argument, the last one mostly, keep their lines."""
    missing = count - text.count(b"\n")
    if missing < 0 or missing == count:
        return b" ".join(text.split(b"\n")) + b"\n" * count
    return b"\n" * missing + text

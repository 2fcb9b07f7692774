"""String literals of a Python file, with the line and the column of each part."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from mmcore_sources.python_file.program import keywords_of

_QUOTES = re.compile(r"([A-Za-z]*)('''|\"\"\"|'|\")")
_PERCENT = re.compile(r"%(?:\((\w+)\))?[-#0 +]*\d*(?:\.\d+)?[sdiugfr]|%%")
_BRACES = re.compile(r"\{\{|\}\}|\{(\w*)[^{}]*\}")
_DOLLARS = re.compile(r"\$\$|\$(\w+)|\$\{(\w+)\}")
_RENDERED = re.compile(r"\{\{\s*(\w+)\s*\}\}|\$\{(\w+)\}")  # Jinja's and Mako's

_DEEPEST, _LONGEST = 40, 200_000


@dataclass(frozen=True)
class Piece:
    """A part of one line of a string: its text, which may end in a line break, and its place in the file."""

    text: str
    line: int
    column: int


@dataclass(frozen=True)
class Literal:
    """A string whose parts are literals of the file."""

    pieces: tuple[Piece, ...]
    names: frozenset[str] = frozenset()  # the names of numbers in its placeholders

    @property
    def text(self) -> str:
        return "".join(piece.text for piece in self.pieces)

    def lines(self) -> dict[int, str]:
        """Return the text of each line of the file that the string has a part in, at its columns.

        Several lines of the string in one line of the file are joined, or follow it under a ``#line`` if they cannot.
        """
        lines: dict[int, str] = {}
        for piece in self.pieces:
            before = lines.get(piece.line, "")
            if before.endswith("\n") and not re.search("#|//", before + piece.text):
                before = f"{before[:-1]} "
            lines[piece.line] = f"{before}{piece.text}" if before else " " * piece.column + piece.text
        return {
            line: f"{text}\n#line {line + 1}" if "\n" in (text := found.removesuffix("\n")) else text
            for line, found in lines.items()
        }

    def replaced(self, pattern: re.Pattern[str], value: Callable[[re.Match[str]], str]) -> Literal:
        """Return the string with each match in a line replaced."""
        return replace(self, pieces=tuple(replace(each, text=pattern.sub(value, each.text)) for each in self.pieces))


@dataclass(frozen=True)
class LiteralReader:
    """The evaluation of string expressions.

    Attributes:
        source: the lines of the file.
        strings: the expressions assigned to names.
        value: returns the C++ text of an expression for a placeholder, or "" if it is unknown.
    """

    source: Sequence[str]
    strings: Mapping[str, ast.expr]
    value: Callable[[ast.expr], str]
    _known: dict[int, Literal | None] = field(default_factory=dict)

    def read(self, node: ast.expr, depth: int = 0) -> Literal | None:
        """Return the string that an expression makes of literals; None if it makes none, or a very long one."""
        if depth > _DEEPEST:
            return None
        if id(node) not in self._known:
            literal = self._read(node, depth)
            self._known[id(node)] = literal if literal is None or len(literal.text) <= _LONGEST else None
        return self._known[id(node)]

    def _read(self, node: ast.expr, depth: int) -> Literal | None:
        match node:
            case ast.Constant(value=str()):
                return Literal(tuple(self._constant(node)))
            case ast.JoinedStr():
                return self._formatted(node)
            case ast.Name(name) | ast.Attribute(ast.Name("self" | "cls"), name):
                assigned = self.strings.get(ast.unparse(node), self.strings.get(name))
                return None if assigned is None else self.read(assigned, depth + 1)
            case ast.IfExp(_, one, other):
                return self.read(one, depth + 1) or self.read(other, depth + 1)
            case ast.Subscript(ast.Name(name), ast.Constant(value=int(position))) if name in self.strings:
                listed = self.strings[name]
                parts = listed.elts if isinstance(listed, ast.List | ast.Tuple) else []
                return self.read(parts[position], depth + 1) if -len(parts) <= position < len(parts) else None
            case ast.BinOp(left, ast.Add(), right):
                return self._joined([left, right], depth)
            case ast.BinOp(left, ast.Mod(), right) if (text := self.read(left, depth + 1)) is not None:
                parts = right.elts if isinstance(right, ast.Tuple) else [right]
                values = self._named(right) or {str(position): each for position, each in enumerate(parts)}
                return self._filled(text, _PERCENT, values)
            case ast.Call(ast.Attribute(ast.Constant(value=str()), "join"), [ast.List(parts) | ast.Tuple(parts)]):
                return self._joined(parts, depth)
            case ast.Call(ast.Attribute(_, "dedent" | "Template") | ast.Name("dedent" | "Template"), [argument]):
                return self.read(argument, depth + 1)
            case ast.Call(ast.Name("str"), [number]):
                return Literal((Piece(self._value(number), node.lineno, node.col_offset),), self._names([number]))
            case ast.Call(ast.Attribute(owner, method), arguments, keywords):
                return self._method(owner, method, arguments, keywords, depth)
            case ast.List(parts) | ast.Tuple(parts) if parts:
                return self._joined(parts, depth)
        return None

    def _method(
        self, owner: ast.expr, method: str, arguments: list[ast.expr], keywords: list[ast.keyword], depth: int
    ) -> Literal | None:
        text = self.read(owner, depth + 1)
        if text is None:
            return None
        values = {each.arg: each.value for each in keywords if each.arg} | {
            str(position): each for position, each in enumerate(arguments)
        }
        match method:
            case "render":
                return self._filled(text, _RENDERED, values)
            case "format" | "format_map":
                return self._filled(text, _BRACES, values or self._named(arguments[0] if arguments else None))
            case "substitute" | "safe_substitute":
                given = [*map(self._named, arguments), values]
                return self._filled(text, _DOLLARS, {name: node for each in given for name, node in each.items()})
            case "replace" if len(arguments) == 2:
                old, new = self.read(arguments[0]), self.read(arguments[1])
                put = new.text if new is not None else self._value(arguments[1])
                if old is None or not old.text:
                    return text
                filled = text.replaced(re.compile(re.escape(old.text)), lambda _: put)
                return replace(filled, names=filled.names | self._names([arguments[1]]))
            case "strip" | "lstrip" | "rstrip" | "encode":
                return text
        return None

    def _joined(self, parts: Sequence[ast.expr], depth: int) -> Literal | None:
        read = [self.read(each, depth + 1) for each in parts]
        known = [each for each in read if each is not None]
        names = frozenset[str]().union(*(each.names for each in known))
        return Literal(tuple(piece for each in known for piece in each.pieces), names) if known else None

    def _named(self, node: ast.expr | None) -> dict[str, ast.expr]:
        """Return the values of a dictionary by name."""
        if isinstance(node, ast.Name) and node.id in self.strings:
            node = self.strings[node.id]
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "dict":
            return keywords_of(node)
        pairs = zip(node.keys, node.values, strict=True) if isinstance(node, ast.Dict) else ()
        return {str(key.value): value for key, value in pairs if isinstance(key, ast.Constant)}

    def _value(self, node: ast.expr) -> str:
        """Return the text of a value: its literals, or else its expression as one name."""
        if (literal := self.read(node)) is not None:
            return literal.text
        return self.value(node) or re.sub(r"\W+", "_", ast.unparse(node)).strip("_")

    def _filled(self, text: Literal, pattern: re.Pattern[str], values: Mapping[str, ast.expr]) -> Literal:
        position = iter(range(len(values) + 1))

        def value(match: re.Match[str]) -> str:
            if match[0] in ("%%", "{{", "}}", "$$"):
                return match[0][0]
            name = next((each for each in match.groups() if each), "") or str(next(position, ""))
            return self._value(values[name]) if name in values else name if name.isidentifier() else match[0]

        filled = text.replaced(pattern, value)
        return replace(filled, names=filled.names | self._names(values.values()))

    def _formatted(self, node: ast.JoinedStr) -> Literal:
        """Return an f-string; its parts have no places of their own before Python 3.12, so lines are counted."""
        line, pieces = node.lineno, list[Piece]()
        for part in node.values:
            text = str(part.value) if isinstance(part, ast.Constant) else ""
            if isinstance(part, ast.FormattedValue):
                text = self._value(part.value)
            for each in text.splitlines(keepends=True):
                pieces.append(Piece(each, line, node.col_offset if line == node.lineno else 0))
                line += each.endswith("\n")
        values = (each.value for each in node.values if isinstance(each, ast.FormattedValue))
        return Literal(tuple(pieces), self._names(values))

    def _names(self, values: Iterable[ast.expr]) -> frozenset[str]:
        """Return the names in the texts of values that are no strings, and those in the placeholders of strings."""
        found = set[str]()
        for each in values:
            literal = self.read(each)
            found |= {*re.findall(r"[A-Za-z_]\w*", self._value(each))} if literal is None else literal.names
        return frozenset(found)

    def _constant(self, node: ast.Constant) -> list[Piece]:
        lines = list(self.source[node.lineno - 1 : node.end_lineno])
        lines[-1] = _prefix(lines[-1], node.end_col_offset or 0)
        begin = _prefix(lines[0], node.col_offset)
        lines[0] = lines[0][len(begin) :]
        pieces: list[Piece] = []
        try:
            tokens = [*tokenize.generate_tokens(io.StringIO("(" + "\n".join(lines) + ")").readline)]
        except (tokenize.TokenError, SyntaxError, IndentationError):
            return [Piece(each, node.lineno, 0) for each in str(node.value).splitlines(keepends=True)]
        for token in (each for each in tokens if each.type == tokenize.STRING):
            row, column = token.start
            column += len(begin) - 1 if row == 1 else 0
            pieces += _of_token(token.string, node.lineno + row - 1, column)
        return pieces


def _prefix(line: str, size: int) -> str:
    """Return the first bytes of a line, which the syntax tree counts."""
    return line.encode()[:size].decode(errors="ignore")


def _of_token(token: str, line: int, column: int) -> list[Piece]:
    """Return the parts of one literal, line by line, with its escapes evaluated."""
    opening = _QUOTES.match(token)
    assert opening is not None
    prefix, quotes = opening.groups()
    body = token[opening.end() : -len(quotes)].split("\n")
    pieces: list[Piece] = []
    for offset, text in enumerate(body):
        last = offset == len(body) - 1
        value = text
        continued = False
        if "r" not in prefix.lower():
            continued = not last and (len(text) - len(text.rstrip("\\"))) % 2 == 1
            value = ast.literal_eval(f"{prefix}{quotes}{text.removesuffix(chr(92)) if continued else text} {quotes}")
            value = (value.decode(errors="replace") if isinstance(value, bytes) else value)[:-1]
        value += "" if last or continued else "\n"
        place = line + offset, column + opening.end() if offset == 0 else 0
        value = value.encode(errors="replace").decode()  # an escape may be half of a character
        pieces += [Piece(each, *place) for each in value.splitlines(keepends=True)]
    return pieces

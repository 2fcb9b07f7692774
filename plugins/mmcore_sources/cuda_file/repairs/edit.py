"""A change of a source that keeps its lines."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from mmcore_cuda.cuda_source.tree import Node, identifiers, initializers, parse, text_of, walk

INDENT = "    "


@dataclass(frozen=True)
class Edit:
    """A changed source.

    Attributes:
        text: the whole source after the change.
        line: the first changed line.
        what: the change in words: "Bs[ty][tx] instead of Bs[tx][ty]".
        lines: all changed lines.
    """

    text: str
    line: int
    what: str
    lines: tuple[int, ...]


def before(node: Node, text: str) -> tuple[Node, str]:
    """Return the change of a node's first word that puts a text before it, so that the rest can change, too."""
    while node.children:
        node = node.children[0]
    return node, f"{text} {text_of(node)}"


def replaced(source: bytes, changes: Iterable[tuple[Node, str]], what: str = "") -> Edit:
    """Return a source in which some nodes have other texts of one line each.

    A node within another one of them is not changed by itself.
    """
    pairs = sorted(changes, key=lambda each: (each[0].start_byte, -each[0].end_byte))
    text, at = b"", 0
    for node, new in pairs:
        if node.start_byte < at:
            continue
        text += source[at : node.start_byte] + new.encode()
        at = node.end_byte
    first, new = pairs[0]
    named = what or f"{new} instead of {text_of(first)}"
    lines = sorted({node.start_point.row + 1 for node, _ in pairs})
    return Edit((text + source[at:]).decode(), first.start_point.row + 1, named, tuple(lines))


def in_lines(edit: Edit) -> str:
    """Return a change in words, with all changed lines."""
    text = edit.text.splitlines()
    if len(edit.lines) == 1:
        return f"{edit.what} in line {edit.line}:\n{INDENT}{text[edit.line - 1].strip()}"
    *numbers, last = map(str, edit.lines)
    shown = (numbered(number, text[number - 1]) for number in edit.lines)
    return "\n".join([f"{edit.what} in lines {', '.join(numbers)} and {last}:", *shown])


def numbered(number: int, line: str) -> str:
    """Return one of several changed lines with its number."""
    return f"{number:>{len(INDENT) + 1}}  {line.strip()}"


def reads_itself(edit: Edit) -> bool:
    """Return whether a variable that is declared in the first changed line is read in its own initializer."""
    nodes = (each for each in walk(parse(edit.text.encode())) if each.type == "declaration")
    declared = (pair for node in nodes for pair in initializers(node))
    return any(name in {*identifiers(value)} for name, value in declared if value.start_point.row == edit.line - 1)

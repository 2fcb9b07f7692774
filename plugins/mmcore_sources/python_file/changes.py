"""Changes of a function in a Python file that keep its lines, to be tried as repairs."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from mmcore_sources.python_file.extraction import FunctionInFile

_INDENT = "    "
_NEIGHBOURS = {ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">"}


@dataclass(frozen=True)
class Change:
    """Nodes with their new texts, and the change in words; empty for "NEW instead of OLD"."""

    nodes: tuple[tuple[ast.AST, str], ...]
    what: str = ""


def syntax_tree(function: FunctionInFile) -> ast.FunctionDef:
    """Return the syntax tree of a function in a file, the last one of its name."""
    functions = (each for each in ast.walk(ast.parse(function.text)) if isinstance(each, ast.FunctionDef))
    return [each for each in functions if each.name == function.name][-1]


def changed_functions(function: FunctionInFile, changes: Iterable[Change]) -> Iterator[tuple[FunctionInFile, str]]:
    """Yield changed functions, each with the change in words and the lines that it changes."""
    for change in changes:
        text, what = described(function.text, change, function.lines_before)
        yield replace(function, text=text), what


def described(text: str, change: Change, lines_before: int) -> tuple[str, str]:
    """Return a changed text, and the change in words with the lines that it changes, counted from a cell's first."""
    changed = _changed_text(text, change.nodes)
    first, new = change.nodes[0]
    lines = sorted({_place(node)[0] for node, _ in change.nodes})
    *numbers, last = [str(line - lines_before) for line in lines]
    places = f"{', '.join(numbers)} and {last}" if numbers else last
    what = change.what or f"{new} instead of {ast.unparse(first)}"
    shown = "".join(f"\n{_INDENT}{changed.split(chr(10))[line - 1].strip()}" for line in lines)
    return changed, f"{what} in line{'s' * (len(lines) > 1)} {places}:{shown}"


def _place(node: ast.AST) -> tuple[int, int]:
    assert isinstance(node, ast.expr | ast.stmt)
    return node.lineno, node.col_offset


def _changed_text(text: str, nodes: Iterable[tuple[ast.AST, str]]) -> str:
    lines = text.encode().split(b"\n")
    for node, new in sorted(nodes, key=lambda each: _place(each[0]), reverse=True):
        assert isinstance(node, ast.expr | ast.stmt)
        last = node.end_lineno or node.lineno
        rest = lines[last - 1][node.end_col_offset :]
        lines[node.lineno - 1] = lines[node.lineno - 1][: node.col_offset] + new.encode() + rest
        for line in range(node.lineno, last):  # a blank line keeps the lines below at their places
            lines[line] = b""
    return b"\n".join(lines).decode()


def comparisons(function: ast.FunctionDef) -> Iterator[Change]:
    """Yield changes of "and" into "or" and of comparisons into their neighbours."""
    for node in ast.walk(function):
        if isinstance(node, ast.BoolOp):
            word = " and " if isinstance(node.op, ast.Or) else " or "
            new = word.join(f"({ast.unparse(each)})" if isinstance(each, ast.BoolOp) else ast.unparse(each)
                            for each in node.values)  # fmt: skip
            yield Change(((node, new),))
    for node in ast.walk(function):
        if isinstance(node, ast.Compare) and len(node.ops) == 1 and (sign := _NEIGHBOURS.get(type(node.ops[0]))):
            yield Change(((node, f"{ast.unparse(node.left)} {sign} {ast.unparse(node.comparators[0])}"),))


def added(function: ast.FunctionDef, products: tuple[type[ast.expr], ...]) -> Iterator[Change]:
    """Yield changes that add a product to a variable in a loop instead of assigning it."""
    for loop in (each for each in ast.walk(function) if isinstance(each, ast.For)):
        for node in (each for each in ast.walk(loop) if isinstance(each, ast.Assign)):
            target, value = node.targets[0], node.value
            text, names = ast.unparse(value), {each.id for each in ast.walk(value) if isinstance(each, ast.Name)}
            is_product = isinstance(value, products) and ("dot(" in text or "[" in text)
            if is_product and isinstance(target, ast.Name) and target.id not in names:
                yield Change(((value, f"{target.id} + {text}"),))

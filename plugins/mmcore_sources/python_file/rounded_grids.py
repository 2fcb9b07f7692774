"""Grids of launches in Python that round down although a remainder is left: ``1000 // 16``, or ``int(1000 / 16)``."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from mmcore_sources.cuda_file.host_bugs.bug import Bug
from mmcore_sources.python_file.arrays import ArrayReader
from mmcore_sources.python_file.changes import Change, described
from mmcore_sources.python_file.host_text import PythonLaunch
from mmcore_sources.python_file.program import PythonProgram
from mmcore_sources.python_file.scopes import Scope
from mmcore_sources.python_file.values import ValueReader

_DEEPEST = 20
_DOWN = ("int", "floor")


@dataclass(frozen=True)
class Quotient:
    """A quotient in a grid that is rounded down, with its scope."""

    node: ast.expr
    size: ast.expr
    step: ast.expr
    scope: Scope

    def rounded_up(self) -> str:
        """Return the quotient that rounds up, as a text."""
        size, step = (ast.unparse(each) for each in (self.size, self.step))
        less = f"{step} - 1" if not isinstance(self.step, ast.Constant) else str(int(step) - 1)
        return f"({size} + {less}) // {step if not isinstance(self.step, ast.BinOp) else f'({step})'}"


def rounded_grids(program: PythonProgram, launches: Iterable[PythonLaunch]) -> Iterator[Bug]:
    """Yield the quotients in the grids of launches that leave a remainder out at the program's own sizes."""
    reader = _SizeReader(program, dict.fromkeys(program.varying))
    for launch in launches:
        for each in quotients(program, launch):
            size, step = (reader.value(node, each.scope, each.node.lineno) for node in (each.size, each.step))
            if isinstance(size, int) and isinstance(step, int) and size > step > 1 and size % step:
                left = f"which is {size} / {step} rounded down, and the last {size % step} are left out"
                what = f"the grid of {launch.name} has {ast.unparse(each.node)}, {left}; {each.rounded_up()} rounds up"
                yield Bug("rounded-down-grid", each.node.lineno, what, "C")


def rounded_up(program: PythonProgram, launch: PythonLaunch) -> str:
    """Return the change of a launch's grid that rounds up, in words with its lines; empty if it does not round down."""
    changes = tuple((each.node, each.rounded_up()) for each in quotients(program, launch))
    return described(program.text, Change(changes), program.lines_before(launch.line))[1] if changes else ""


def quotients(program: PythonProgram, launch: PythonLaunch) -> list[Quotient]:
    """Return the quotients in the grid of a launch that are rounded down."""

    def found(node: ast.expr, scope: Scope, line: int, depth: int) -> Iterator[Quotient]:
        match node:
            case ast.Name(name) if name not in program.varying and depth < _DEEPEST:
                if (assigned := program.value_of(name, scope, line)) is not None:
                    yield from found(assigned.value, assigned.scope, assigned.line, depth + 1)
            case ast.Tuple(parts) | ast.List(parts):
                for each in parts:
                    yield from found(each, scope, line, depth + 1)
            case ast.Lambda(_, body):
                yield from found(body, scope, line, depth + 1)
            case ast.BinOp(size, ast.FloorDiv(), step):
                yield from [] if is_sum(size, scope, line) else [Quotient(node, size, step, scope)]
            case ast.Call(_, [ast.BinOp(size, ast.Div(), step)]) if ast.unparse(node.func).endswith(_DOWN):
                yield from [] if is_sum(size, scope, line) else [Quotient(node, size, step, scope)]
            case ast.Call(_, arguments):
                for each in arguments:
                    yield from found(each, scope, line, depth + 1)
            case ast.BinOp(left, ast.Mult(), right):
                yield from found(left, scope, line, depth + 1)
                yield from found(right, scope, line, depth + 1)

    def is_sum(node: ast.expr, scope: Scope, line: int) -> bool:
        """Return whether a dividend may be a sum that rounds up, or a negative number that does."""
        if isinstance(node, ast.Name) and (assigned := program.value_of(node.id, scope, line)) is not None:
            node = assigned.value
        added = isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub)
        return added or isinstance(node, ast.UnaryOp)

    return [] if launch.grid is None else list(found(launch.grid, launch.scope, launch.line, 0))


class _SizeReader(ValueReader):
    """The evaluation of sizes, which may be the sides of arrays."""

    def value(self, node: ast.expr, scope: Scope, line: int, depth: int = 0) -> Any:
        """Return the value of an expression of literals and sides; None if it is unknown."""
        match node:
            case ast.Subscript(ast.Attribute(owner, "shape"), ast.Constant(value=int(axis))) if depth < _DEEPEST:
                if isinstance(owner, ast.Name) and self.program.value_of(owner.id, scope, line) is None:
                    passed = self.program.argument_at_calls(owner.id, scope)
                    if passed is None:
                        return None
                    owner, scope, line = passed
                sides = ArrayReader(self.program).read(owner, scope, line).sides
                own = f"{ast.unparse(owner)}.shape["
                side = sides[axis] if -len(sides) <= axis < len(sides) else ast.Constant(None)
                return None if ast.unparse(side).startswith(own) else self.value(side, scope, line, depth + 1)
        return super().value(node, scope, line, depth)

"""Arithmetic of a launch's values, such as ``ceil(n / bx)``, evaluated exactly and without Python's ``eval``."""

from __future__ import annotations

import ast
import functools
import math
import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from mmcore.errors import InvalidKernel
from mmcore.kernel.arguments import SIZES
from mmcore.kernel.configs import Config
from mmcore.kernel.constraints import Multiple
from mmcore.kernel.geometry import Dim3, ceil_div
from mmcore.kernel.launch import Launch
from mmcore.kernel.problem import Problem
from mmcore.kernel.properties import DeviceProperties
from mmcore.messages import quoted

EXTENTS = {"bx": "x", "by": "y", "bz": "z"}
_LONGEST = 500
_LARGEST = 1 << 63

_OPERATORS: Mapping[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: Fraction(a) / Fraction(b),
    ast.FloorDiv: lambda a, b: a // b,
    ast.Mod: lambda a, b: a % b,
}
_COMPARISONS: Mapping[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "ceil": math.ceil,
    "floor": math.floor,
    "ceil_div": ceil_div,
    "min": min,
    "max": max,
}


def parse_expressions(text: str, what: str) -> tuple[ast.expr, ...]:
    """Return the expressions in ``"ceil(n/bx), ceil(m/by)"``; raise :class:`InvalidKernel` with ``what`` if invalid."""
    try:
        if len(text) > _LONGEST:
            raise SyntaxError
        tree = ast.parse(f"({text.strip()},)", mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        raise InvalidKernel(f"{what} {quoted(text)} is not arithmetic such as 'ceil(n/bx), ceil(m/by)'") from None
    assert isinstance(tree, ast.Tuple)
    for part in tree.elts:
        _check(part, text, what)
    return tuple(tree.elts)


def _check(node: ast.expr, text: str, what: str) -> None:
    """Raise :class:`InvalidKernel` unless a node is arithmetic."""
    match node:
        case ast.Name():
            return
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool) and 0 <= number < _LARGEST:
            return
        case ast.BinOp(left, operator, right) if type(operator) in _OPERATORS:
            parts = [left, right]
        case ast.UnaryOp(ast.USub() | ast.UAdd() | ast.Not(), operand):
            parts = [operand]
        case ast.Compare(left, [operator], [right]) if type(operator) in _COMPARISONS:
            parts = [left, right]
        case ast.BoolOp(_, conditions):
            parts = conditions
        case ast.IfExp(condition, chosen, other):
            parts = [condition, chosen, other]
        case ast.Call(ast.Name(name), arguments, []) if name in _FUNCTIONS and arguments:
            parts = arguments
        case _:
            raise InvalidKernel(
                f"{quoted(ast.unparse(node))} in {what} {quoted(text)} is neither a number below 2⁶³ nor a name, "
                f"and none of + - * / // %, {', '.join(_FUNCTIONS)}, a comparison and 'a if b else c'"
            )
    for part in parts:
        _check(part, text, what)


def names_in(expression: ast.expr) -> set[str]:
    """Return the names that an expression depends on."""
    functions = {id(each.func) for each in ast.walk(expression) if isinstance(each, ast.Call)}
    return {each.id for each in ast.walk(expression) if isinstance(each, ast.Name) and id(each) not in functions}


def evaluate(node: ast.expr, values: Mapping[str, Any]) -> Any:
    """Return the exact value of an expression. Raises InvalidKernel if a name has no value, or a divisor is 0."""
    match node:
        case ast.Constant(value=int() as number):
            return number
        case ast.Constant(value=number):
            return Fraction(str(number))
        case ast.Name(name):
            if not isinstance(values.get(name), int | float | Fraction):
                raise InvalidKernel(f"{name!r} has no value here; there are {', '.join(values)}")
            return values[name]
        case ast.UnaryOp(operator, operand):
            number = evaluate(operand, values)
            return (
                -number
                if isinstance(operator, ast.USub)
                else int(not number)
                if isinstance(operator, ast.Not)
                else number
            )
        case ast.Compare(left, [operator], [right]):
            return int(_COMPARISONS[type(operator)](evaluate(left, values), evaluate(right, values)))
        case ast.BoolOp(operator, conditions):
            holds = (bool(evaluate(each, values)) for each in conditions)
            return int(all(holds) if isinstance(operator, ast.And) else any(holds))
        case ast.IfExp(condition, chosen, other):
            return evaluate(chosen if evaluate(condition, values) else other, values)
        case ast.BinOp(left, operator, right):
            one, other = evaluate(left, values), evaluate(right, values)
            if other == 0 and isinstance(operator, ast.Div | ast.FloorDiv | ast.Mod):
                raise InvalidKernel(f"{ast.unparse(node)} divides by 0")
            return _OPERATORS[type(operator)](one, other)
        case ast.Call(ast.Name(name), arguments):
            try:
                return _FUNCTIONS[name](*(evaluate(each, values) for each in arguments))
            except (TypeError, ZeroDivisionError):
                raise InvalidKernel(f"{ast.unparse(node)} cannot be evaluated") from None
    raise InvalidKernel(f"{ast.unparse(node)} is not arithmetic")


def launch_values(problem: Problem, config: Config) -> dict[str, Any]:
    """Return the values of the names in an expression: sizes, extents of the block, and the config's parameters."""
    return {**{name: getattr(problem, name) for name in SIZES}, **config_values(config)}


def config_values(config: Config) -> dict[str, Any]:
    """Return the values of the names in an expression that are no sizes."""
    extents = {name: getattr(config.block, axis) for name, axis in EXTENTS.items()}
    return {**extents, **{name: config[name] for name in config if name != "block"}}


def python_text(node: ast.expr, problem: str = "problem", config: str = "config") -> str:
    """Return an expression as Python code of a launch rule, with the names of its problem and config."""

    class Renamed(ast.NodeTransformer):
        def visit_Call(self, call: ast.Call) -> ast.expr:
            arguments = [self.visit(each) for each in call.args]
            assert isinstance(call.func, ast.Name)
            if call.func.id == "ceil" and isinstance(arguments[0], ast.BinOp) and isinstance(arguments[0].op, ast.Div):
                return ast.Call(ast.Name("ceil_div"), [arguments[0].left, arguments[0].right], [])
            if call.func.id in ("ceil", "floor"):
                return ast.Call(ast.Attribute(ast.Name("math"), call.func.id), arguments, [])
            return ast.Call(call.func, arguments, [])

        def visit_Name(self, name: ast.Name) -> ast.expr:
            if name.id in SIZES:
                return ast.Attribute(ast.Name(problem), name.id)
            if name.id in EXTENTS:
                return ast.Attribute(ast.Attribute(ast.Name(config), "block"), EXTENTS[name.id])
            return ast.Attribute(ast.Name(config), name.id)

    copied = ast.parse(ast.unparse(node), mode="eval").body
    return ast.unparse(Renamed().visit(copied))


@dataclass(frozen=True)
class OtherInstance:
    """Another instance of a kernel, which its host code launches where some sizes are no multiples."""

    multiples: tuple[Multiple, ...]
    entry: str

    def is_launched(self, problem: Problem, config: Config) -> bool:
        """Return whether the host code launches this instance for a problem."""
        return any(each.violation(problem, config) for each in self.multiples)


@dataclass(frozen=True)
class LaunchText:
    """A launch rule as text: grid and dynamic shared memory are expressions of a launch's values.

    ``block`` has the extents of a block that depends on the sizes; it is empty for the block of the config.
    ``cluster`` is asked for by the launch, and ``compiled_cluster`` by ``__cluster_dims__``. ``rounded_up`` is the
    change of the source with which a grid that rounds down rounds up, in words; empty if unknown.
    ``other`` is another instance with the same geometry. ``tile`` is that of ``CountsTiles``, and ``guessed_array``
    that of ``GuessesShared``.
    """

    grid: str
    shared_bytes: str = "0"
    cooperative: bool = False
    cluster: tuple[int, ...] | None = None
    compiled_cluster: tuple[int, ...] | None = None
    rounded_up: str = ""
    other: OtherInstance | None = None
    tile: tuple[int, int] | None = None
    guessed_array: str = ""
    block: str = ""

    @functools.cached_property
    def __doc__(self) -> str:  # type: ignore[override]
        """The text of the rule, for ``mmcore show``."""
        lines = [f"grid: {self.grid}", *([f"block: {self.block}"] if self.block else [])]
        return "\n".join([*lines, *([f"shared bytes: {self.shared_bytes}"] if self.shared_bytes != "0" else [])])

    @property
    def parts(self) -> list[str]:
        return [ast.unparse(each) for each in parse_expressions(self.grid, "the grid")]

    @property
    def blocks_per_cluster(self) -> tuple[int, ...]:
        """The blocks of a cluster along each axis; empty without clusters."""
        return self.cluster or self.compiled_cluster or ()

    def values(self, problem: Problem, config: Config) -> dict[str, Any]:
        """Return the values of the names in the rule: sizes, extents of the launched block, the config's parameters."""
        return {**launch_values(problem, config), **dict(zip(EXTENTS, self.block_of(problem, config), strict=True))}

    def block_of(self, problem: Problem, config: Config) -> Dim3:
        """Return the block of a launch, whose extents are 0 where sizes are too small for it."""
        if not self.block:
            return config.block
        values = launch_values(problem, config)
        return Dim3(*(int(evaluate(each, values)) for each in parse_expressions(self.block, "the block")))

    def blocks(self, problem: Problem, config: Config) -> list[int]:
        """Return the blocks of the grid along each axis, none of them raised to 1."""
        values = self.values(problem, config)
        return [int(evaluate(each, values)) for each in parse_expressions(self.grid, "the grid")]

    @property
    def rounds_down(self) -> bool:
        """True if the grid has a quotient of a size that is rounded down."""
        return bool(self.rounded_down)

    @property
    def rounded_down(self) -> list[ast.BinOp]:
        """The quotients of sizes in the grid that are rounded down."""
        return [*self._quotients(rounded_up=False)]

    @property
    def vectors(self) -> dict[str, int]:
        """The elements of the vectors that the grid counts by size: 4 for n in ``ceil(n // 4 / 16)``."""
        pairs = ((each.left, each.right) for each in self._quotients(rounded_up=True))
        return {
            size.id: width.value
            for size, width in pairs
            if isinstance(size, ast.Name) and isinstance(width, ast.Constant) and isinstance(width.value, int)
        }

    def _quotients(self, *, rounded_up: bool) -> Iterator[ast.BinOp]:
        """Yield the quotients of sizes that are rounded down, of those within a number that is rounded up, or not."""
        waiting = [(part, False) for part in parse_expressions(self.grid, "the grid")]
        while waiting:
            node, within = waiting.pop()
            match node:
                case ast.BinOp(left, ast.FloorDiv()) if within == rounded_up and names_in(left) & {"m", "n", "k"}:
                    yield node
            if (quotient := _with_one_more(node)) is not None:
                waiting += [(quotient.left, within), (quotient.right, within)]
                continue
            within |= isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "ceil"
            waiting += [(each, within) for each in ast.iter_child_nodes(node) if isinstance(each, ast.expr)]

    def __call__(self, problem: Problem, config: Config, device: DeviceProperties) -> Launch:
        values = self.values(problem, config)
        (shared,) = (evaluate(each, values) for each in parse_expressions(self.shared_bytes, "the shared memory"))
        entry = self.other.entry if self.other is not None and self.other.is_launched(problem, config) else None
        ordinary = Launch(
            tuple(self.blocks(problem, config)),
            self.block_of(problem, config),
            int(shared),
            cooperative=self.cooperative,
            cluster=self.cluster,
        )
        return replace(ordinary, entry=entry)


def _with_one_more(node: ast.expr) -> ast.BinOp | None:
    """Return the quotient in ``n // 16 + 1`` or ``(n - 1) // 16 + 1``, which is not less than one that is rounded up.

    None for another sum, as ``(n - 16) // 16 + 1``.
    """
    sides = (node.left, node.right) if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add) else ()
    more = any(isinstance(each, ast.Constant) and isinstance(each.value, int) and each.value >= 1 for each in sides)
    for each in sides if more else ():
        if isinstance(each, ast.BinOp) and isinstance(each.op, ast.FloorDiv):
            match each.left:
                case ast.BinOp(_, ast.Sub(), right) if not (isinstance(right, ast.Constant) and right.value == 1):
                    return None
            return each
    return None


@dataclass(frozen=True)
class Derived:
    """A block that follows from other parameters of its config: an expression for each extent."""

    extents: str

    def __call__(self, config: Config) -> tuple[int, ...]:
        values = {name: config[name] for name in config}
        return tuple(int(evaluate(each, values)) for each in parse_expressions(self.extents, "the block"))


@dataclass(frozen=True)
class SizeRule:
    """A whole number as an expression of a launch's values, ``ceil(k / 16)``."""

    text: str

    def __call__(self, problem: Problem, config: Config) -> int:
        (expression,) = parse_expressions(self.text, "the argument")
        return int(evaluate(expression, launch_values(problem, config)))

    def __str__(self) -> str:
        return self.text

"""The literal defaults of a program's environment and command line, in the place of values that only its run knows."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator, Mapping

_COMPARISONS: Mapping[type[ast.cmpop], Callable[[int, int], bool]] = {
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
COMMAND_LINE = ("sys.argv", "argv")
"""The names of the words of a program's command line."""

_ENVIRONMENT = ("os.environ.get", "environ.get", "os.getenv", "getenv")


def with_defaults(tree: ast.Module) -> ast.Module:
    """Return a tree in which variables of the environment and options of ``argparse`` have their literal defaults.

    The command line has one word, the program's name.
    """
    _Defaults(tree).visit(tree)
    return tree


class _Defaults(ast.NodeTransformer):
    def __init__(self, tree: ast.Module) -> None:
        nodes = [*ast.walk(tree)]
        self._options = dict(pair for node in nodes if isinstance(node, ast.Call) for pair in _option(node))
        self._parsed = {
            target.id
            for node in nodes
            if isinstance(node, ast.Assign) and _is_parsing(node.value)
            for target in node.targets
            if isinstance(target, ast.Name)
        }

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        """Return the default of an option of the command line, as in ``args.tile``."""
        owner, default = node.value, self._options.get(node.attr)
        parsed = _is_parsing(owner) or (isinstance(owner, ast.Name) and owner.id in self._parsed)
        if parsed and default is not None and isinstance(node.ctx, ast.Load):
            return ast.copy_location(ast.Constant(default.value), node)
        return self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Return the default of a variable of the environment, and the number in a string, as in ``int("16")``."""
        self.generic_visit(node)
        match node:
            case ast.Call(called, [_, ast.Constant(value)], []) if ast.unparse(called) in _ENVIRONMENT:
                return ast.copy_location(ast.Constant(value), node)
            case ast.Call(ast.Name("len"), [words], []) if ast.unparse(words) in COMMAND_LINE:
                return ast.copy_location(ast.Constant(1), node)
            case ast.Call(ast.Name("int"), [ast.Constant(value=str(text))], []) if text.strip().isdecimal():
                return ast.copy_location(ast.Constant(int(text)), node)
        return node

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        """Return the value that a comparison of two numbers chooses, as in ``16 if len(sys.argv) < 2 else …``."""
        self.generic_visit(node)
        match node.test:
            case ast.Compare(ast.Constant(int(left)), [comparison], [ast.Constant(int(right))]):
                compare = _COMPARISONS.get(type(comparison))
                return node if compare is None else node.body if compare(left, right) else node.orelse
        return node


def _option(call: ast.Call) -> Iterator[tuple[str, ast.Constant]]:
    """Yield the name of an option of the command line, with its literal default."""
    keywords = {each.arg: each.value for each in call.keywords}
    default, named = keywords.get("default"), keywords.get("dest")
    if isinstance(call.func, ast.Attribute) and call.func.attr == "add_argument" and isinstance(default, ast.Constant):
        flags = [each.value for each in call.args if isinstance(each, ast.Constant) and isinstance(each.value, str)]
        if isinstance(named, ast.Constant) and isinstance(named.value, str):
            yield named.value, default
        elif flags:
            flag = next((each for each in flags if each.startswith("--")), flags[0])
            yield flag.lstrip("-").replace("-", "_"), default


def _is_parsing(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "parse_args"

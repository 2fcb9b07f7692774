"""The literal defaults of a program's environment and command line, in the place of values that only its run knows."""

from __future__ import annotations

import ast
from collections.abc import Iterator

_ENVIRONMENT = ("os.environ.get", "environ.get", "os.getenv", "getenv")


def with_defaults(tree: ast.Module) -> ast.Module:
    """Return a tree in which variables of the environment and options of ``argparse`` have their literal defaults."""
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
            case ast.Call(ast.Name("int"), [ast.Constant(value=str(text))], []) if text.strip().isdecimal():
                return ast.copy_location(ast.Constant(int(text)), node)
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

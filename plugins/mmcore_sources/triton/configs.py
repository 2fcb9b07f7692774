"""The configs of a Triton kernel in a file: those of ``@triton.autotune``, with the values that its launch fixes."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mmcore_sources.python_file.program import PythonProgram, keywords_of
from mmcore_sources.python_file.scopes import Scope
from mmcore_sources.python_file.values import ValueReader

OPTIONS = ("num_warps", "num_stages", "num_ctas", "maxnreg")
"""The options of Triton's compiler that a launch or a config gives beside the kernel's parameters."""

_DEEPEST, _MOST_CONFIGS = 20, 1000


@dataclass(frozen=True)
class ConfigReader:
    """The evaluation of configs in a program.

    ``names`` are the values of names in a comprehension.
    """

    program: PythonProgram
    names: Mapping[str, Any] = field(default_factory=dict)

    def tuned(self, function: ast.FunctionDef) -> list[dict[str, Any]]:
        """Return the configs of a kernel's ``@triton.autotune``, as far as they are known."""
        for decorator in function.decorator_list:
            if isinstance(decorator, ast.Call) and ast.unparse(decorator.func).endswith("autotune"):
                keywords = keywords_of(decorator)
                configs = keywords.get("configs", decorator.args[0] if decorator.args else ast.Constant(None))
                return list(itertools.islice(self._configs(configs, 0), _MOST_CONFIGS))
        return []

    def _configs(self, node: ast.expr, depth: int) -> Iterator[dict[str, Any]]:
        """Yield the configs of a list, or of an expression or function that makes one."""
        if depth > _DEEPEST:
            return
        match node:
            case ast.Call(called, arguments) if self.program.full_name(called) == "triton.Config":
                keys = self._dictionary(arguments[0]) if arguments else {}
                options = {each.arg: each.value for each in node.keywords if each.arg in OPTIONS}
                yield keys | {str(name): self._module_value(each) for name, each in options.items()}
            case ast.Call(ast.Name(name), arguments):
                for function in (each for each in self.program.functions if each.name == name):
                    for statement in ast.walk(function):
                        if isinstance(statement, ast.Return) and statement.value is not None:
                            yield from self._configs(statement.value, depth + 1)
                for each in arguments:  # list(filter(keep, configs))
                    yield from self._configs(each, depth + 1)
            case ast.List(parts) | ast.Tuple(parts):
                for each in parts:
                    yield from self._configs(each.value if isinstance(each, ast.Starred) else each, depth + 1)
            case ast.ListComp(element, generators) | ast.GeneratorExp(element, generators):
                for names in self._bindings(generators):
                    yield from ConfigReader(self.program, names)._configs(element, depth + 1)
            case ast.BinOp(one, ast.Add(), other) | ast.IfExp(_, one, other):
                yield from self._configs(one, depth + 1)
                yield from self._configs(other, depth + 1)
            case ast.Name(name):
                for assigned in self.program.named.get(name, [])[-1:]:
                    yield from self._configs(assigned.value, depth + 1)

    def _dictionary(self, node: ast.expr) -> dict[str, Any]:
        match node:
            case ast.Dict(keys, values):
                names = (key.value if isinstance(key, ast.Constant) else "" for key in keys)
                return {str(name): self._module_value(each) for name, each in zip(names, values, strict=True) if name}
            case ast.Call(ast.Name("dict")):
                return {str(each.arg): self._module_value(each.value) for each in node.keywords}
        return {}

    def _module_value(self, node: ast.expr) -> Any:
        return ValueReader(self.program, self.names).value(node, Scope(), 1 << 30)

    def _bindings(self, generators: Sequence[ast.comprehension]) -> Iterator[dict[str, Any]]:
        """Yield the values of the names of a comprehension, for each combination."""
        loops = [list(self._elements(each)) for each in generators]
        for combination in itertools.product(*loops):
            yield {**self.names, **{name: value for names in combination for name, value in names.items()}}

    def _elements(self, generator: ast.comprehension) -> Iterator[dict[str, Any]]:
        values = generator.iter
        if isinstance(values, ast.Name) and (assigned := self.program.named.get(values.id)):
            values = assigned[-1].value
        for each in values.elts if isinstance(values, ast.List | ast.Tuple | ast.Set) else ():
            match generator.target, each:
                case ast.Name(name), _:
                    yield {name: self._module_value(each)}
                case ast.Tuple(targets), ast.Tuple(parts) | ast.List(parts):
                    pairs = zip(targets, parts, strict=False)
                    yield {ast.unparse(target): self._module_value(part) for target, part in pairs}


def of_heuristics(function: ast.FunctionDef) -> list[str]:
    """Return the parameters whose values ``@triton.heuristics`` computes at each launch."""
    return [
        str(key.value)
        for decorator in function.decorator_list
        if ast.unparse(decorator).partition("(")[0].endswith("heuristics")
        for node in ast.walk(decorator)
        if isinstance(node, ast.Dict)
        for key in node.keys
        if isinstance(key, ast.Constant)
    ]

"""Steps to the next product of a batch that the host computes, and a launch passes to a parameter."""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from mmcore.kernel.arguments import Argument, Scalar
from mmcore_cuda.cuda_source.parameters import Parameter
from mmcore_cuda.cuda_source.tree import Node, text_of
from mmcore_sources.cuda_file.inference.body import Term
from mmcore_sources.cuda_file.inference.c_expressions import Unreadable
from mmcore_sources.cuda_file.inference.expressions import SizeRule
from mmcore_sources.cuda_file.inference.host_code import Reader
from mmcore_sources.cuda_file.inference.source_kernel import SourceKernel

_ZERO = ("0",)


@dataclass(frozen=True)
class PassedSteps:
    """The products of sizes that a launch passes.

    Attributes:
        factors: the names of sizes whose product a parameter gets, by parameter; "0" for a parameter that gets 0.
        equal: another size that the launch passes the same number as, by the name of a size.
    """

    factors: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    equal: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, kernel: SourceKernel, arguments: Sequence[Argument], sizes: Mapping[str, str]) -> PassedSteps:
        """Return the steps that the launch of a kernel passes; ``sizes`` are the roles of its sizes by name."""
        names = {role: name for name, role in sizes.items()}
        passed = {parameter.name: node for parameter, node in _passed(kernel)}
        of_text = {text_of(node): name for name, node in passed.items() if name in sizes}
        alone = {name: of_text[text] for name, node in passed.items() if (text := text_of(node)) in of_text}
        factors: dict[str, tuple[str, ...]] = {name: (size,) for name, size in alone.items() if name not in sizes}
        factors |= {name: _ZERO for name, number in kernel.launched.items() if number == 0}
        for parameter, argument in zip(kernel.function.parameters, arguments, strict=False):
            if isinstance(argument, Scalar) and isinstance(argument.value, SizeRule):
                product = _factors(ast.parse(argument.value.text, mode="eval").body)
                if product and {*product} <= names.keys():
                    factors[parameter.name] = tuple(names[role] for role in product)
        return cls(factors, dict(_equal_sizes(kernel, passed, sizes)))

    def is_zero(self, term: Term) -> bool:
        """Return whether the launch passes 0 for a factor of a term."""
        return any(self.factors.get(factor) == _ZERO for factor in term)

    def in_place_of(self, step: Sequence[str]) -> tuple[str, Sequence[str]]:
        """Return the parameter that is a step and the sizes passed to it; "" and the step itself if it is none."""
        if len(step) == 1 and step[0] in self.factors:
            return step[0], self.factors[step[0]]
        return "", step

    def as_passed(self, names: Iterable[str]) -> list[str]:
        """Return names of sizes in order, with one name for all sizes that the launch passes the same number to."""
        return sorted(map(self._first, names))

    def _first(self, name: str) -> str:
        while name in self.equal:
            name = self.equal[name]
        return name


def _factors(expression: ast.expr) -> tuple[str, ...]:
    """Return the names whose product an expression is; empty for others."""
    if isinstance(expression, ast.Name):
        return (expression.id,)
    if isinstance(expression, ast.BinOp) and isinstance(expression.op, ast.Mult):
        left, right = _factors(expression.left), _factors(expression.right)
        return (*left, *right) if left and right else ()
    return ()


def _passed(kernel: SourceKernel) -> Iterator[tuple[Parameter, Node]]:
    """Yield each parameter with the expression that the launch passes to it."""
    if kernel.launch is not None:
        yield from zip(kernel.function.parameters, kernel.launch.arguments, strict=False)


def _equal_sizes(kernel: SourceKernel, passed: Mapping[str, Node], sizes: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield each size that the launch passes the variable of another size for, or its copy, with that other one."""
    first = dict[str, str]()
    of_sizes = {name: node for name, node in passed.items() if name in {*sizes}}
    for name, node in of_sizes.items():
        if (same := first.setdefault(text_of(node), name)) != name:
            yield name, same
            continue
        others = {text_of(each): ast.Name(other) for other, each in of_sizes.items() if text_of(each) != text_of(node)}
        with contextlib.suppress(Unreadable):
            copied = Reader.of(kernel.source, kernel.launch, others).number(node)
            if isinstance(copied, ast.Name) and copied.id in of_sizes:
                yield name, copied.id

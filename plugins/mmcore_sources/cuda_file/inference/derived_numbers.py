"""Numbers that a launch derives from the sizes that it passes, such as ``(K + 15) / 16`` steps of a loop."""

from __future__ import annotations

import ast
import contextlib
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace

from mmcore.kernel.arguments import SIZES, Argument, Scalar
from mmcore_cuda.cuda_source.parameters import Parameter
from mmcore_cuda.cuda_source.program import HostLaunch
from mmcore_cuda.cuda_source.tree import LOOPS, Node, ancestors, identifiers, initializers, text_of, walk
from mmcore_sources.cuda_file.inference.c_expressions import Unreadable
from mmcore_sources.cuda_file.inference.expressions import SizeRule, names_in
from mmcore_sources.cuda_file.inference.host_code import Reader
from mmcore_sources.cuda_file.inference.host_sizes import HostSizes
from mmcore_sources.cuda_file.inference.loop_turns import turns
from mmcore_sources.cuda_file.inference.parameters import parameter_names
from mmcore_sources.cuda_file.inference.roles import OFFSET, Roles, scalar_type
from mmcore_sources.cuda_file.inference.size_names import last_word, sure_role, usual_role
from mmcore_sources.cuda_file.inference.source_kernel import SourceKernel
from mmcore_sources.cuda_file.inference.storage import strides_of


def derived_numbers(kernel: SourceKernel) -> dict[str, ast.expr]:
    """Return the expressions that a launch passes to integers that are no sizes, in the names of other parameters."""
    launch, body = kernel.launch, kernel.body
    if launch is None:
        return {}
    parameters = kernel.function.parameters
    pairs = [*zip(parameters, launch.arguments, strict=False)]
    integers = [pair for pair in pairs if not pair[0].pointer and "int" in scalar_type(pair[0].type)]
    rows = [strides_of(body, each.name, {one.name for one, _ in integers}) for each in parameters if each.pointer]
    reader = Reader.of(kernel.source, launch, parameter_names(kernel.chosen))
    parts = _parts(launch, reader, [passed for each, passed in pairs if each.pointer])
    derived = dict[str, ast.expr]()
    for parameter, argument in integers:
        name = parameter.name
        has_role = usual_role(name) in SIZES or sure_role(name, {}) or OFFSET.search(last_word(name))
        if has_role or {name} in rows:
            continue
        others = {each.name: each.name for each, passed in integers if text_of(passed) != text_of(argument)}
        sizes = HostSizes.of(launch, [each.name for each in parameters], others, {}, equal_sizes="")
        with contextlib.suppress(Unreadable):
            expression = sizes.number(reader, argument)
            depends = not isinstance(expression, ast.Name) and names_in(expression) & others.keys()
            if depends and not _is_quotient(expression, parts):
                derived[name] = expression
    return derived


def _parts(launch: HostLaunch, reader: Reader, pointers: Sequence[Node]) -> set[int]:
    """Return the numbers of turns of the loops around a launch in which the pointers go from part to part of C."""
    counts, within = set[int](), {name for each in pointers for name in identifiers(each)}
    for loop in (each for node in pointers[:1] for each in ancestors(node) if each.type in LOOPS):
        nodes = (each for each in walk(loop) if each.type == "declaration")
        if within & {name for each in nodes for name, _ in initializers(each)}:
            counts.add(len(turns(loop, reader)))
    return counts


def _is_quotient(expression: ast.expr, divisors: set[int]) -> bool:
    """Return whether an expression is a size divided by one of some numbers, perhaps rounded up."""
    quotients = (each for each in ast.walk(expression) if isinstance(each, ast.BinOp | ast.Call))
    pairs = itertools.product(names_in(expression), divisors)
    parts = {text for size, each in pairs for text in (f"{size} // {each}", f"ceil({size} / {each})")}
    return not parts.isdisjoint(map(ast.unparse, quotients))


def with_derived_numbers(roles: Roles, derived: Mapping[str, ast.expr], parameters: tuple[Parameter, ...]) -> Roles:
    """Return roles with the derived numbers that depend on nothing but sizes and the config."""
    sizes: dict[str, ast.expr] = {name: ast.Name(role) for name, role in roles.sizes.items() if role in SIZES}
    passed = {each.name for each in parameters}

    def with_rule(argument: Argument, parameter: Parameter) -> Argument:
        expression = derived.get(parameter.name)
        if expression is None or not names_in(expression) & passed <= sizes.keys():
            return argument
        return Scalar(SizeRule(_renamed(expression, sizes)), scalar_type(parameter.type))

    return replace(roles, arguments=tuple(map(with_rule, roles.arguments, parameters)))


def _renamed(expression: ast.expr, names: Mapping[str, ast.expr]) -> str:
    class Renamed(ast.NodeTransformer):
        def visit_Name(self, name: ast.Name) -> ast.expr:
            return names.get(name.id, name)

    copied = ast.parse(ast.unparse(expression), mode="eval").body
    return ast.unparse(Renamed().visit(copied))

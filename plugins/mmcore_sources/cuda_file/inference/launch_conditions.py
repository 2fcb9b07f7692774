"""Conditions on multiples around a launch in the host code, as ``if (N % 4 == 0) fast<<<…>>>(…); else …``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from mmcore.kernel.configs import Config
from mmcore.kernel.constraints import Multiple, multiples_of
from mmcore.kernel.problem import Problem
from mmcore_cuda.cuda_source.program import HostLaunch, Program
from mmcore_cuda.cuda_source.tree import Node, initializers, text_of, walk
from mmcore_sources.cuda_file.inference.conditions import leaves
from mmcore_sources.cuda_file.inference.host_calls import arguments_of, calls_of, enclosing_function, parameter_names
from mmcore_sources.cuda_file.inference.parameters import value_of
from mmcore_sources.cuda_file.inference.roles import Roles
from mmcore_sources.cuda_file.inference.source_kernel import SourceKernel
from mmcore_sources.cuda_file.inference.zero_remainders import multiples, zero_remainders

_MOST_CALLERS = 3


@dataclass(frozen=True)
class LaunchedIf:
    """A constraint: the host code launches the kernel only where sizes are multiples.

    ``why`` is the condition, with the line of the launch and the launches at other sizes.
    """

    multiples: tuple[Multiple, ...]
    why: str

    @property
    def description(self) -> str:
        return self.why

    def violation(self, problem: Problem, config: Config) -> str | None:
        reasons = list(filter(None, (each.violation(problem, config) for each in self.multiples)))
        return f"{' and '.join(reasons)}: {self.why}" if reasons else None


class LaunchCondition(NamedTuple):
    """A condition on multiples around a launch, and the launches at other sizes."""

    multiples: tuple[Multiple, ...]
    text: str
    others: tuple[HostLaunch, ...]

    @property
    def sizes(self) -> str:
        """The sizes in words."""
        return " and ".join(each.description for each in self.multiples)


class _Branch(NamedTuple):
    """A branch around a launch: the if statement, the side of it, and the roles of the names there."""

    statement: Node
    holds: bool
    roles: Mapping[str, str]

    @property
    def condition(self) -> Node:
        """The condition, or the initial value of the variable that it is."""
        condition, scope = self.statement.child_by_field_name("condition"), enclosing_function(self.statement)
        assert condition is not None
        declarations = (each for each in walk(scope) if each.type == "declaration") if scope is not None else ()
        values = dict(pair for each in declarations for pair in initializers(each))
        return values.get(text_of(condition).strip("() "), condition)

    @property
    def text(self) -> str:
        """The condition under which the branch is taken, in the words of the source."""
        condition = text_of(self.condition)
        if self.condition.type == "condition_clause":
            condition = condition[1:-1].strip()
        return condition if self.holds else f"!({condition})"


def launch_condition(kernel: SourceKernel, roles: Roles) -> LaunchCondition | None:
    """Return the condition around a kernel's launch; None without one, or if the user chooses another instance."""
    launch, asked, taken = kernel.launch, dict[str, int](), list[_Branch]()
    if launch is None or not _is_chosen(kernel, launch):
        return None
    for branch in _branches(kernel, launch, roles):
        remainders = zero_remainders(branch.condition, holds=branch.holds)
        if found := multiples(remainders, kernel.source, launch, branch.roles, kernel.known):
            asked |= {role: max(step, asked.get(role, 1)) for role, step in found.items()}
            taken.append(branch)
    if not taken:
        return None
    if equal := asked.keys() & {*roles.equal}:
        asked |= dict.fromkeys(roles.equal, max(asked[role] for role in equal))
    others = tuple(_other_launches(kernel.source, taken[0])) if len(taken) == 1 else ()
    text = f"{launch.place} launches it only if {' && '.join(each.text for each in taken)}"
    if others:
        text += f", else {' and '.join(f'{each.place} launches {_name(each)}' for each in others)}"
    return LaunchCondition(tuple(multiples_of({role: asked[role] for role in "mnk" if role in asked})), text, others)


def _is_chosen(kernel: SourceKernel, launch: HostLaunch) -> bool:
    """Return whether the values of a kernel's template are those of its launch."""
    pairs = zip(kernel.declared.template, launch.template, strict=False)
    numbers = ((each.name, value_of(text, kernel.source, launch, kernel.known)) for each, text in pairs)
    return all(number in (None, kernel.values.get(name, number)) for name, number in numbers)


def _branches(kernel: SourceKernel, launch: HostLaunch, roles: Roles) -> Iterator[_Branch]:
    """Yield the branches around a launch, and around the only call of its function."""
    pairs = zip(kernel.function.parameters, launch.arguments, strict=False)
    names = {text_of(passed): roles.sizes[each.name] for each, passed in pairs if each.name in roles.sizes}
    names = {name: role for name, role in names.items() if role in ("m", "n", "k")}
    node = _node(launch)
    for _ in range(_MOST_CALLERS):
        yield from (_Branch(statement, holds, names) for statement, holds in _statements(node))
        scope = enclosing_function(node)
        calls = calls_of(scope) if scope is not None else ()
        if scope is None or len(calls) != 1:
            return
        (node,) = calls
        passed = zip(parameter_names(scope), map(text_of, arguments_of(node)), strict=False)
        names = {argument: names[parameter] for parameter, argument in passed if parameter in names}


def _statements(node: Node) -> Iterator[tuple[Node, bool]]:
    """Yield the if statements of a function around a node, and whether it is where their condition holds."""
    while (above := node.parent) is not None and above.type != "function_definition":
        if above.type == "if_statement" and node != above.child_by_field_name("condition"):
            yield above, node == above.child_by_field_name("consequence")
        node = above


def _other_launches(source: Program, branch: _Branch) -> Iterator[HostLaunch]:
    """Yield the launches on the other side of a branch, or behind one that leaves the function."""
    statement, scope = branch.statement, enclosing_function(branch.statement)
    then, otherwise = (statement.child_by_field_name(name) for name in ("consequence", "alternative"))
    side = otherwise if branch.holds else then
    if side is not None:
        begin, end = side.start_byte, side.end_byte
    elif scope is not None and then is not None and leaves(then):
        begin, end = statement.end_byte, scope.end_byte
    else:
        return
    for each in source.launches:
        if enclosing_function(_node(each)) == scope and begin <= _node(each).start_byte < end:
            yield each


def _node(launch: HostLaunch) -> Node:
    """Return a node of a launch."""
    return next(iter((*launch.geometry, *launch.arguments)), launch.scope)


def _name(launch: HostLaunch) -> str:
    """Return the function that a launch names, with the arguments of its template."""
    return f"{launch.name}<{', '.join(launch.template)}>" if launch.template else launch.name

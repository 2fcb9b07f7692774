"""The numbers that a program passes to a kernel in all turns of the loops around its launch, and from all calls."""

from __future__ import annotations

import ast
import itertools
import math
from collections.abc import Iterable, Iterator
from dataclasses import replace

from mmcore_cuda.cuda_source.functions import Function
from mmcore_cuda.cuda_source.program import HostLaunch, Program
from mmcore_cuda.cuda_source.tree import Node, ancestors, root_of
from mmcore_sources.cuda_file.inference.host_calls import arguments_of, calls_of, enclosing_function, parameter_names
from mmcore_sources.cuda_file.inference.host_code import Reader
from mmcore_sources.cuda_file.inference.host_scopes import LISTS
from mmcore_sources.cuda_file.inference.loop_turns import Names, turns
from mmcore_sources.cuda_file.inference.members import constructors_of, set_members
from mmcore_sources.cuda_file.inference.parameters import launched_numbers
from mmcore_sources.cuda_file.inference.user_input import numbers_of_user, samples_of_input

_LOOPS = ("for_statement", "for_range_loop")
_MOST, _DEEPEST = 512, 4


def program_numbers(source: Program, function: Function, launches: Iterable[HostLaunch]) -> dict[str, int]:
    """Return the largest common divisor of the numbers that launches pass, by parameter; without unknown ones.

    Numbers of the user are any, except for what the program makes of them: ``(n + 15) / 16 * 16`` has the divisor 16.
    """
    several = [numbers for launch in launches for numbers in passed_numbers(source, function, launch)]
    known = set(several[0]).intersection(*several[1:]) if several else set()
    return {name: math.gcd(*(each[name] for each in several)) for name in known}


def passed_numbers(source: Program, function: Function, launch: HostLaunch) -> list[dict[str, int]]:
    """Return the numbers that a launch passes, by parameter, for each turn and each sample of the user's numbers."""
    node, of_user = next(iter((*launch.geometry, *launch.arguments)), launch.scope), numbers_of_user(function, launch)
    several = list[dict[str, int]]()
    for inputs in samples_of_input(root_of(launch.call or launch.scope)):
        several += [
            launched_numbers(source, function, replace(launch, call=call or launch.call), names, inputs)
            for call, names in itertools.islice(
                _turns(Reader(source, inputs=inputs), node, launch.scope, launch.call, 0), _MOST
            )
        ]
    # A number of the user that no sample changes is one of several, and the others are unknown.
    fixed = {name for name in set().union(*several) if len({each.get(name) for each in several}) == 1}
    unknown = {name for name in fixed if name.partition(".")[0] in of_user}
    return [{name: number for name, number in each.items() if name not in unknown} for each in several]


def _turns(
    base: Reader, node: Node, scope: Node | None, call: Node | None, depth: int
) -> Iterator[tuple[Node | None, Names]]:
    """Yield the call of a function and the values of its names, for each turn of the loops around a node in it."""
    loops = [each for each in ancestors(node) if each.type in _LOOPS and enclosing_function(each) == scope]
    for used, passed in _passed(base, scope, call, depth):
        several = [passed]
        for loop in reversed(loops):
            inside = list[Names]()
            for names in itertools.islice(several, _MOST):
                reader = replace(base, names=names, scope=scope, line=loop.start_point.row + 1, call=used)
                inside += [{**names, **turn} for turn in turns(loop, reader)]
            several = inside
        yield from ((used, names) for names in several)


def _passed(base: Reader, scope: Node | None, call: Node | None, depth: int) -> Iterator[tuple[Node | None, Names]]:
    """Yield the calls of a function with the numbers that they pass, or the members that constructors set instead."""
    function = scope if scope is not None and scope.type == "function_definition" else None
    calls = () if function is None else (call,) if call is not None else calls_of(function)
    if function is None or depth > _DEEPEST:
        yield call, {}
    elif calls:
        yield from ((each, names) for each in calls for names in _arguments(base, function, each, depth))
    else:
        made = [names for each in constructors_of(function) for names in _members(base, each, depth)]
        yield from ((call, names) for names in made or [{}])


def _arguments(base: Reader, function: Node, call: Node, depth: int) -> Iterator[Names]:
    """Yield the numbers that a call passes to a function, by parameter, in each turn of the loops around it."""
    for above, names in _turns(base, call, enclosing_function(call), None, depth + 1):
        scope, line = enclosing_function(call), call.start_point.row + 1
        reader = replace(base, names=names, scope=scope, line=line, call=above)
        yield _known(reader, zip(parameter_names(function), arguments_of(call), strict=False))


def _members(base: Reader, constructor: Node, depth: int) -> Iterator[Names]:
    """Yield the numbers that a constructor sets members to, for each object that it constructs."""
    for call in calls_of(constructor):
        for names in _arguments(base, constructor, call, depth):
            yield _known(replace(base, names=names, scope=constructor, call=call), set_members(constructor))


def _known(reader: Reader, pairs: Iterable[tuple[str, Node]]) -> Names:
    """Return the numbers among some expressions, by name."""
    single = ((name, each.named_children[0] if len(each.named_children) == 1 and each.type in LISTS else each)
              for name, each in pairs)  # fmt: skip
    numbers = ((name, reader.whole(each)) for name, each in single)
    return {name: ast.Constant(number) for name, number in numbers if number is not None}

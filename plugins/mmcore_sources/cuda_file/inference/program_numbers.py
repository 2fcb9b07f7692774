"""The numbers that a program passes to a kernel in all turns of the loops around its launch, and from all calls."""

from __future__ import annotations

import ast
import itertools
import math
from collections.abc import Iterable, Iterator
from dataclasses import replace

from mmcore_cuda.cuda_source.functions import Function
from mmcore_cuda.cuda_source.program import HostLaunch, Program
from mmcore_cuda.cuda_source.tree import Node, ancestors
from mmcore_sources.cuda_file.inference.host_calls import arguments_of, calls_of, enclosing_function, parameter_names
from mmcore_sources.cuda_file.inference.host_code import Reader
from mmcore_sources.cuda_file.inference.loop_turns import Names, turns
from mmcore_sources.cuda_file.inference.parameters import launched_numbers

_LOOPS = ("for_statement", "for_range_loop")
_MOST, _DEEPEST = 512, 4


def program_numbers(source: Program, function: Function, launches: Iterable[HostLaunch]) -> dict[str, int]:
    """Return the largest common divisor of the numbers that launches pass, by parameter; without unknown ones."""
    several = list[dict[str, int]]()
    for launch in launches:
        node = next(iter((*launch.geometry, *launch.arguments)), launch.scope)
        several += [
            launched_numbers(source, function, replace(launch, call=call or launch.call), names)
            for call, names in itertools.islice(_turns(source, node, launch.scope, launch.call, 0), _MOST)
        ]
    known = set(several[0]).intersection(*several[1:]) if several else set()
    return {name: math.gcd(*(each[name] for each in several)) for name in known}


def _turns(
    source: Program, node: Node, scope: Node | None, call: Node | None, depth: int
) -> Iterator[tuple[Node | None, Names]]:
    """Yield the call of a function and the values of its names, for each turn of the loops around a node in it."""
    loops = [each for each in ancestors(node) if each.type in _LOOPS and enclosing_function(each) == scope]
    for used, passed in _passed(source, scope, call, depth):
        several = [passed]
        for loop in reversed(loops):
            inside = list[Names]()
            for names in itertools.islice(several, _MOST):
                reader = Reader(source, dict(names), scope, loop.start_point.row + 1, used)
                inside += [{**names, **turn} for turn in turns(loop, reader)]
            several = inside
        yield from ((used, names) for names in several)


def _passed(source: Program, scope: Node | None, call: Node | None, depth: int) -> Iterator[tuple[Node | None, Names]]:
    """Yield the calls of a function, each with the numbers that it passes."""
    function = scope if scope is not None and scope.type == "function_definition" else None
    calls = () if function is None else (call,) if call is not None else calls_of(function)
    if not calls or function is None or depth > _DEEPEST:
        yield call, {}
        return
    for each in calls:
        for above, names in _turns(source, each, enclosing_function(each), None, depth + 1):
            reader = Reader(source, dict(names), enclosing_function(each), each.start_point.row + 1, above)
            pairs = zip(parameter_names(function), arguments_of(each), strict=False)
            numbers = ((name, reader.whole(argument)) for name, argument in pairs)
            yield each, {name: ast.Constant(number) for name, number in numbers if number is not None}

"""Numbers of a host program that its user gives, as ``int n = argc > 1 ? atoi(argv[1]) : 512;``."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator

from mmcore_cuda.cuda_source.functions import Function
from mmcore_cuda.cuda_source.program import HostLaunch
from mmcore_cuda.cuda_source.tree import Node, identifiers, initializers, root_of, text_of, walk
from mmcore_sources.cuda_file.inference.host_calls import Passed, arguments_of, calls_of, parameter_names, passed

_INPUT = re.compile(
    r"\b(?:argv|ato[fil]l?|sto(?:i|u?ll?|[fd])|strto\w+|from_chars|getenv|\w*scanf|get(?:line|opt|CmdLine)\w*|optarg)\b"
)
_BARE = re.compile(r"\bargv$")
_COUNT = "argc"
_ARGUMENTS, _SAMPLES = 6, 12
_LEAST, _GROWTH, _APART = 37, 1.7, 7  # of numbers without a common divisor


@functools.lru_cache(maxsize=8)
def samples_of_input(root: Node) -> tuple[dict[str, int], ...]:
    """Return some numbers that a user may give a file's program, by the calls that read them, and ``argc``.

    Without such calls, there is one sample: no arguments.
    """
    calls = (each for each in walk(root) if each.type == "call_expression" and _reads_input(each))
    texts = sorted({text_of(each) for each in calls})
    return tuple(
        {
            _COUNT: 1 + turn % _ARGUMENTS,
            **{text: int(_LEAST * _GROWTH**turn) + _APART * place for place, text in enumerate(texts)},
        }
        for turn in range(_SAMPLES if texts else 1)
    )


def _reads_input(call: Node) -> bool:
    """Return whether a call returns input: ``atoi`` by its name, others if they get all of a program's arguments."""
    return bool(_INPUT.search(text_of(call.children[0]))) or any(map(_BARE.search, map(text_of, arguments_of(call))))


def numbers_of_user(function: Function, launch: HostLaunch | None) -> set[str]:
    """Return the parameters whose numbers depend on a program's arguments, its environment or its input."""
    pairs = zip(function.parameters, launch.arguments if launch is not None else (), strict=False)
    return {each.name for each, node in pairs if launch is not None and _is_input(node, launch.scope, launch.call)}


def _is_input(node: Node, scope: Node | None, call: Node | None) -> bool:
    """Return whether an expression, or one of the values of a variable in it, is input."""
    known, waiting = set[tuple[int, str]](), [Passed(node, scope, 0)]
    while waiting:
        each = waiting.pop()
        if _INPUT.search(text_of(each.value)):
            return True
        of_scope = 0 if each.scope is None else each.scope.id
        for name in {(of_scope, name) for name in identifiers(each.value)} - known:
            known.add(name)
            waiting += _values(name[1], each.scope, call if of_scope == (scope and scope.id) else None)
    return False


def _values(name: str, scope: Node | None, call: Node | None) -> Iterator[Passed]:
    """Yield the values of a variable: those that a function or its callers set, or all functions for a global one."""
    if scope is None:
        return
    local = [Passed(value, scope, 0) for value in _set_in(scope, name)]
    yield from local
    if name in parameter_names(scope):
        several = (passed(scope, name, each) for each in ((call,) if call is not None else calls_of(scope)))
        yield from (each for each in several if each is not None)
    elif not local:
        yield from (Passed(value, None, 0) for value in _set_in(root_of(scope), name))


def _set_in(scope: Node, name: str) -> Iterator[Node]:
    for node in walk(scope):
        if node.type == "declaration":
            yield from (value for declared, value in initializers(node) if declared == name)
        elif node.type == "assignment_expression" and text_of(node.children[0]).partition(".")[0] == name:
            yield node.children[2]

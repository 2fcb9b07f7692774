"""Inputs of a kernel that its program allocates and does not fill before the launch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from mmcore_cuda.cuda_source.program import HostLaunch, read_program
from mmcore_cuda.cuda_source.tokens import words
from mmcore_cuda.cuda_source.tree import Node, ancestors, text_of, walk
from mmcore_sources.cuda_file.host_bugs.bug import Bug
from mmcore_sources.cuda_file.host_bugs.host import Call, HostCode

_ALLOCATE, _COPY = "cudaMalloc", "cudaMemcpy"


def unfilled_inputs(host: HostCode, launch: HostLaunch, matrices: Mapping[str, str]) -> Iterator[Bug]:
    """Find A or B in memory that the function of the launch allocates, and names nowhere else before the launch.

    A program that fills neither and does not copy C is a benchmark. ``matrices`` has the host's names of the matrices
    that are passed.
    """
    call = next((each for each in host.calls if each.is_launch and each.line == launch.line), None)
    if call is None or not host.contains(launch.scope):
        return
    unfilled = [role for role in "AB" if _is_unfilled(host, call, matrices.get(role, ""))]
    if len(unfilled) == 1 or (unfilled and _is_copied(call, matrices.get("C", ""))):
        names, roles = " and ".join(dict.fromkeys(matrices[role] for role in unfilled)), " and ".join(unfilled)
        fills = f"nothing copies or stores anything to {names} before"
        yield Bug("unfilled-input", launch.line, f"{launch.name} reads {names} as {roles}, and {fills}")


def _is_copied(launch: Call, name: str) -> bool:
    """Return whether a function copies an array after a launch."""
    places = [each for each in walk(launch.scope) if each.type == "identifier" and text_of(each) == name]
    after = (_called_with(each) for each in places if each.start_byte > launch.node.end_byte)
    return any(used.startswith(_COPY) for used in after)


def _is_unfilled(host: HostCode, launch: Call, name: str) -> bool:
    """Return whether a function only declares and allocates an array before a launch."""
    places = [each for each in walk(launch.scope) if each.type == "identifier" and text_of(each) == name]
    before = {_called_with(each) for each in places if each.start_byte < launch.node.start_byte}
    of_macros = {word for macro in read_program(host.text).macros.values() for word in words(macro.text.encode())}
    return host.declares(name, launch.scope) and before == {"", _ALLOCATE} and name not in of_macros


def _called_with(place: Node) -> str:
    """Return "cudaMalloc" for a name in its arguments, "" for one in a declaration without a value, else its text."""
    for above in ancestors(place):
        if above.type == "call_expression":
            name = text_of(above.children[0])
            return _ALLOCATE if name.startswith(_ALLOCATE) else name
        if above.type == "init_declarator" and above.children[-1] != place and "=" in text_of(above):
            return text_of(above)
        if above.type == "declaration":
            return ""
    return text_of(place)

"""Bugs of programs whose kernel gets B as A and A as B, or is never launched."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from mmcore_cuda.cuda_source.program import HostLaunch
from mmcore_cuda.cuda_source.tree import Node, text_of, walk
from mmcore_sources.cuda_file.host_bugs.bug import Bug
from mmcore_sources.cuda_file.host_bugs.host import HostCode, name_of

_LETTER = re.compile(r"(?:d|dev|device|g|gpu|h|mat)?_?([abc])(?:_?(?:d|dev|device|gpu|cublas|ref|mat))?", re.IGNORECASE)
_OWN_HEADER = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"', re.MULTILINE)


def exchanged_matrices(host: HostCode, launches: Sequence[HostLaunch], arguments: Sequence[object]) -> Iterator[Bug]:
    """Find a launch that passes ``dB`` as A and ``dA`` as B; none if another one passes them in order.

    ``arguments`` has the roles of the kernel's parameters. Where sizes are exchanged, too, this may be the product of
    the transposes, which is C of matrices that are stored by columns.
    """
    passed = [(launch, _passed(host, launch, arguments)) for launch in launches]
    if not all(_is_exchanged(each) and _is_filled_so(host, each) for _, each in passed):
        return
    for launch, each in passed:
        if not _are_sizes_exchanged(host, launch):
            computed = "so that it computes B·A instead of A·B"
            message = f"{launch.name} is passed {each['A']} as A and {each['B']} as B, {computed}"
            yield Bug("exchanged-operands", launch.line, message)


def _passed(host: HostCode, launch: HostLaunch, arguments: Sequence[object]) -> Mapping[str, str]:
    """Return the arrays that a launch passes as A and B, if the kernel's parameters are named so."""
    kernel = host.kernel(launch)
    parameters = kernel.parameters if kernel else ()
    several = zip(map(str, arguments), parameters, launch.arguments, strict=False)
    return {role: name_of(node) for role, parameter, node in several if role in "AB" and letter(parameter.name) == role}


def letter(name: str) -> str:
    """Return the matrix that an array is named after, as ``dA``, ``d_A`` or ``A_gpu``; empty for other names."""
    match = _LETTER.fullmatch(name)
    return match[1].upper() if match else ""


def _is_exchanged(passed: Mapping[str, str]) -> bool:
    return {role: letter(name) for role, name in passed.items()} == {"A": "B", "B": "A"}


def _is_filled_so(host: HostCode, passed: Mapping[str, str]) -> bool:
    """Return whether no array is filled from a host's array that is named after the other matrix."""
    copies = (each for each in host.calls if each.name.startswith("cudaMemcpy") and len(each.arguments) > 1)
    pairs = (tuple(map(name_of, each.arguments[:2])) for each in copies)
    return all(letter(source) in (letter(to), "") for to, source in pairs if to in passed.values())


def _are_sizes_exchanged(host: HostCode, launch: HostLaunch) -> bool:
    """Return whether a launch passes two different numbers under each other's names."""
    kernel = host.kernel(launch)
    pairs = zip(kernel.parameters, map(text_of, launch.arguments), strict=False) if kernel else ()
    named = {parameter.name.casefold(): text.casefold() for parameter, text in pairs if not parameter.pointer}
    return any(text != name and named.get(text) == name for name, text in named.items())


def unlaunched_kernel(host: HostCode, name: str) -> Iterator[Bug]:
    """Find a kernel of a whole program that no code names: no launch, no macro and no call that takes its address.

    A header of the program's own may launch it.
    """
    named = [each for each in walk(host.root) if _names(each, name)]
    declared = [each for each in named if each.parent is not None and each.parent.type == "function_declarator"]
    if host.has_main and declared and declared == named and not _OWN_HEADER.search(host.text):
        line = declared[-1].start_point.row + 1
        yield Bug(
            "unlaunched-kernel", line, f"no code of the file launches {name}, so that its program computes nothing"
        )


def _names(node: Node, name: str) -> bool:
    """Return whether a node is a name, or the text of a macro with it."""
    if node.type == "preproc_arg":
        return re.search(rf"\b{re.escape(name)}\b", text_of(node)) is not None
    return node.type == "identifier" and text_of(node) == name

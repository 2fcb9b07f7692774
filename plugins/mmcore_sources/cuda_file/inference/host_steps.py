"""Steps of the host around a launch that a run does not repeat: variables that it sets, and a loop of launches."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from mmcore.errors import InvalidKernel
from mmcore_cuda.cuda_source.program import HostLaunch
from mmcore_cuda.cuda_source.tree import identifiers, initializers, text_of, walk
from mmcore_sources.cuda_file.inference.body import Body, Term, built_in
from mmcore_sources.cuda_file.inference.roles import Roles
from mmcore_sources.cuda_file.inference.source_kernel import SourceKernel
from mmcore_sources.cuda_file.inference.tile_counters import refuse_tile_counters

_FOR = "for_statement"
_SET = re.compile(r"cudaMemcpyToSymbol(?:Async)?\s*\(\s*(?:HIP_SYMBOL\()?&?\s*(\w+)")


def refuse_host_steps(kernel: SourceKernel, roles: Roles) -> None:
    """Raise InvalidKernel for a kernel whose product needs such steps."""
    for match in _SET.finditer(kernel.source.text):
        if match[1] in kernel.body.names:
            refuse_tile_counters(kernel.function, frozenset([match[1]]))
            line = kernel.source.text.count("\n", 0, match.start()) + 1
            sets = f"line {line} sets {match[1]}, which {kernel.function.name} reads"
            raise InvalidKernel(f"{sets}: a run only passes arguments; make {match[1]} a parameter of the kernel")
    if kernel.launch is None or "args" in kernel.given:
        return
    if not roles.batch and (second := _sum_of_parts(kernel, kernel.launch, roles)) is not None:
        raise _stores_parts(kernel, roles.pointers["C"], f"which {second.name} in {second.place} reads")
    counters = {*_counters(kernel.launch)}
    for argument, parameter in zip(kernel.launch.arguments, kernel.function.parameters, strict=False):
        counted = sorted(counters & {*identifiers(argument)})
        if counted and roles.guessed and parameter.name in roles.sizes:
            launches = f"{kernel.launch.place} launches {kernel.function.name} for each {counted[0]} of a loop"
            raise InvalidKernel(
                f"{launches}, and {parameter.name} changes from one launch to the next: a run launches it once; "
                "--args gives the role of each parameter"
            )


def refuse_parts(kernel: SourceKernel) -> None:
    """Raise InvalidKernel for a kernel without a launch that stores a part of each sum for each block along z.

    Such a block begins its loop along k at its own place, and stores to its own place.
    """
    body = kernel.body
    if kernel.launch is not None or "args" in kernel.given or not _begins_along_z(body):
        return
    for parts in dict.fromkeys(pointer for pointer, _ in body.stores):
        if _is_along_z(term for index in body.indexes(parts) for term in index):
            others = (each for each in kernel.source.functions if each.name != kernel.function.name)
            readers = [each.word for each in others if parts in {parameter.name for parameter in each.parameters}]
            raise _stores_parts(kernel, parts, f"which {readers[0]} reads" if readers else "one for each block along z")


def _stores_parts(kernel: SourceKernel, parts: str, why: str) -> InvalidKernel:
    return InvalidKernel(
        f"{kernel.function.name} stores parts of its sums in {parts}, {why}: a run of a file launches one kernel; "
        "a plugin declares both launches, with a Workspace for the parts"
    )


def _begins_along_z(body: Body) -> bool:
    """Return whether a loop's variable begins at a value that depends on the index of a block along z."""
    heads = (each.child_by_field_name("initializer") for each in walk(body.function.body) if each.type == _FOR)
    declared = (each for each in heads if each is not None and each.type == "declaration")
    return any(_is_along_z(body.terms(value)) for each in declared for _, value in initializers(each))


def _is_along_z(terms: Iterable[Term]) -> bool:
    return any(built == ("blockIdx", "z") for term in terms for built in built_in(term))


def _sum_of_parts(kernel: SourceKernel, launch: HostLaunch, roles: Roles) -> HostLaunch | None:
    """Return the later launch of another kernel that reads the output of blocks along z; None if there is none."""
    indexes = kernel.body.indexes(roles.pointers["C"])
    if not _is_along_z(term for index in indexes for term in index):
        return None
    pairs = zip(kernel.function.parameters, launch.arguments, strict=False)
    passed = {text_of(argument) for parameter, argument in pairs if parameter.name == roles.pointers["C"]}
    later = (each for each in kernel.source.launches if each.scope == launch.scope and each.line > launch.line)
    others = (each for each in later if each.name != launch.name)
    return next((each for each in others if passed & {*map(text_of, each.arguments)}), None)


def _counters(launch: HostLaunch) -> Iterator[str]:
    """Yield the variables of the loops around a launch."""
    node = launch.geometry[0]
    while (above := node.parent) is not None:
        if above.type == _FOR and (changed := above.child_by_field_name("update")) is not None:
            yield from identifiers(changed)
        node = above

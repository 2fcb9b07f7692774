"""Other files of a project that call the host functions which launch a file's kernels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from mmcore_cuda.cuda_source.program import HostLaunch, Program
from mmcore_cuda.cuda_source.tree import Node, text_of
from mmcore_sources.cuda_file.inference.host_calls import calls_in, calls_of, function_name
from mmcore_sources.cuda_file.inference.members import class_of

_FUNCTION = "function_definition"


def functions_to_call(launches: Iterable[HostLaunch]) -> set[str]:
    """Return the names of the functions around launches that only other files can call."""
    scopes = [each.scope for each in launches if each.scope.type == _FUNCTION]
    scopes = [each for each in scopes if not class_of(each) and not calls_of(each)]
    return {function_name(each) for each in scopes if not text_of(each).startswith("static")} - {"", "main"}


def with_calling_files(source: Program, files: Iterable[tuple[str, str]]) -> Program:
    """Return a program in which each launch is there for each call of its function in these files, by name and text."""
    calling = source
    for name, text in files:
        calling = calling.with_header(name, text)
    roots = [root for _, root in calling.others[len(source.others) :]]
    launches = tuple(each for launch in source.launches for each in _called(launch, roots))
    return replace(calling, launches=launches, included=source.included, declared=source.declared)


def _called(launch: HostLaunch, roots: list[Node]) -> Iterator[HostLaunch]:
    """Yield a launch with each call of its function in some files; as it is without one."""
    names = functions_to_call([launch]) if launch.call is None else ()
    calls = [call for root in roots for name in names for call in calls_in(root, name)]
    yield from (replace(launch, call=call) for call in calls) if calls else (launch,)

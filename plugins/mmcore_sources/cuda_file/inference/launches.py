"""The launches of a kernel in a file's host code."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from mmcore.errors import InvalidKernel
from mmcore_cuda.cuda_source.program import Function, HostLaunch, Program
from mmcore_cuda.cuda_source.tree import text_of
from mmcore_sources.cuda_file.inference.host_calls import arguments_of, calls_of, parameter_names
from mmcore_sources.cuda_file.inference.host_code import Reader


def first_launch(source: Program, function: Function) -> HostLaunch | None:
    """Return the first launch of a function whose block and grid can be read, or else the first."""
    launches = list(launches_of(source, function))
    return next((each for each in launches if _is_readable(source, each)), launches[0] if launches else None)


def _is_readable(source: Program, launch: HostLaunch) -> bool:
    """Return whether a launch's block and grid follow from the arguments of the kernel."""
    passed = {text_of(each): ast.Name("n") for each in launch.arguments if each.type == "identifier"}
    reader = Reader.of(source, launch, passed)
    try:
        return all(reader.extents(each) for each in launch.geometry[:2])
    except InvalidKernel:
        return False


def launches_of(source: Program, function: Function) -> Iterator[HostLaunch]:
    """Yield the launches of a kernel, also those in host functions that take the kernel as an argument."""
    names = (function.name, function.word)
    for launch in source.launches:
        if launch.name in names:
            yield launch
        elif launch.scope.type == "function_definition" and launch.name in parameter_names(launch.scope):
            position = parameter_names(launch.scope).index(launch.name)
            for call in calls_of(launch.scope):
                given = [text_of(each).lstrip("&") for each in arguments_of(call)[position : position + 1]]
                name, _, instance = "".join(given).partition("<")
                if name.strip() in names:
                    template = tuple(each.strip() for each in instance.rpartition(">")[0].split(",") if each.strip())
                    yield replace(launch, name=name.strip(), template=template, call=call)

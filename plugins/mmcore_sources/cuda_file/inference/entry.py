"""The choice among a file's functions."""

from __future__ import annotations

from mmcore.errors import InvalidKernel
from mmcore_cuda.cuda_source.program import Function, HostLaunch, Program
from mmcore_sources.cuda_file.inference.notes import Note
from mmcore_sources.cuda_file.inference.roles import is_product


def chosen_function(file: str, source: Program, entry: str) -> tuple[Function, HostLaunch | None, tuple[Note, ...]]:
    """Return the chosen function, its first launch in the file, and notes about the choice.

    Raises:
        InvalidKernel: there is no such function, none at all, or the choice is ambiguous.
    """
    functions = {function.name: function for function in source.functions}
    if not functions:
        where = f"; line {source.error_line} is not CUDA C++" if source.error_line else ""
        raise InvalidKernel(f"{file} has no __global__ function with a body{where}")
    word = entry.partition("<")[0].strip()
    if word:
        matching = [function for name, function in functions.items() if word in (name, function.word)]
        if not matching:
            raise InvalidKernel(f"{file} has no __global__ function {word}; it has {', '.join(functions)}")
        return matching[0], _launch(source, matching[0]), ()
    likely, why = list(functions.values()), "the file's only __global__ function"
    for which, holds in (
        ("takes three pointers", is_product),
        ("is launched in the file", lambda function: _launch(source, function) is not None),
    ):
        fitting = [function for function in likely if holds(function)]
        if len(likely) > 1 and fitting:
            likely, why = fitting, f"of {len(functions)} __global__ functions the one that {which}"
    if len(likely) > 1:
        names = [function.name for function in likely]
        raise InvalidKernel(f"{file} has {len(names)} kernels, {', '.join(names)}; give one, as in --entry {names[-1]}")
    return likely[0], _launch(source, likely[0]), (Note("function", likely[0].name, why, "--entry"),)


def _launch(source: Program, function: Function) -> HostLaunch | None:
    return next((each for each in source.launches if each.name in (function.name, function.word)), None)

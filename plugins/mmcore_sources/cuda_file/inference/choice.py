"""The choice among a file's functions: its matrix products."""

from __future__ import annotations

import re

from mmcore.errors import InvalidKernel, NoKernel, SeveralKernels
from mmcore_cuda.cuda_source.functions import Function
from mmcore_cuda.cuda_source.program import HostLaunch, Program
from mmcore_cuda.cuda_source.tree import LOOPS, root_of, walk
from mmcore_sources.cuda_file.inference.body import Body
from mmcore_sources.cuda_file.inference.host_calls import function_name, functions_of
from mmcore_sources.cuda_file.inference.launches import first_launch
from mmcore_sources.cuda_file.inference.notes import Note
from mmcore_sources.cuda_file.inference.sums import sums_products
from mmcore_sources.cuda_file.inference.vectors import vectors_of
from mmcore_sources.cuda_file.syntax import DoesNotCompile

_OTHER = re.compile(r"conv(?!ert)|pool|softmax|attention|transpose|norm(?!al_)|gemv|mat_?vec|vec_?mat", re.IGNORECASE)
"""The names of kernels that sum products and are no matrix products."""


def is_product(function: Function, source: Program) -> bool:
    """Return whether a function may be a matrix product: it takes three pointers or more, and sums products.

    Assembly, and functions of the file that it calls, may sum them.
    """
    arrays = sum(each.is_array for each in function.parameters)
    return arrays >= 3 and sums_products(function.body, source.declared)


def _sums_nothing(function: Function) -> bool:
    """Return whether a function has neither a loop nor an atomic addition, as a sum of vectors."""
    loops = any(each.type in LOOPS for each in walk(function.body))
    return not loops and not Body(function).adds_atomically


def _without_others(products: list[Function]) -> list[Function]:
    """Return the matrix products among sums of products: none of a vector, nor of another name, if one is left."""
    matrices = [each for each in products if not vectors_of(each)] or products
    return [each for each in matrices if not _OTHER.search(each.word)] or matrices


def products(source: Program) -> list[Function]:
    """Return the functions of a file that are matrix products."""
    return _without_others([each for each in source.functions if is_product(each, source)])


def _launches(source: Program, function: Function) -> bool:
    """Return whether a file launches a function itself."""
    launch = first_launch(source, function)
    return launch is not None and not launch.file


def defined_without_global(launch: HostLaunch) -> int:
    """Return the line of the ordinary function of the file that a launch names; 0 without one."""
    functions = functions_of(root_of(launch.scope)) if launch.name else ()
    return next((each.start_point.row + 1 for each in functions if function_name(each) == launch.name), 0)


def chosen_function(file: str, source: Program, entry: str) -> tuple[Function, HostLaunch | None, tuple[Note, ...]]:
    """Return the chosen function, its first launch in the file, and notes about the choice.

    Raises InvalidKernel if there is no such function, none at all, or if the choice is ambiguous.
    """
    functions = {function.label: function for function in source.functions}
    if not functions:
        for each in source.launches:
            if line := defined_without_global(each):
                launched = f"{each.place} launches {each.name}"
                raise DoesNotCompile(f"{launched}, which line {line} of {file} defines without __global__")
        if not source.text.strip():
            raise NoKernel(f"{file} {'has no code' if source.text else 'is empty'}")
        where = f"; line {source.error_line} is not CUDA C++" if source.error_line else ""
        raise NoKernel(f"{file} has no __global__ function with a body{where}")
    word = entry.partition("<")[0].strip()
    if word:
        matching = [function for function in source.functions if function.is_named(word)]
        if not matching:
            raise InvalidKernel(f"{file} has no __global__ function {word}; it has {', '.join(functions)}")
        if len({each.name for each in matching}) == 1 and len(matching) > 1:
            raise SeveralKernels(file, [each.label for each in matching])
        return matching[0], first_launch(source, matching[0]), ()
    likely, why = list(functions.values()), "the file's only __global__ function"
    of_products = products(source)
    if len(likely) > 1 and not of_products and all(map(_sums_nothing, likely)):
        raise InvalidKernel(f"{file} has no matrix product: none of its {len(likely)} __global__ functions has a loop")
    for which, those in (
        ("takes three pointers and sums products", of_products),
        ("is launched in the file", [each for each in likely if _launches(source, each)]),
    ):
        fitting = [each for each in likely if each in those]
        if len(likely) > 1 and fitting:
            likely, why = fitting, f"of {len(functions)} __global__ functions the one that {which}"
    if len(likely) > 1:
        names = [function.label for function in likely]
        raise SeveralKernels(file, names, [name for name in functions if name not in names])
    return likely[0], first_launch(source, likely[0]), (Note("function", likely[0].name, why, "--entry"),)

"""The code of a kernel and of the functions that it may call, in its file and in the headers."""

from __future__ import annotations

import functools
from collections.abc import Mapping

from mmcore_cuda.cuda_source.functions import Function
from mmcore_cuda.cuda_source.program import Program
from mmcore_cuda.cuda_source.tokens import words
from mmcore_cuda.cuda_source.tree import Node, text_of
from mmcore_sources.cuda_file.inference.host_calls import function_name, functions_of


def reached_code(source: Program, function: Function) -> str:
    """Return the text of a kernel, of the functions that it may call, and of the macros in them, in one line.

    Of a file with one kernel it is all of its text.
    """
    alone = len(source.functions) == 1
    pending = [text_of(function.body), *([" ".join(source.text.split())] if alone else [])]
    files = (*(() if alone else (source.root,)), *(root for _, root in source.others))
    defined = {name: (macro.text,) for name, macro in source.macros.items()} | dict(_definitions(files))
    code = list[str]()
    while pending:
        code.append(pending.pop())
        for name in sorted(words(code[-1].encode()) & defined.keys()):
            pending += defined.pop(name)
    return " ".join(code)


@functools.lru_cache(maxsize=8)
def _definitions(files: tuple[Node, ...]) -> Mapping[str, tuple[str, ...]]:
    """Return the texts of the functions that files define, by name."""
    found: dict[str, tuple[str, ...]] = {}
    for each in (each for file in files for each in functions_of(file)):
        found[function_name(each)] = (*found.get(function_name(each), ()), text_of(each))
    return found

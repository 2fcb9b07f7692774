"""Template arguments of a launch that ask for a transposed matrix, as in ``gemm<Op::T, Op::N>``."""

from __future__ import annotations

import re

from mmcore_cuda.cuda_source.tree import Node, identifiers, walk
from mmcore_sources.cuda_file.inference.class_types import enumerators
from mmcore_sources.cuda_file.inference.conditions import condition_of
from mmcore_sources.cuda_file.inference.fixed_branches import BRANCHES
from mmcore_sources.cuda_file.inference.host_code import Reader
from mmcore_sources.cuda_file.inference.source_kernel import SourceKernel

_TRANSPOSES = re.compile(r"(?:k|op|cublas_op)?_?(?:t|trans\w*|yes|col\w*)", re.IGNORECASE)  # an enumerator
_FLAG = re.compile(r"^(?!no).*(?:trans|op|col)|^t_?[ab]$", re.IGNORECASE)  # a parameter that is true or false


def transposing_argument(kernel: SourceKernel, pointer: str) -> str:
    """Return the argument of the launch that chooses how the kernel indexes an array, in words; empty without one.

    The argument is true, or its name is that of a transposition.
    """
    body, launch = kernel.body, kernel.launch
    for node in walk(body.function.body) if launch is not None else ():
        condition = condition_of(node) if node.type in BRANCHES else None
        branches = [node.child_by_field_name(each) for each in ("consequence", "alternative")]
        if condition is None or not all(each is not None and pointer in identifiers(each) for each in branches):
            continue
        if any(each is not None and _is_skipped(kernel, each) for each in branches):
            names = {*identifiers(condition)}
            for each in (*kernel.declared.template, *kernel.declared.parameters):
                if each.name in names and (word := _word(kernel, each.name, each.type)):
                    return f"the {word} that {launch.place if launch else ''} passes for {each.name}"
    return ""


def _is_skipped(kernel: SourceKernel, branch: Node) -> bool:
    return (branch.start_byte, branch.end_byte) in kernel.body.skipped


def _word(kernel: SourceKernel, name: str, type_: str) -> str:
    """Return the word for the value of a parameter that transposes; empty for another value."""
    value, constants = {**kernel.launched, **kernel.values}.get(name), enumerators(Reader(kernel.source), type_)
    if not constants:
        return "true" if value and _FLAG.search(name) else ""
    words = (word for word, number in constants.items() if number == value and _TRANSPOSES.fullmatch(word))
    return next((f"{type_}::{word}" for word in words), "")

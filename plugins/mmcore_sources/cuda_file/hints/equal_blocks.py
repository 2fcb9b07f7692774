"""Blocks of a wrong kernel that all compute the same elements, since the source does not use their index."""

from __future__ import annotations

import re
from collections.abc import Mapping

from mmcore_cuda.cuda_source.includes import has_quoted_includes
from mmcore_cuda.cuda_source.program import read_program
from mmcore_cuda.cuda_source.tree import Node, text_of, walk
from mmcore_sources.cuda_file.inference.body import BUILT_IN
from mmcore_sources.cuda_file.repairs.edits import device_functions

_OTHER_WAYS = re.compile(r"\b(?:ctaid|cooperative_groups|this_grid|gridDim|atomic\w+)\b|\bblockIdx\b(?!\s*\.)")
_WRITES = ("call_expression", "asm_statement", "gnu_asm_expression")  # and assignments to elements
_TARGETS = {"assignment_expression": "left", "update_expression": "argument"}
_SETS = ("init_declarator", "assignment_expression")


def equal_blocks(text: str, entry: str, blocks: Mapping[str, int]) -> str:
    """Return that the blocks along an axis are equal, in a clause with the line that may be wrong; "" if they differ.

    ``blocks`` has the blocks of the grid along each axis.
    """
    functions = device_functions(text, entry)
    macros = (macro.text for macro in read_program(text).macros.values())
    code = " ".join([*map(text_of, functions), *macros])
    used = {axis for kind, axis in BUILT_IN.findall(code) if kind == "blockIdx"}
    unused = [axis for axis, count in blocks.items() if count > 1 and axis not in used]
    if not unused or not any(map(_writes, functions)) or _OTHER_WAYS.search(code) or has_quoted_includes(text.encode()):
        return ""
    names = " and ".join(f"blockIdx.{axis}" for axis in unused)
    clause = f"blocks that differ in {names} compute the same elements, since the source does not use {names}"
    axis = unused[0]
    for node in (each for function in functions for each in walk(function)):
        found = BUILT_IN.findall(text_of(node)) if node.type in _SETS else []
        if ("blockDim", axis) in found and ("threadIdx", axis) not in found:
            return f"{clause}; blockDim.{axis} in line {node.start_point.row + 1} may have to be blockIdx.{axis}"
    return clause


def _writes(function: Node) -> bool:
    """Return whether a function may write to an array: by an assignment, an instruction, or another function."""
    return any(
        each.type in _WRITES
        or (target is not None and target.type in ("subscript_expression", "pointer_expression", "field_expression"))
        for each in walk(function)
        for target in [each.child_by_field_name(_TARGETS[each.type]) if each.type in _TARGETS else None]
    )

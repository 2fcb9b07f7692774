"""Counters of blocks, such as that of the next tile, which must be 0 at the beginning of each launch."""

from __future__ import annotations

import re

from mmcore.errors import InvalidKernel
from mmcore_cuda.cuda_source.functions import Function
from mmcore_cuda.cuda_source.tree import text_of, walk

_COUNTS = re.compile(r"atomic(?:Add|Inc)")
_NUMBER = re.compile(r"&?\(?&?(\w+)\)?(?:\[0\])?")  # one number in memory


def tile_counters(function: Function) -> frozenset[str]:
    """Return the names of the counters whose values a kernel uses."""
    counted = set[str]()
    for call in (each for each in walk(function.body) if each.type == "call_expression"):
        if not _COUNTS.match(text_of(call)):
            continue
        first = call.children[1].named_children[:1]
        number = _NUMBER.fullmatch(text_of(first[0])) if first else None
        is_used = call.parent is not None and call.parent.type != "expression_statement"
        counted |= {number[1]} if number is not None and is_used else set()
    return frozenset(counted)


def refuse_tile_counters(function: Function, names: frozenset[str]) -> None:
    """Raise InvalidKernel if a kernel counts with one of some parameters or variables, and does not set it."""
    targets = [text_of(each.children[0]) for each in walk(function.body) if each.type == "assignment_expression"]
    is_set = {name for target in targets for name in re.findall(r"\w+", target)[:1]}
    for name in sorted((tile_counters(function) & names) - is_set):
        raise InvalidKernel(
            f"blocks of {function.name} count with {name}, which must be 0 at each launch: a run of a file resets "
            f"nothing; a plugin declares {name} as a Workspace, and a launch that resets it"
        )

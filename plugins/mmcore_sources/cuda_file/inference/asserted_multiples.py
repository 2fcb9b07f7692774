"""Multiples that a host function asks its sizes to be before a launch, as by ``assert(N % 128 == 0)``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from mmcore_cuda.cuda_source.program import HostLaunch, Program
from mmcore_cuda.cuda_source.tree import Node, text_of, walk
from mmcore_sources.cuda_file.inference.conditions import leaves
from mmcore_sources.cuda_file.inference.zero_remainders import multiples, zero_remainders

ASSERTS = re.compile(r"(?:\w+_)?(?:assert|ASSERT|CHECK|REQUIRE)(?:_\w+)?")


def asserted_multiples(source: Program, launch: HostLaunch, roles: Mapping[str, str]) -> dict[str, int]:
    """Return the multiples that the function of a launch asks for, by size; ``roles`` has the roles of its names.

    A branch that leaves the function if there is a remainder asks for a multiple, too.
    """
    return multiples(_remainders(launch.scope), source, launch, roles)


def _remainders(scope: Node) -> Iterator[Node]:
    """Yield the remainders that have to be 0."""
    for node in walk(scope):
        if node.type == "call_expression" and ASSERTS.fullmatch(text_of(node.children[0])):
            yield from zero_remainders(node.children[1], holds=True)
        elif node.type == "if_statement":
            condition, then = (node.child_by_field_name(name) for name in ("condition", "consequence"))
            if condition is not None and then is not None and leaves(then):
                yield from zero_remainders(condition, holds=False)

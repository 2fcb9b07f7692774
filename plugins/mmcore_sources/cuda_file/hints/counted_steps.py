"""Loops along k that count a number of steps which the source fixes, and are right at one k alone."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from mmcore.kernel.arguments import MATRICES, SIZES
from mmcore.kernel.configs import Config
from mmcore.kernel.declaration import Kernel
from mmcore_cuda.cuda_source.program import read_program
from mmcore_cuda.cuda_source.tree import LOOPS, Node, initializers, text_of
from mmcore_sources.cuda_file.inference.body import BUILT_IN, Body, Term
from mmcore_sources.cuda_file.inference.host_code import Reader


@dataclass(frozen=True)
class CountedLoop:
    """A loop that covers one k: its line, and that k."""

    line: int
    k: int


def counted_loop(kernel: Kernel, config: Config) -> CountedLoop | None:
    """Return the first outer loop that steps along k of A and of B up to a number; None without one."""
    program, name = read_program(kernel.source_text()), kernel.entry.partition("<")[0]
    function = program.function(name)
    if function is None:
        return None
    roles = {one.name: str(role) for one, role in zip(function.parameters, kernel.arguments, strict=False)}
    matrices = {role: name for name, role in roles.items() if role in MATRICES}
    sizes = {name for name, role in roles.items() if role in SIZES}
    return loop_along_k(Body(function), Reader(program), matrices, sizes, kernel.column_major, config)


def loop_along_k(
    body: Body,
    reader: Reader,
    matrices: Mapping[str, str],
    sizes: set[str],
    column_major: str,
    config: Mapping[str, object],
) -> CountedLoop | None:
    """Return the first outer loop of a body that steps along k of A and of B up to a number; None without one.

    ``matrices`` contains the pointer of each matrix; ``sizes`` are the names of sizes.
    """
    inputs = {role: name for role, name in matrices.items() if role in ("A", "B")}
    for loop in _outer_loops(body.function.body):
        variable, bound = _counted(loop, reader)
        depths = set[int]()
        for role, pointer in inputs.items() if bound else ():
            rows = (role == "A") == (role in column_major)  # a step along k is a row of the stored matrix
            depths.add(_depth(_along_k(body, pointer, variable, sizes, rows=rows), reader, config))
        if len(inputs) == 2 and len(depths) == 1 and (depth := depths.pop()):
            return CountedLoop(loop.start_point.row + 1, bound * depth)
    return None


def _outer_loops(node: Node) -> Iterator[Node]:
    for each in node.children:
        if each.type in LOOPS:
            yield each
        else:
            yield from _outer_loops(each)


def _counted(loop: Node, reader: Reader) -> tuple[str, int]:
    """Return the variable of ``for (int t = 0; t < 32; …)`` and its bound; 0 as the bound of another loop."""
    first, condition = (loop.child_by_field_name(each) for each in ("initializer", "condition"))
    if first is None or condition is None or first.type != "declaration" or condition.type != "binary_expression":
        return "", 0
    starts = {name: reader.whole(value) for name, value in initializers(first)}
    left, sign, right = condition.children
    counts = text_of(sign) == "<" and starts.get(text_of(left)) == 0
    return text_of(left), (reader.whole(right) or 0) if counts else 0


def _along_k(body: Body, pointer: str, variable: str, sizes: set[str], *, rows: bool) -> set[Term]:
    """Return the factors of a loop's variable in a matrix's indexes; none if it moves along another size than k.

    A step along k is a row of the matrix, and so is multiplied by a size, or an element of one.
    """
    terms = [term for index in body.indexes(pointer) for term in index if variable in term]
    if any(rows == sizes.isdisjoint(term) for term in terms):
        return set()
    return {tuple(each for each in term if each not in sizes and each != variable) for term in terms}


def _depth(factors: set[Term], reader: Reader, config: Mapping[str, object]) -> int:
    """Return how far one step moves along k; 0 if that is unknown."""
    values = [[_number(each, reader, config) for each in some] for some in factors]
    return math.prod(values[0]) if len(values) == 1 else 0


def _number(factor: str, reader: Reader, config: Mapping[str, object]) -> int:
    if (place := BUILT_IN.fullmatch(factor)) and place[1] == "blockDim":
        block = config["block"]
        return int(getattr(block, place[2]))
    return reader.whole(factor) or 0

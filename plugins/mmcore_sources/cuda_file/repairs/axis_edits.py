"""Changes of the axes of threads and blocks: x for y, at one place or exchanged at several."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from mmcore_cuda.cuda_source.tree import Node, text_of
from mmcore_sources.cuda_file.repairs.edit import Edit, replaced

_BUILT_IN = re.compile(r"(threadIdx|blockIdx|blockDim)\.([xy])")
_WORDS = ("threadIdx", "blockDim", "blockIdx")
_Change: TypeAlias = tuple[Node, str]


def exchanged_axes(source: bytes, nodes: Sequence[Node]) -> Iterator[Edit]:
    """Yield sources with x and y exchanged: in two lines of an axis each, as those of row and column, or in a line."""
    lines = _in_lines(_changes(nodes))
    for one, other in itertools.pairwise(lines):
        axes = [{new[-1] for _, new in line} for line in (one, other)]
        of_blocks = all(any(new.startswith("blockIdx") for _, new in line) for line in (one, other))
        if of_blocks and [len(each) for each in axes] == [1, 1] and axes[0] != axes[1]:
            yield replaced(source, [*one, *other], "x and y exchanged")
    for word, line in itertools.product(_WORDS, reversed(lines)):  # where variables are used first
        yield from _exchanged(source, word, line)


def other_axes(source: bytes, nodes: Sequence[Node]) -> Iterator[Edit]:
    """Yield sources with x for y: both exchanged everywhere, or at one place."""
    changes = _changes(nodes)
    for word in _WORDS:
        yield from _exchanged(source, word, changes)
    for change in changes:
        yield replaced(source, [change])


def _exchanged(source: bytes, word: str, changes: Sequence[_Change]) -> Iterator[Edit]:
    """Yield a source with some changes of a variable, if they contain both axes."""
    of_word = [each for each in changes if each[1].startswith(word)]
    if len({new for _, new in of_word}) == 2:
        yield replaced(source, of_word, f"{word}.x and {word}.y exchanged")


def _changes(nodes: Sequence[Node]) -> list[_Change]:
    """Return each place of a variable with x or y, with the other axis."""
    places = [(each, match) for each in nodes if each.type == "field_expression"
              if (match := _BUILT_IN.fullmatch(text_of(each)))]  # fmt: skip
    return [(node, f"{match[1]}.{'y' if match[2] == 'x' else 'x'}") for node, match in places]


def _in_lines(changes: Sequence[_Change]) -> list[list[_Change]]:
    """Return changes by line."""
    return [[*line] for _, line in itertools.groupby(changes, key=lambda each: each[0].start_point.row)]

"""The axes of a grid along which a kernel's blocks read rows of A and columns of B."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from mmcore_cuda.cuda_source.tree import text_of
from mmcore_sources.cuda_file.inference.body import Body, Term, built_in
from mmcore_sources.cuda_file.inference.layout import Layout
from mmcore_sources.cuda_file.inference.roles import Roles


def layout_of_reads(layout: Layout, body: Body, roles: Roles) -> Layout:
    """Return a layout from the index into C, turned if that exchanges rows and columns by mistake.

    It does if the blocks along its columns read different parts of A, and those along its rows different parts of B.
    Guards that limit indexes as the index into C needs it must be no majority.
    """
    read = [_axes(body, roles.pointers[matrix]) for matrix in "AB"]
    if layout.rows == layout.columns or read != [{layout.columns}, {layout.rows}]:
        return layout
    along = {"m": layout.rows, "n": layout.columns}
    guards = [
        (_block_axes(body.terms(index)), along.get(roles.sizes.get(text_of(limit), ""))) for index, limit in body.guards
    ]
    supporting = [axes == {axis} for axes, axis in guards if axes and axis]
    if 2 * sum(supporting) > len(supporting):
        return layout
    return replace(layout.turned(), why="the source's use of A and B")


def _axes(body: Body, pointer: str) -> set[str]:
    """Return the axes of the grid in the indexes of a matrix."""
    return set[str]().union(*map(_block_axes, body.indexes(pointer)))


def _block_axes(terms: Iterable[Term]) -> set[str]:
    """Return the axes of the indexes of blocks in terms."""
    return {axis for term in terms for kind, axis in built_in(term) if kind == "blockIdx"}

"""Rows of C whose length is a number of blocks, as ``columns = gridDim.x * 16``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from mmcore_sources.cuda_file.inference.body import Body, built_in
from mmcore_sources.cuda_file.inference.storage import strides_of


def blocks_of_row(body: Body, matrices: Mapping[str, str], sizes: Iterable[str]) -> str:
    """Return the number of blocks that is a factor of the length of C's rows: "gridDim.x"; empty without one.

    It is empty, too, if one of the sizes is that length, or that of B's rows.
    """
    known = {*sizes}
    if any(strides_of(body, matrices[matrix], known) for matrix in "BC"):
        return ""
    for term in (each for index in body.indexes(matrices["C"]) for each in index):
        of_row = [axis for kind, axis in built_in(term) if kind in ("blockIdx", "threadIdx")]
        for blocks in (f"gridDim.{axis}" for axis in "xyz" if axis not in of_row):
            if of_row and blocks in term:
                return blocks
    return ""

"""Which figures some results make."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise

from mmcore.errors import InvalidResults
from mmcore_plots import bars, block_edges, remainders, roofline, sizes, transfers
from mmcore_plots.drawing import Drawing
from mmcore_plots.results import Results
from mmcore_plots.series import by_key, kernel_entries

#: What can be drawn of a whole set of results.
_SWEEPS: Mapping[str, Callable[[Results], Drawing]] = {
    sizes.KIND: sizes.drawing,
    remainders.KIND: remainders.drawing,
    transfers.KIND: transfers.drawing,
    block_edges.KIND: block_edges.drawing,
}
#: What can be drawn of one size.
_AT_ONE_SIZE: Mapping[str, Callable[[Results, int], Drawing]] = {
    bars.KIND: bars.drawing,
    roofline.KIND: roofline.drawing,
}
KINDS = (*_SWEEPS, *_AT_ONE_SIZE)
"""What ``--figure`` takes."""


def figure(results: Results, kind: str = "", size: int | None = None) -> Drawing:
    """The figure of some results.

    Args:
        results: the results.
        kind: one of :data:`KINDS`; where empty, the one that the shape of the experiment suggests.
        size: the n of a figure of one size; where None, the one with the most kernels.

    Raises:
        InvalidResults: the results have not what that figure takes.
    """
    kind = kind or usual_kind(results)
    if kind in _SWEEPS:
        if size is not None:
            raise InvalidResults(f"a figure of {kind} is not of one size; leave --size out")
        return _SWEEPS[kind](results)
    if kind not in _AT_ONE_SIZE:
        raise InvalidResults(f"there is no figure {kind!r}; there are {', '.join(KINDS)}")
    return _AT_ONE_SIZE[kind](results, bars.usual_size(results) if size is None else size)


def usual_kind(results: Results) -> str:
    """What an experiment's results are best drawn as; bars, where they are no experiment's."""
    if not results.experiment:
        return bars.KIND
    return _suggested(results)


def _suggested(results: Results) -> str:
    if any(entry.cell.measure == "global" for entry in results.entries):
        return transfers.KIND
    series = by_key(kernel_entries(results))
    found = sorted({entry.cell.n for entries in series.values() for entry in entries})
    edges = {key.block for key in series} | {each.block for each in results.refused}
    if len(found) == 1:
        return block_edges.KIND if len(edges) > len({key.kernel for key in series}) else bars.KIND
    if any(there - here == 1 for here, there in pairwise(found)):
        return remainders.KIND
    return sizes.KIND if len(edges) > 1 else bars.KIND


def figures(results: Results) -> list[Drawing]:
    """All that a page shows of some results: an experiment's figure, or bars at every size.

    Raises:
        InvalidResults: the results have not what the figure takes.
    """
    if (kind := usual_kind(results)) != bars.KIND:
        return [figure(results, kind)]
    return [bars.drawing(results, n) for n in bars.sizes(results)]

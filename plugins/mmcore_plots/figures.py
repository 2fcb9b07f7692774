"""Which figures some results make."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise

from mmcore_plots.against_n import remainders, sizes
from mmcore_plots.bars import bars, by_size, usual_size
from mmcore_plots.block_edges import blocks
from mmcore_plots.drawing import Drawing
from mmcore_plots.results import InvalidResults, Results
from mmcore_plots.roofline import roofline
from mmcore_plots.series import kernel_entries
from mmcore_plots.transfers import transfers

#: What can be drawn of a whole set of results.
_SWEEPS: Mapping[str, Callable[[Results], Drawing]] = {
    "sizes": sizes,
    "remainders": remainders,
    "transfers": transfers,
    "blocks": blocks,
}
#: What can be drawn of one size.
_AT_ONE_SIZE: Mapping[str, Callable[[Results, int], Drawing]] = {"bars": bars, "roofline": roofline}
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
    return _AT_ONE_SIZE[kind](results, usual_size(results) if size is None else size)


def usual_kind(results: Results) -> str:
    """What an experiment's results are best drawn as; bars, where they are no experiment's."""
    if any(entry.cell.measure == "end-to-end" for entry in results.entries) and results.experiment:
        return "transfers"
    cells = [entry.cell for entry in kernel_entries(results)]
    found = sorted({cell.n for cell in cells})
    configs = {cell.config for cell in cells} | {each.cell.config for each in results.skipped}
    if results.experiment and any(there - here == 1 for here, there in pairwise(found)):
        return "remainders"
    if not results.experiment or len(configs) < 2:
        return "bars"
    if len(found) > 1:
        return "sizes"
    return "blocks" if len(configs) > len({cell.kernel for cell in cells}) else "bars"


def figures(results: Results) -> list[Drawing]:
    """All that a page shows of some results: an experiment's figure, or bars at every size.

    Raises:
        InvalidResults: the results have not what the figure takes.
    """
    if (kind := usual_kind(results)) != "bars":
        return [figure(results, kind)]
    return [bars(results, n) for n in by_size(results)]

"""Which figures some results make."""

from __future__ import annotations

from itertools import pairwise

from mmcore_plots.drawing import Drawing
from mmcore_plots.one_size import bars, by_size, roofline
from mmcore_plots.results import InvalidResults, Results
from mmcore_plots.series import kernel_entries
from mmcore_plots.sweeps import blocks, remainders, sizes, transfers

#: What can be drawn of a whole set of results, and what of one size.
_SWEEPS = {each.__name__: each for each in (sizes, remainders, transfers, blocks)}
_AT_ONE_SIZE = {each.__name__: each for each in (bars, roofline)}
KINDS = (*_SWEEPS, *_AT_ONE_SIZE)
"""What ``--figure`` takes."""


def figure(results: Results, kind: str = "", size: int | None = None) -> Drawing:
    """The figure of some results; InvalidResults where they have not what it takes.

    Args:
        results: the results.
        kind: one of :data:`KINDS`; where empty, the one that the shape of the experiment suggests.
        size: the n of a figure of one size; where None, the largest of those with the most kernels.
    """
    kind = kind or usual_kind(results)
    if kind in _AT_ONE_SIZE:
        return _AT_ONE_SIZE[kind](results, size)
    if kind not in _SWEEPS:
        raise InvalidResults(f"there is no figure {kind!r}; there are {', '.join(KINDS)}")
    if size is not None:
        raise InvalidResults(f"a figure of {kind} is not of one size; leave --size out")
    return _SWEEPS[kind](results)


def figures(results: Results) -> list[Drawing]:
    """All that a page shows of some results: an experiment's figure, or bars at every size."""
    kind = usual_kind(results)
    return [figure(results, kind, n) for n in (by_size(results) if kind == "bars" else (None,))]


def usual_kind(results: Results) -> str:
    """What an experiment's results are best drawn as; bars, where they are no experiment's."""
    if not results.experiment:
        return "bars"
    if any(entry.cell.measure == "end-to-end" for entry in results.entries):
        return "transfers"
    cells = [entry.cell for entry in kernel_entries(results)]
    found = sorted({cell.n for cell in cells})
    if any(there - here == 1 for here, there in pairwise(found)):
        return "remainders"
    configs = {cell.config for cell in cells} | {each.cell.config for each in results.skipped}
    if len(configs) < 2:
        return "bars"
    if len(found) > 1:
        return "sizes"
    return "blocks" if len(configs) > len({cell.kernel for cell in cells}) else "bars"

"""Reasons in local memory: arrays that are indexed by variables, and spilled registers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from mmcore.cli.source_quote import source_line
from mmcore.kernel.declaration import Kernel
from mmcore_emulator.profiler.counters import Line
from mmcore_performance.costs import NOTHING, access_costs
from mmcore_performance.observation import Observation, ObservedLaunch
from mmcore_performance.reasons.reason import Reason
from mmcore_performance.sites import Site


def find(observation: Observation, launch: ObservedLaunch) -> Iterable[Reason]:
    """Yield the line with the most accesses to local memory; ``printf`` finds its arguments there, too."""
    lines = defaultdict[Line, list[Site]](list)
    for site in launch.sites:
        if site.place.space == "local" and not _prints(observation.kernel, site.place.line):
            lines[site.place.line].append(site)
    if not lines:
        return
    line = max(lines, key=lambda each: sum(site.requests for site in lines[each]))
    several = lines[line]
    kinds = dict.fromkeys(site.place.kind for site in several)
    fmas = launch.lines[line].fmas / 32 if line in launch.lines else 0
    requests = sum(site.requests for site in several)
    each = f", {requests / fmas:.2g} for each multiply-add" if fmas else ""
    yield Reason(
        "local memory",
        f"an array of each thread is in local memory, that is in device memory, since its index is not a constant: "
        f"{' and '.join(f'{kind}s' for kind in kinds)}{each}",
        "make the loops' bounds constants (a template parameter or a macro), and unroll them with #pragma unroll",
        line,
        several[0].place.column,
        sum((access_costs(site) for sites in lines.values() for site in sites), NOTHING),
    )


def _prints(kernel: Kernel, line: Line) -> bool:
    return "printf(" in (source_line(kernel, line.source, line.number) or "")

"""The reason of too little reuse: elements that are loaded from global or shared memory for each multiply-add."""

from __future__ import annotations

from collections.abc import Iterable

from mmcore.kernel.problem import dtype_named
from mmcore_emulator.profiler.counters import total
from mmcore_performance.costs import Costs, access_costs, memory
from mmcore_performance.observation import Observation, ObservedLaunch
from mmcore_performance.rates import SHARED_PASS
from mmcore_performance.reasons.global_memory import uncoalesced_site
from mmcore_performance.reasons.reason import Reason
from mmcore_performance.sites import Site

_TILE = 4  # edge of a thread's tile that is advised
_NEEDED = 2 / _TILE  # cycles of loads for a multiply-add
_WARP = 32
_PASS_BYTES = 128  # of shared memory
_PASSES = 3  # of a tile's bytes: a load and a store by 16 bytes, and a load of fragments


def find(observation: Observation, launch: ObservedLaunch) -> Iterable[Reason]:
    """Yield the reason, for the accesses that are left when mistakes have been removed."""
    fmas = _multiply_adds(observation, launch)
    for space in ("global", "shared"):
        several = _loads(launch, space)
        if lacks_reuse(observation, launch, space):
            least = {each: _least(each, observation, launch) for each in several}
            site = max(several, key=least.__getitem__)
            saved = access_costs(site, sum(least.values()) - fmas * _NEEDED)
            yield (_global if space == "global" else _shared)(observation, site, several, fmas, saved)
    fragments = [site for site in launch.sites if site.fragments and _is_operand(site, "global")]
    if fragments:
        yield _fragments(observation, fragments)


def lacks_reuse(observation: Observation, launch: ObservedLaunch, space: str) -> bool:
    """Return whether multiply-adds load more from a memory than those of a tile of a thread would."""
    fmas = _multiply_adds(observation, launch)
    return 0 < fmas * _NEEDED < sum(_least(site, observation, launch) for site in _loads(launch, space))


def _multiply_adds(observation: Observation, launch: ObservedLaunch) -> float:
    """Return the multiply-adds of warps; a multiplication and an addition that are not fused count as one.

    Those of whole numbers are not told from the arithmetic of indices, so they are the product's.
    """
    small = observation.small
    if dtype_named(small.dtype).is_integer:
        return small.m * small.n * small.k / _WARP
    return total(launch.lines.values()).flops / 2 / _WARP


def _loads(launch: ObservedLaunch, space: str) -> list[Site]:
    return [site for site in launch.sites if not site.fragments and _is_operand(site, space)]


def _is_operand(site: Site, space: str) -> bool:
    return site.place.space == space and site.place.kind == "load" and site.place.array != "C"


def _least(site: Site, observation: Observation, launch: ObservedLaunch) -> float:
    """Return the cycles of a site without waste."""
    if site.place.space == "shared":
        return float(site.wavefronts - site.conflicts)
    far = uncoalesced_site(site, observation, launch)
    return memory(site) - (far.saved.global_memory if far else 0.0)


def _times(observation: Observation, site: Site) -> float:
    """Return how often each element of a matrix is loaded."""
    problem, small, matrix = observation.problem, observation.small, site.place.array
    rows, columns = small.shape(matrix) if matrix in ("A", "B") else (1, 1)
    times = site.threads * site.place.nbytes / (rows * columns * small.dtype_of("A").itemsize)
    return times * (problem.n if matrix == "A" else problem.m) / (small.n if matrix == "A" else small.m)


def _global(observation: Observation, site: Site, several: list[Site], fmas: float, saved: Costs) -> Reason:
    matrix, times = site.place.array, _times(observation, site)
    return Reason(
        "little reuse",
        f"each element of {matrix} is loaded {times:,.0f} times from global memory, since every thread loads what it "
        "multiplies",
        "copy tiles of A and B into shared memory, such as 32×32, and let each thread compute several elements of C",
        site.place.line,
        site.place.column,
        saved,
    )


def _fragments(observation: Observation, several: list[Site]) -> Reason:
    """Return the reason of fragments that each warp loads from global memory, and not from a tile in shared memory."""
    site = max(several, key=memory)
    least = sum(each.threads * each.place.nbytes / _PASS_BYTES * _PASSES * SHARED_PASS for each in several)
    return Reason(
        "little reuse",
        f"each element of {site.place.array} is loaded {_times(observation, site):,.0f} times from global memory, as "
        "every warp loads the fragments that it multiplies",
        "copy tiles of A and B into shared memory, 16 bytes with each load and store, and load fragments from there",
        site.place.line,
        site.place.column,
        access_costs(site, sum(map(memory, several)) - least),
    )


def _shared(observation: Observation, site: Site, several: list[Site], fmas: float, saved: Costs) -> Reason:
    each = sum(other.requests for other in several) / fmas
    return Reason(
        "little reuse",
        f"{each:.2g} load{'' if f'{each:.2g}' == '1' else 's'} from shared memory for each multiply-add",
        f"let each thread compute a tile of C, such as {_TILE}×{_TILE}, whose elements of A and B stay in registers",
        site.place.line,
        site.place.column,
        saved,
    )

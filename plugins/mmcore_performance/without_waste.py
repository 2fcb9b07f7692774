"""Advice for a kernel without a waste, by the unit that limits it and as far as its counts support it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mmcore_emulator.profiler.counters import total
from mmcore_performance.evidence import Evidence, LaunchEvidence
from mmcore_performance.features import features, resident_blocks
from mmcore_performance.prediction import IN_TURN, WAITS, launch_seconds, parameters, seconds_of_waits

_CLUSTERS = (9, 0)  # the first compute capability with them
_MUCH = 0.1  # the part of the time that waits take, from which they are worth a change
_OFTEN = 1.5  # times that bytes are moved, over the least
_COPIES = "copies that begin earlier, with one more buffer"
_INDEPENDENT = "a larger tile for each thread or warp, whose sums do not wait for each other"
_ADVICE = {
    "load": "loads of the next elements before the arithmetic on these",
    "cached_load": "loads of the next elements before the arithmetic on these",
    "copy": _COPIES,
    "bulk_copy": _COPIES,
    "barrier": "tiles that are deeper in k, with fewer barriers",
    "wgmma": "more products of wgmma before each wait",
}  # by the kind of most waits


def advice(evidence: Evidence, limiter: str) -> str:
    """Return what to try with the launch that takes longest, where ``limiter`` limits the kernel; "" for no advice.

    Waits get advice where they take much of the time, although a unit takes more.
    """
    works = [(features(evidence, launch), resident_blocks(evidence, launch)) for launch in evidence.launches]
    times = [launch_seconds(work, blocks, parameters()) for work, blocks in works]
    longest = times.index(max(times))
    launch, waits = evidence.launches[longest], seconds_of_waits(*works[longest], parameters())
    if limiter == WAITS:
        return _alternatives([*_of_warps(evidence, launch), _of_waits(evidence, launch)])
    several = [*_of_bytes(evidence, launch)] if limiter in ("l2", "dram") else []
    if waits > _MUCH * times[longest]:
        share = f"{100 * waits / times[longest]:.0f} %"
        several.append(f"{_of_waits(evidence, launch)} (waits take about {share} of the time)")
    return _alternatives(several)


def _alternatives(several: Sequence[str]) -> str:
    return ", or ".join(filter(None, [", ".join(several[:-1]), *several[-1:]]))


def _of_warps(evidence: Evidence, launch: LaunchEvidence) -> Iterator[str]:
    """Yield how to have more warps on a multiprocessor."""
    occupancy, resident = launch.occupancy, resident_blocks(evidence, launch)
    if resident < occupancy.active_blocks:
        fit = f"a multiprocessor has {resident}, and {occupancy.active_blocks} fit"
        yield f"more blocks, by smaller tiles or by k split among blocks ({fit})"
    elif occupancy.active_warps < occupancy.of.warps:
        yield f"more warps on a multiprocessor, which has {occupancy.active_warps} of {occupancy.of.warps}"


def _of_waits(evidence: Evidence, launch: LaunchEvidence) -> str:
    """Return what shortens the most frequent waits."""
    work, weights = features(evidence, launch), parameters().weights[WAITS]
    waits = {kind: seconds * weights.get(kind, 1.0) for kind, seconds in (*work[WAITS].items(), *work[IN_TURN].items())}
    return _ADVICE.get(max(waits, key=waits.__getitem__), _INDEPENDENT)


def _of_bytes(evidence: Evidence, launch: LaunchEvidence) -> Iterator[str]:
    """Yield how to move fewer bytes through the L2 cache, and from device memory to it."""
    traffic, least, counters = launch.traffic, evidence.problem.compulsory_bytes, total(launch.lines.values())
    if traffic.l2_bytes > _OFTEN * least:
        yield f"larger tiles (blocks move {traffic.l2_bytes / least:.0f} times the bytes of A, B and C)"
        lines = launch.lines.values()
        multicast = any(each.bulk_delivered_bytes > _OFTEN * each.bulk_load_bytes for each in lines)
        if counters.bulk_loads and not multicast and evidence.card.capability >= _CLUSTERS:
            yield "a multicast of each tile to the blocks of a cluster"
    if traffic.dram_bytes > _OFTEN * least:
        yield (
            "an order of blocks in which those that run at the same time share rows of A and columns of B "
            f"({traffic.dram_bytes / 1e9:.2g} GB come from device memory, where {least / 1e9:.2g} GB would do)"
        )

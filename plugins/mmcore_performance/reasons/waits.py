"""Reasons in waits that nothing hides: copies that do not overlap with arithmetic, waits after each ``wgmma``."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from mmcore.kernel.geometry import ceil_div
from mmcore_cuda.machine_code import machine_code
from mmcore_emulator.profiler.by_line import line_of
from mmcore_emulator.profiler.counters import Line, total
from mmcore_emulator.ptx.instructions import Instruction
from mmcore_performance.costs import NOTHING, Costs, access_costs, costs
from mmcore_performance.observation import Observation, ObservedLaunch
from mmcore_performance.reasons.reason import Reason
from mmcore_performance.reasons.shared_memory import barriers_needed

_COPY_CYCLES = 1200.0  # until all threads of a block have a tile in shared memory: as between rungs of the ladder
_PRODUCT_CYCLES = 100.0  # from the last operation of wgmma until its sums are in registers, about
_WARPS_OF_GROUP = 4
_WAIT = "WARPGROUP.DEPBAR"  # of machine code
_CP_ASYNC = (8, 0)  # the first compute capability with it
_LEAST_COPY = 4  # bytes that it copies
_ENOUGH_PRODUCTS = 4  # instructions of wgmma between two waits


def find(observation: Observation, launch: ObservedLaunch) -> Iterable[Reason]:
    """Yield the reasons."""
    work = replace(costs(launch, observation.card), barrier=0.0).cycles
    yield from _no_overlap(observation, launch, work)
    yield from _serialised_products(observation, launch, work)


def _no_overlap(observation: Observation, launch: ObservedLaunch, work: float) -> Iterable[Reason]:
    """Yield the copy that begins most of the phases in which a block copies, waits and multiplies in turn.

    It comes twice: with the waits that the predicted time contains, and with an estimate beyond it, since a prediction
    takes warps to wait independently of each other.
    """
    if not launch.overlaps.copies_alone or not waits_together(launch):
        return
    estimated = _in_turn(observation, launch, work)
    yield estimated
    copied = 0.0 if _is_asynchronous(launch) else _copied(launch)
    saved = _passes(launch) * copied if observation.card.capability >= _CP_ASYNC else NOTHING
    copies = launch.overlaps.phases.total()
    yield replace(estimated, factor=1 - copied, scope="loads", saved=saved, copies=copies, uncounted=False)


def copies_in_turn(observation: Observation) -> Iterable[Reason]:
    """Yield a reason for each launch that multiplies and copies in turn, or copies nothing, whatever its gain."""
    for launch in observation.launches:
        overlaps = launch.overlaps
        if overlaps.overlapped + overlaps.alone and not overlaps.phases:
            advice = "copy the next tiles into shared memory while these are multiplied"
            yield Reason("no overlap", "no tile is copied into shared memory", advice)
        elif overlaps.copies_alone:
            yield _in_turn(observation, launch)


def _in_turn(observation: Observation, launch: ObservedLaunch, work: float = 0.0) -> Reason:
    """Return the reason of a launch that copies and multiplies in turn, with ``work`` cycles of its units."""
    overlaps = launch.overlaps
    at, _ = overlaps.phases.most_common(1)[0]
    most = ceil_div(launch.grid.size, observation.card.multiprocessors)
    blocks = max(1, min(launch.occupancy.active_blocks, most))
    hide = "nothing hides the wait" if blocks == 1 else f"{blocks} blocks on a multiprocessor hide part of the wait"
    return Reason(
        "no overlap",
        f"a block copies tiles into shared memory, waits for them and multiplies them in turn; {hide}",
        _advice(observation.card.capability, _is_asynchronous(launch)),
        *_place(at),
        factor=busy(work / (overlaps.phases.total() * barriers_needed(launch)), _COPY_CYCLES, blocks),
        uncounted=True,
    )


def _is_asynchronous(launch: ObservedLaunch) -> bool:
    """Return whether most copies are by cp.async."""
    at, _ = launch.overlaps.phases.most_common(1)[0]
    return at.opcode[0] == "cp"


def _copied(launch: ObservedLaunch) -> float:
    """Return the part of the bytes loaded from global memory that are stored to shared memory."""
    moved = {("global", "load"): 0, ("shared", "store"): 0}
    for site in launch.sites:
        if (key := (site.place.space, site.place.kind)) in moved:
            moved[key] += site.threads * site.place.nbytes
    loaded, stored = moved.values()
    return min(1.0, stored / loaded) if loaded else 0.0


def _passes(launch: ObservedLaunch) -> Costs:
    """Return the passes of loads through the L1 cache, which cp.async saves where it may copy such elements."""
    loads = (site for site in launch.sites if site.place[2:4] == ("load", "global"))
    return sum((access_costs(site) for site in loads if site.place.nbytes >= _LEAST_COPY), NOTHING)


def _advice(capability: tuple[int, int], asynchronous: bool) -> str:
    if asynchronous:
        return "copy the next tile into another buffer before this one is multiplied, and wait for it only then"
    if capability < _CP_ASYNC:
        return "load the next tiles into registers before these are multiplied, and store them in a second buffer then"
    tma = ", or a ring of stages filled by TMA" if capability >= (9, 0) else ""
    return f"copy the next tiles into a second buffer by cp.async while these are multiplied{tma}"


def _serialised_products(observation: Observation, launch: ObservedLaunch, work: float) -> Iterable[Reason]:
    """Yield the wait for ``wgmma`` that ends the most groups of few instructions, in the source or by ptxas."""
    waits, products = launch.overlaps.waits, total(launch.lines.values()).tensor_instructions / _WARPS_OF_GROUP
    (at, number), _ = waits.most_common(1)[0] if waits else ((None, _ENOUGH_PRODUCTS), 0)
    groups = max(1, round(launch.overlaps.multiplying * launch.occupancy.active_blocks / _WARPS_OF_GROUP))
    if at is not None and number < _ENOUGH_PRODUCTS:
        each = "each wgmma" if number == 1 else f"every {number} wgmma"
        yield Reason(
            "serialised wgmma",
            f"a warpgroup waits for all its products after {each}, and the tensor cores are idle until then",
            "issue the products of a whole tile before one wgmma.commit_group, or leave one group under way "
            "(wgmma.wait_group 1)",
            *_place(at),
            factor=busy(work / (waits.total() / _WARPS_OF_GROUP), _PRODUCT_CYCLES, groups),
            uncounted=True,
        )
    elif (line := _serialised_by_ptxas(observation, launch)) is not None:
        yield Reason(
            "serialised wgmma",
            "ptxas lets a warpgroup wait after each wgmma, since it cannot keep several under way here",
            "unroll the loop of wgmma, with one wgmma.fence before it, and use the sums after the wait alone; ptxas "
            "notes the cause (C7510 to C7519)",
            line,
            factor=busy(work / products, _PRODUCT_CYCLES, groups),
            uncounted=True,
        )


def _serialised_by_ptxas(observation: Observation, launch: ObservedLaunch) -> Line | None:
    """Return the kernel's line of products after each of which machine code waits; None without a disassembler."""
    code = (machine_code(observation.code.cubin) or {}).get(launch.function.symbol)
    for loop in code.loops if code and launch.overlaps.multiplying else ():
        products = [at for at in loop.instructions if at.name.endswith("GMMA")]
        waits = [at for at in loop.instructions if at.opcode.startswith(_WAIT) and at.operands[-1] == "0x0"]
        if products and len(waits) >= len(products):
            return products[0].kernel_line
    return None


def _place(at: Instruction) -> tuple[Line, int]:
    """Return the line and column of an instruction, or the line of the kernel that calls the function which has it."""
    if at.callers:
        return Line(*at.callers[-1]), 0
    return line_of(at), at.column


def waits_together(launch: ObservedLaunch) -> bool:
    """Return whether the threads of a block wait for what others have copied."""
    counters = total(launch.lines.values())
    return bool(counters.barriers or counters.bulk_loads)


def busy(work: float, wait: float, several: int) -> float:
    """Return the part of the time in which a unit works for ``several`` that each need it and then wait, in turn.

    The unit serves one at a time; the others queue. This is mean value analysis of a closed queue.
    """
    queue, rate = 0.0, 0.0
    for number in range(1, several + 1):
        response = work * (1 + queue)
        rate = number / (wait + response)
        queue = rate * response
    return min(1.0, rate * work)

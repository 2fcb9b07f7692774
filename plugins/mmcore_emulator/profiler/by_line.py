"""An observer that counts what a launch does, line by line."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from copy import copy
from typing import NamedTuple

from mmcore_emulator.isa.products import Product, product_of
from mmcore_emulator.isa.table import effect
from mmcore_emulator.machine.accesses import Access, BulkTransfer
from mmcore_emulator.machine.asynchronous.events import Event, Issued
from mmcore_emulator.machine.lanes import Batch, Mask
from mmcore_emulator.machine.observer import Observer
from mmcore_emulator.numerics.floats import Values
from mmcore_emulator.profiler.coalescing import (
    BANKS,
    Active,
    Rows,
    matrix_wavefronts,
    requests,
    sectors,
    sectors_of_runs,
    transactions_cc1x,
    wavefronts,
)
from mmcore_emulator.profiler.counters import Counters, Line
from mmcore_emulator.profiler.patterns import PERIODS, Extent, Patterns
from mmcore_emulator.ptx.blocks import Block
from mmcore_emulator.ptx.instructions import Instruction

OTHERS = ("copy", "bulk copy", "mbarrier", "warpgroup")
"""Kinds of instructions whose accesses are neither loads, stores nor atomics."""
# What counters call accesses to shared memory: one, and several.
_SHARED = {
    "load": ("shared_load", "shared_loads"),
    "store": ("shared_store", "shared_stores"),
    "copy": ("async_copy", "async_copies"),
}


class _Executed(NamedTuple):
    """What one thread executes."""

    instructions: int
    fmas: int
    flops: int


class Counting(Observer):
    """Counts; one for each launch."""

    def __init__(self, blocks: Sequence[Block]) -> None:
        self._tallies: dict[Line, Counter[str]] = defaultdict(Counter)
        self._products: dict[Line, Counter[Product]] = defaultdict(Counter)
        self._executes = {id(block): (block, _executed_by_line(block), _products_by_line(block)) for block in blocks}
        self._patterns = Patterns(_cost)

    @property
    def lines(self) -> dict[Line, Counters]:
        """The counters of each line, in order."""
        tallies, products = self._tallies, self._products
        return {line: Counters(**tallies[line], products=products.get(line, {})) for line in sorted(tallies)}

    def begin(self, batch: Batch) -> Observer:
        own = copy(self)
        own._patterns = self._patterns.of(batch)
        return own

    def enter(self, block: Block, mask: Mask | None) -> None:
        extent = self._patterns.extent(mask)
        _, executes, multiplies = self._executes[id(block)]
        for line, executed in executes.items():
            self._tally(line, executed, extent)
        for line, product in multiplies:
            self._tallies[line]["tensor_instructions"] += extent.warps
            self._tallies[line]["tensor_flops"] += extent.warps * product.flops
            self._products[line][product] += extent.warps

    def guarded(self, at: Instruction, mask: Mask | None) -> None:
        self._tally(line_of(at), _Executed(0, _fmas(at), effect(at).flops), self._patterns.extent(mask))

    def synchronise(self, left: Sequence[tuple[Block, Mask | None]], number: Values, count: Values) -> None:
        for block, mask in left:
            if block.end is not None:
                self._tallies[line_of(block.end)]["barriers"] += self._patterns.extent(mask).blocks

    def access(self, access: Access) -> None:
        # Asynchronous copies are counted when they are sent, and operands of wgmma when they are read.
        if access.space in PERIODS and effect(access.at).kind not in OTHERS:
            self._tallies[line_of(access.at)].update(self._patterns.cost(access))

    def copy(self, read: Access, written: Access) -> None:
        for access in (read, written):
            self._tallies[line_of(access.at)].update(self._patterns.cost(access))

    def bulk_copy(self, transfer: BulkTransfer) -> None:
        tally, name = self._tallies[line_of(transfer.at)], f"bulk_{transfer.action}"
        tally[f"{name}s"] += len(transfer.lanes)
        tally[f"{name}_bytes"] += int(transfer.nbytes.sum())
        tally[f"{name}_sectors"] += sectors_of_runs(transfer.begin, transfer.nbytes)
        if transfer.action == "load":
            tally["bulk_delivered_bytes"] += transfer.delivered

    def event(self, event: Event) -> None:
        if isinstance(event, Issued) and effect(event.transfer.at).kind == "warpgroup":
            self._tallies[line_of(event.transfer.at)]["wgmma_wavefronts"] += event.transfer.words.size // BANKS

    def _tally(self, line: Line, executed: _Executed, extent: Extent) -> None:
        tally = self._tallies[line]
        tally["thread_instructions"] += extent.threads * executed.instructions
        tally["warp_instructions"] += extent.warps * executed.instructions
        tally["fmas"] += extent.threads * executed.fmas
        tally["flops"] += extent.threads * executed.flops


def line_of(at: Instruction) -> Line:
    """The line that an instruction was made of."""
    return Line(at.source, at.line)


def _fmas(at: Instruction) -> int:
    return int(effect(at).flops == 2)


def _executed_by_line(block: Block) -> dict[Line, _Executed]:
    """What one thread executes in a basic block; of guarded instructions only that it comes by them."""
    lines: dict[Line, _Executed] = {}
    for at in block.instructions:
        before = lines.get(line_of(at), _Executed(0, 0, 0))
        counts = (1, 0, 0) if at.guard is not None else (1, _fmas(at), effect(at).flops)
        lines[line_of(at)] = _Executed(*map(sum, zip(before, counts, strict=True)))
    return lines


def _products_by_line(block: Block) -> list[tuple[Line, Product]]:
    """What tensor cores multiply in a basic block; such instructions are never guarded."""
    found = ((at, product_of(at)) for at in block.instructions)
    return [(line_of(at), product) for at, product in found if product]


def _cost(access: Access, address: Rows, active: Active, times: int) -> dict[str, int]:
    """The counters that an access adds to; each of the rows' blocks stands for ``times`` of them."""
    if access.space == "global":
        counts = _global_cost(access, address, active)
    else:
        counts = _shared_cost(access, address, active)
    return {name: count * times for name, count in counts.items()}


def _global_cost(access: Access, address: Rows, active: Active) -> dict[str, int]:
    if access.kind == "copy":
        return {"async_copy_sectors": sectors(address, active)}
    kind, threads = f"global_{access.kind}", int(active.sum())
    counts = {f"{kind}_requests": requests(active), f"{kind}s": threads, f"{kind}_sectors": sectors(address, active)}
    if access.kind != "atomic":
        counts[f"{kind}_bytes"] = threads * access.nbytes
    if access.kind == "load":
        counts["global_load_transactions_cc1x"] = transactions_cc1x(address, active, access.nbytes)
    return counts


def _shared_cost(access: Access, address: Rows, active: Active) -> dict[str, int]:
    if access.kind == "atomic":
        return {"shared_atomic_requests": requests(active)}
    does = effect(access.at)
    if does.kind == "matrix move":
        kind, further = does.step, {}
        passes, conflicts = matrix_wavefronts(address, active)
    else:
        kind, plural = _SHARED[access.kind]
        threads = int(active.sum())
        further = {plural: threads, f"{kind}_bytes": threads * access.nbytes}
        passes, conflicts = wavefronts(address, active, access.nbytes)
    counts = {f"{kind}_requests": requests(active), f"{kind}_wavefronts": passes, "shared_bank_conflicts": conflicts}
    return {**counts, **further}

"""An observer that counts what a launch does, line by line."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

from mmcore_emulator.isa.matrix.products import Product, product_of
from mmcore_emulator.isa.table import effect
from mmcore_emulator.machine.asynchronous.events import Event, Issued
from mmcore_emulator.machine.lanes import Mask
from mmcore_emulator.machine.observer import Access, BatchObserver, BulkTransfer
from mmcore_emulator.numerics.types import Values
from mmcore_emulator.profiler import coalescing
from mmcore_emulator.profiler.coalescing import BANKS, PERIODS, Active, Patterns, Rows, requests, sectors
from mmcore_emulator.profiler.counters import Counters, Line
from mmcore_emulator.ptx.instructions import Block, Instruction

OTHERS = ("copy", "bulk copy", "mbarrier", "warpgroup")
"""Kinds of instructions with accesses that are neither loads, stores nor atomics."""


class Counting(BatchObserver):
    """An observer that counts one launch."""

    def __init__(self, blocks: Sequence[Block]) -> None:
        self._tallies: dict[Line, Counter[str]] = defaultdict(Counter)
        self._products: dict[Line, Counter[Product]] = defaultdict(Counter)
        self._executed = {id(block): (block, _executed(block)) for block in blocks}
        self._patterns = Patterns(_cost)

    @property
    def lines(self) -> dict[Line, Counters]:
        """The counters of each line, in order."""
        tallies, products = self._tallies, self._products
        return {line: Counters(**tallies[line], products=products.get(line, {})) for line in sorted(tallies)}

    def enter(self, block: Block, mask: Mask | None) -> None:
        extent = self._patterns.extent(self._batch, mask)
        _, executed = self._executed[id(block)]
        for line, (instructions, arithmetic, products) in executed.items():
            tally = self._tallies[line]
            tally["thread_instructions"] += extent.threads * instructions
            tally["warp_instructions"] += extent.warps * instructions
            for name, count in arithmetic.items():
                tally[name] += extent.threads * count
            for product, count in products.items():
                tally["tensor_instructions"] += extent.warps * count
                tally["tensor_flops"] += extent.warps * count * product.flops
                self._products[line][product] += extent.warps * count

    def guarded(self, at: Instruction, mask: Mask | None) -> None:
        threads = self._patterns.extent(self._batch, mask).threads
        for name, count in _arithmetic(at).items():
            self._tallies[line_of(at)][name] += threads * count

    def synchronise(self, left: Sequence[tuple[Block, Mask | None]], number: Values, count: Values) -> None:
        for block, mask in left:
            if block.end is not None:
                self._tallies[line_of(block.end)]["barriers"] += self._patterns.extent(self._batch, mask).blocks

    def access(self, access: Access) -> None:
        # Asynchronous copies are counted when they are issued, and operands of wgmma when they are read.
        if access.space in PERIODS and effect(access.at).kind not in OTHERS:
            self._count(access)

    def copy(self, read: Access, written: Access) -> None:
        self._count(read)
        self._count(written)

    def _count(self, access: Access) -> None:
        self._tallies[line_of(access.at)].update(self._patterns.cost(self._batch, access))

    def bulk_copy(self, transfer: BulkTransfer) -> None:
        tally, name = self._tallies[line_of(transfer.at)], f"bulk_{transfer.action}"
        tally[f"{name}s"] += len(transfer.lanes)
        tally[f"{name}_bytes"] += int(transfer.nbytes.sum())
        tally[f"{name}_sectors"] += coalescing.sectors_of_runs(transfer.begin, transfer.nbytes)
        if transfer.action == "load":
            tally["bulk_delivered_bytes"] += transfer.delivered

    def event(self, event: Event) -> None:
        if isinstance(event, Issued) and effect(event.transfer.at).kind == "warpgroup":
            self._tallies[line_of(event.transfer.at)]["wgmma_wavefronts"] += event.transfer.words.size // BANKS


def line_of(at: Instruction) -> Line:
    """Return the line that an instruction was compiled from."""
    return Line(at.source, at.line)


def _arithmetic(at: Instruction) -> Counter[str]:
    """Return the floating-point counters that a thread adds to."""
    return Counter(fmas=effect(at).fmas, flops=effect(at).flops)


def _executed(block: Block) -> dict[Line, tuple[int, Counter[str], Counter[Product]]]:
    """Return the instructions of each line in a basic block, their arithmetic and the tensor cores' products.

    The arithmetic of guarded instructions is left out; tensor instructions are never guarded.
    """
    lines: dict[Line, list[Instruction]] = {}
    for at in block.instructions:
        lines.setdefault(line_of(at), []).append(at)
    executed = {}
    for line, instructions in lines.items():
        arithmetic: Counter[str] = Counter()
        for at in instructions:
            if at.guard is None:
                arithmetic.update(_arithmetic(at))
        products = Counter(product for at in instructions if (product := product_of(at)))
        executed[line] = len(instructions), arithmetic, products
    return executed


def _cost(access: Access, address: Rows, active: Active, times: int) -> dict[str, int]:
    """Return the counters that an access adds to; the rows' blocks represent ``times`` blocks each."""
    counts = _COSTS[access.space](access, address, active)
    return {name: count * times for name, count in counts.items()}


def _global_cost(access: Access, address: Rows, active: Active) -> dict[str, int]:
    if access.kind == "copy":
        return {"async_copy_sectors": sectors(address, active)}
    kind, threads = f"global_{access.kind}", int(active.sum())
    counts = {f"{kind}_requests": requests(active), f"{kind}s": threads, f"{kind}_sectors": sectors(address, active)}
    if access.kind != "atomic":
        counts[f"{kind}_bytes"] = threads * access.nbytes
    if access.kind == "load":
        counts["global_load_transactions_cc1x"] = coalescing.transactions_cc1x(address, active, access.nbytes)
    return counts


def _shared_cost(access: Access, address: Rows, active: Active) -> dict[str, int]:
    if access.kind == "atomic":
        return {"shared_atomic_requests": requests(active)}
    instruction, counts = effect(access.at), {}
    passes, conflicts = coalescing.shared_wavefronts(access, address, active)
    if instruction.kind == "matrix move":
        kind = instruction.step
    else:
        is_copy, threads = access.kind == "copy", int(active.sum())
        kind = "async_copy" if is_copy else f"shared_{access.kind}"
        counts = {"async_copies" if is_copy else f"{kind}s": threads, f"{kind}_bytes": threads * access.nbytes}
    counts |= {f"{kind}_requests": requests(active), f"{kind}_wavefronts": passes}
    return {**counts, "shared_bank_conflicts": conflicts}


def _local_cost(access: Access, address: Rows, active: Active) -> dict[str, int]:
    if access.kind == "atomic":  # no GPU does these
        return {}
    kind, threads = f"local_{access.kind}", int(active.sum())
    return {
        f"{kind}s": threads,
        f"{kind}_bytes": threads * access.nbytes,
        f"{kind}_requests": requests(active),
        f"{kind}_sectors": coalescing.local_sectors(address, active, access.nbytes),
    }


_COSTS = {"global": _global_cost, "shared": _shared_cost, "local": _local_cost}

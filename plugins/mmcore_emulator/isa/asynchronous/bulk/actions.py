"""Bulk copies between global and shared memory, of boxes of tensors and of plain bytes, and waits for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from mmcore_emulator.isa.asynchronous.bulk.copies import OPERANDS, parse_copy
from mmcore_emulator.isa.asynchronous.bulk.loads import to_shared
from mmcore_emulator.isa.asynchronous.bulk.reductions import merge_of
from mmcore_emulator.isa.asynchronous.bulk.stores import to_global
from mmcore_emulator.isa.entries import CACHE_HINT, CLUSTER_SPACE, Effect, Entry, Execute, Family, Opcode, nothing
from mmcore_emulator.machine.asynchronous.events import Committed, Waited
from mmcore_emulator.machine.lanes import Mask
from mmcore_emulator.machine.machine import Machine
from mmcore_emulator.numerics.floats import Values
from mmcore_emulator.ptx.instructions import Instruction


def _bulk(opcode: Opcode) -> Execute | None:
    """Return what runs a bulk copy, or waits for some; None for another instruction, and for what is not known."""
    copy = parse_copy(opcode)
    if copy is None or not set(copy.operands) <= OPERANDS.keys():
        return None
    if copy.action in ("prefetch", "prefetch_map"):
        return Execute(nothing, copy.specs)
    if copy.action == "commit_group":
        return Execute(_commit)
    if copy.action == "wait_group":
        return Execute(partial(_wait, copy.read), copy.specs)
    merge = merge_of(copy.reduction, copy.kind, copy.target) if copy.kind else None
    if copy.kind and merge is None:
        return None
    return Execute(partial(to_global if copy.target == "global" else to_shared, copy, merge), copy.specs)


def _commit(machine: Machine, mask: Mask | None, at: Instruction) -> Sequence[Values]:
    machine.bulk_groups.commit(mask)
    machine.observers.event(Committed("bulk", mask))
    return ()


def _wait(read: bool, machine: Machine, mask: Mask | None, at: Instruction, most: list[Values]) -> Sequence[Values]:
    groups = machine.bulk_groups
    (groups.read if read else groups.land)(int(most[0].item()), mask)
    machine.observers.event(Waited("bulk", int(most[0].item()), mask))
    return ()


_WRITES = Effect("bulk copy", "writes", writes=True)
FAMILY = Family(
    "Bulk copies (TMA)",
    (
        Entry("cp.async.bulk", _bulk, r"cp\.async\.bulk\..*", _WRITES),
        Entry(
            "cp.reduce.async.bulk",
            _bulk,
            r"cp\.reduce\.async\.bulk\..*\.add\b.*",
            replace(_WRITES, verb="adds to", step="reduce"),
        ),
        Entry(
            "cp.reduce.async.bulk",
            _bulk,
            r"cp\.reduce\.async\.bulk\..*",
            replace(_WRITES, verb="changes", step="reduce"),
        ),
        Entry("prefetch.tensormap", _bulk, r"prefetch\..*tensormap"),
    ),
    since=(((9, 0), r"cp\.(reduce\.)?async\.bulk.*"), CLUSTER_SPACE, CACHE_HINT),
)

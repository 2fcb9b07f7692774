"""Copies of 4, 8 or 16 bytes from global to shared memory that each thread issues: cp.async.

They read when they are issued. They arrive in shared memory as late as possible: when their thread waits for their
group, or another for their mbarrier. So a thread that does not wait reads the previous content. Reference: PTX ISA,
"Data Movement and Conversion Instructions: Non-bulk copy".
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from mmcore_emulator.isa.entries import CACHE_HINT, CLUSTER_SPACE, Effect, Entry, Execute, Family, Opcode, OperandSpec
from mmcore_emulator.machine.asynchronous.events import Committed, Issued, Transfer, Waited, words_of
from mmcore_emulator.machine.lanes import Mask
from mmcore_emulator.machine.machine import Execution
from mmcore_emulator.machine.observer import Access
from mmcore_emulator.numerics.types import DType, Values

_WORD = np.dtype(np.uint32)
_PREFETCHES = {f"L2::{size}" for size in ("64B", "128B", "256B")}
_POLICY = "L2::cache_hint"
_SHARED = {"shared", "shared::cta"}


def _copies(opcode: Opcode) -> Execute | None:
    rest = opcode[2:]
    spaces = len(rest) > 2 and rest[0] in ("ca", "cg") and rest[1] in _SHARED and rest[2] == "global"
    if not spaces or not set(rest[3:]) <= {*_PREFETCHES, _POLICY}:
        return None
    # The number of source bytes to read, or a predicate to ignore the source, is optional; the policy is last.
    policy = int(_POLICY in rest)
    further = [OperandSpec("source", "")] * (1 + policy)
    size = OperandSpec("source", "u32", constants=(16,) if rest[0] == "cg" else (4, 8, 16))
    return Execute(
        _copy, (OperandSpec("address"), OperandSpec("address"), size, *further), required=3 + policy, moves=()
    )


def _commit(execution: Execution) -> None:
    execution.machine.thread_copies.commit(execution.mask)
    execution.machine.observers.event(Committed("copy", execution.mask))


def _wait_for_all(execution: Execution) -> None:
    execution.machine.thread_copies.land(np.full((1,) * 6, np.iinfo(np.int64).max), execution.mask)
    execution.machine.observers.event(Committed("copy", execution.mask))
    execution.machine.observers.event(Waited("copy", 0, execution.mask))


def _wait_for_groups(execution: Execution, most: list[Values]) -> None:
    """Wait until at most ``most`` of the latest groups are under way."""
    copies = execution.machine.thread_copies
    copies.land(copies.committed - most[0], execution.mask)
    execution.machine.observers.event(Waited("copy", int(most[0].item()), execution.mask))


def _copy(
    execution: Execution, target: list[Values], source: list[Values], size: list[Values], *further: list[Values]
) -> None:
    machine, mask, at = execution
    nbytes = int(size[0].item())
    read_bytes = next(iter(further[: len(further) - (_POLICY in at.opcode)]), [])
    if read_bytes and read_bytes[0].dtype == np.bool_:
        read_bytes = [np.where(read_bytes[0], np.uint32(0), np.uint32(nbytes))]
    count = nbytes // 4
    machine.memory.check_alignment("shared", target[0], nbytes, mask, at)
    reading = machine.batch.narrow(mask, read_bytes[0] > 0) if len(read_bytes) else mask
    if machine.observers:
        _report_copy(execution, source[0], target[0], nbytes, reading)
    if not len(read_bytes):
        words = machine.memory.load("global", source[0], _WORD, count, mask, at)
    else:
        words = _part(execution, source[0], count, np.minimum(read_bytes[0], np.uint32(nbytes)))
    machine.thread_copies.send(target[0], words, mask, at)
    if machine.observers:
        # Bytes that are not read have no origin.
        origin = np.where(read_bytes[0] > 0, source[0], np.uint64(0)) if len(read_bytes) else source[0]
        _report_issued(execution, target[0], origin, nbytes)


def _report_copy(execution: Execution, source: Values, target: Values, nbytes: int, reading: Mask | None) -> None:
    """Report copies from global to shared memory; only the lanes of ``reading`` read anything."""
    machine, mask, at = execution
    if not execution.idle:
        read = Access("copy", "global", machine.memory.spaces["global"], source, nbytes, reading, at)
        machine.observers.copy(
            read, Access("copy", "shared", machine.memory.spaces["shared"], target, nbytes, mask, at)
        )


def _report_issued(execution: Execution, target: Values, origin: Values, nbytes: int) -> None:
    machine, mask, at = execution
    lanes = np.flatnonzero(machine.batch.spread(mask))
    origins = np.broadcast_to(origin, machine.batch.shape).reshape(-1)[lanes].astype(np.int64) if nbytes == 16 else None
    words = words_of(machine.memory.places(target).reshape(-1)[lanes], nbytes)
    machine.observers.access(Access("copy", "shared", machine.memory.spaces["shared"], target, nbytes, mask, at))
    machine.observers.event(
        Issued(Transfer(at, lanes[:, np.newaxis], words, True, None if origins is None else origins[:, np.newaxis]))
    )


def _part(execution: Execution, source: Values, count: int, nbytes: Values) -> list[Values]:
    """Return the words of the first ``nbytes`` bytes, padded with zeros."""
    words: list[Values] = [np.zeros((1,) * 6, np.uint32)] * count
    full = nbytes == np.uint32(4 * count)
    load = partial(_loaded_where, execution)
    if full.any():
        words = [np.where(full, new, old) for new, old in zip(load(source, count, full, _WORD), words, strict=True)]
    if not (full | (nbytes == 0)).all():
        for number in range(count):
            inside = ~full & (nbytes >= np.uint32(4 * number + 4))
            (word,) = load(source + np.uint64(4 * number), 1, inside, _WORD)
            words[number] = np.where(inside, word, words[number])
            for byte in range(3):
                included = ~full & ~inside & (nbytes > np.uint32(4 * number + byte))
                if included.any():
                    (loaded,) = load(source + np.uint64(4 * number + byte), 1, included, np.dtype(np.uint8))
                    shifted = loaded.astype(np.uint32) << np.uint32(8 * byte)
                    words[number] = np.where(included, words[number] | shifted, words[number])
    return words


def _loaded_where(execution: Execution, source: Values, count: int, lanes: Values, dtype: DType) -> list[Values]:
    machine, mask, at = execution
    narrowed = machine.batch.narrow(mask, lanes)
    if narrowed is not None and not narrowed.count:
        return [np.zeros((1,) * 6, dtype)] * count
    loaded: list[Values] = machine.memory.load("global", source, dtype, count, narrowed, at)
    return loaded


_COPY = Effect("copy", "writes", writes=True)
_WAIT = replace(_COPY, step="wait")
FAMILY = Family(
    "Copies of threads (cp.async)",
    (
        Entry("cp.async.commit_group", Execute(_commit), r"cp\.async\.commit_group", _COPY),
        Entry("cp.async.wait_all", Execute(_wait_for_all), r"cp\.async\.wait_all", _WAIT),
        Entry(
            "cp.async.wait_group",
            Execute(_wait_for_groups, (OperandSpec("source", "s32"),)),
            r"cp\.async\.wait_group",
            _WAIT,
        ),
        Entry("cp.async", _copies, r"cp\.async\.c[ag]\..*", _COPY),
    ),
    since=(((8, 0), r"cp\.async\..*"), CLUSTER_SPACE, CACHE_HINT),
    proof="moves",
)

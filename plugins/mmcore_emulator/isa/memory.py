"""Loads, stores, moves and addresses.

Reference: PTX ISA, "Data Movement and Conversion Instructions".
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from mmcore_emulator.isa.entries import (
    CACHE_HINT,
    CLUSTER_SPACE,
    IGNORED,
    Compute,
    Effect,
    Entry,
    Execute,
    Family,
    MemoryAccess,
    Move,
    Opcode,
    OperandSpec,
    nothing,
)
from mmcore_emulator.machine.machine import Execution
from mmcore_emulator.machine.memory.arrays import (
    LOCAL_WINDOW,
    MOST_RANK,
    PARAMETER_WINDOW,
    RANK_BEGIN,
    RANK_SHIFT,
    SHARED_WINDOW,
    owned,
    without_owner,
)
from mmcore_emulator.numerics.types import NUMPY, Values

# An access's order has no effect on its value, because all accesses are made in order.
CACHE_HINTS = {
    *("weak", "volatile", "relaxed", "acquire", "release", "acq_rel", "mmio", "cta", "cluster", "gpu", "sys"),
    *("nc", "ca", "cg", "cs", "cv", "lu", "wb", "wt", "L2::64B", "L2::128B", "L2::256B"),
    *(f"L1::{kept}" for kept in ("evict_normal", "evict_unchanged", "evict_last", "evict_first", "no_allocate")),
    *(f"L2::{kept}" for kept in ("evict_normal", "evict_last", "evict_first")),
}
"""Parts of the opcodes of accesses that do not change their effect here."""
POLICY = "L2::cache_hint"
"""A part of an opcode whose last operand is a cache policy."""
VECTORS = {"v2": 2, "v4": 4, "v8": 8}
LARGEST_ACCESS = 16
"""The most bytes that one access moves."""
SPACES = {space: space for space in ("global", "shared", "local", "param", "const")}
SPACES |= {"shared::cta": "shared", "shared::cluster": "cluster", "param::entry": "param"}
"""The memory of each part of an opcode that names one."""
_WINDOWS = {"global": 0, "const": 0, "shared": SHARED_WINDOW, "local": LOCAL_WINDOW, "param": PARAMETER_WINDOW}
_WINDOWS |= {"shared::cta": SHARED_WINDOW, "shared::cluster": SHARED_WINDOW, "param::entry": PARAMETER_WINDOW}


def _access(opcode: Opcode) -> Execute | None:
    """Return the semantics of a load or store of a vector of elements."""
    space, count, kind = "generic", 1, ""
    for part in opcode[1:]:
        if part in SPACES:
            space = SPACES[part]
        elif part in VECTORS:
            count = VECTORS[part]
        elif part in NUMPY and part not in ("pred", "f16", "bf16") and not kind:
            kind = part
        elif part not in CACHE_HINTS and part != POLICY:
            return None
    if not kind or count * NUMPY[kind].itemsize > LARGEST_ACCESS:
        return None
    dtype, address, policy = NUMPY[kind], OperandSpec("address"), (IGNORED,) * (POLICY in opcode)

    def load(execution: Execution, address: list[Values]) -> Sequence[Values]:
        machine, mask, at = execution
        return machine.memory.load(space, address[0], dtype, count, mask, at)

    def store(execution: Execution, address: list[Values], values: list[Values]) -> None:
        machine, mask, at = execution
        machine.memory.store(space, address[0], values, dtype, mask, at)

    if opcode[0] != "st":
        operands = (OperandSpec("result", kind, count), address, *policy)
        return Execute(load, operands, memory=MemoryAccess("load", space, dtype), moves=())
    if space in ("param", "const"):
        return None
    operands = (address, OperandSpec("source", kind, count), *policy)
    return Execute(store, operands, memory=MemoryAccess("store", space, dtype), moves=(1,))


def _move(opcode: Opcode) -> Move | None:
    return Move(opcode[1]) if len(opcode) == 2 and opcode[1] in NUMPY else None


def _convert_address(opcode: Opcode) -> Compute | Execute | None:
    """Return the semantics of ``cvta``: generic addresses are offset by the begin of a memory's window."""
    to = opcode[1:2] == ("to",)
    parts = opcode[1 + to :]
    if len(parts) != 2 or parts[0] not in _WINDOWS or parts[1] != "u64":
        return None
    begin = np.uint64(_WINDOWS[parts[0]])
    if parts[0] == "local":
        return Execute(_from_local if to else _to_local, (OperandSpec("result", "u64"), OperandSpec("source", "u64")))
    if not begin:
        return Compute(np.asarray, ("u64",), "u64")
    return Compute((lambda a: a - begin) if to else (lambda a: a + begin), ("u64",), "u64")


def _to_local(execution: Execution, address: list[Values]) -> list[Values]:
    batch = execution.machine.batch
    return [owned(address[0], batch.number_in_grid() * batch.block.size + batch.thread_index())]


def _from_local(execution: Execution, address: list[Values]) -> list[Values]:
    return [without_owner(address[0]) - np.uint64(LOCAL_WINDOW)]


def _cluster_address(opcode: Opcode) -> Execute | None:
    """Return the semantics of ``mapa`` (an address in another block) or ``getctarank`` (the block of an address)."""
    name, *space, kind = opcode
    if space not in ([], ["shared::cluster"]) or kind not in ("u32", "u64"):
        return None
    address = OperandSpec("source", kind)
    if name == "mapa":
        return Execute(_mapped, (OperandSpec("result", kind), address, OperandSpec("source", "u32")))
    return Execute(_rank_of, (OperandSpec("result", "u32"), address))


def _mapped(execution: Execution, address: list[Values], rank: list[Values]) -> list[Values]:
    kind = address[0].dtype.type
    inside = address[0] & kind(RANK_BEGIN - 1 | (0 if kind is np.uint32 else 2**64 - 2**32))
    return [inside | ((np.minimum(rank[0], np.uint32(MOST_RANK)) + np.uint32(1)).astype(kind) << kind(RANK_SHIFT))]


def _rank_of(execution: Execution, address: list[Values]) -> list[Values]:
    rank = ((address[0] & address[0].dtype.type(2**32 - 1)) >> address[0].dtype.type(RANK_SHIFT)).astype(np.uint32)
    return [np.where(rank, rank - np.uint32(1), execution.machine.special("%cluster_ctarank"))]


def _is_in_space(opcode: Opcode) -> Execute | None:
    """Return the semantics of ``isspacep``: true if a generic address belongs to a memory."""
    if len(opcode) != 2 or opcode[1] not in SPACES:
        return None
    return Execute(partial(_leads_into, opcode[1]), (OperandSpec("result", "pred"), OperandSpec("source", "u64")))


def _leads_into(space: str, execution: Execution, address: list[Values]) -> list[Values]:
    machine, address = execution.machine, [without_owner(address[0])]
    window = address[0] // np.uint64(SHARED_WINDOW) * np.uint64(SHARED_WINDOW)
    if space == "shared::cluster":
        return [window == SHARED_WINDOW]
    if space in ("shared", "shared::cta"):
        inside = (address[0] & np.uint64(SHARED_WINDOW - 1)).astype(np.uint32)
        (rank,) = _rank_of(execution, [inside])
        return [(window == SHARED_WINDOW) & (rank == machine.special("%cluster_ctarank"))]
    if space in ("local", "param", "param::entry"):
        return [window == (LOCAL_WINDOW if space == "local" else PARAMETER_WINDOW)]
    # Constants are stored among the device's arrays. Parameters are a part of global memory.
    places, which = np.unique(address[0], return_inverse=True)
    arrays = [machine.memory.spaces["global"].at(int(place)) for place in places]
    constant = np.array([array is not None and array.read_only for array in arrays])[which.reshape(address[0].shape)]
    return [constant if space == "const" else ~constant & (window != SHARED_WINDOW) & (window != LOCAL_WINDOW)]


FAMILY = Family(
    "Loads, stores, moves and addresses",
    (
        # The order of a load decides if a thread polls with it.
        Entry("ld", _access, r".*\.(volatile|relaxed|acquire)\..*", Effect("load", "reads", polls="always")),
        Entry("ld|ldu", _access, effect=Effect("load", "reads")),
        Entry("st", _access, r"st\.(?!async).*", Effect("store", "writes", writes=True)),
        Entry("mov", _move, effect=Effect("move", passes=True)),
        Entry("cvta", _convert_address),
        Entry("isspacep", _is_in_space),
        Entry("mapa", _cluster_address, effect=Effect("cluster address")),
        Entry("getctarank", _cluster_address),
        Entry(
            "prefetch|prefetchu",
            Execute(nothing, (IGNORED,) * 3, 0),
            r"prefetchu?(\.(global|local|const|param))?(\.L[12]\S*|\.tensormap)?",
        ),
        Entry("applypriority|discard", Execute(nothing, (IGNORED,) * 3, 0)),
        Entry(
            "createpolicy",
            Execute(lambda *_: [np.zeros((1,) * 6, np.uint64)], (OperandSpec("result", "b64"), *(IGNORED,) * 4), 1),
            r"createpolicy\.(fractional|range|cvt)\.\S*",
        ),
    ),
    since=(
        ((9, 0), r"(mapa|getctarank)\..*|prefetch\..*tensormap"),
        CLUSTER_SPACE,
        ((8, 0), r"(createpolicy|applypriority|discard)\..*|prefetch\..*L2::.*"),
        CACHE_HINT,
    ),
    proof="moves",
)

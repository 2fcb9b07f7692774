"""Operations that the threads of a warp execute together: shuffles, votes, matches, reductions, elections.

Values are rows of 32, one for each warp. Reference: PTX ISA, Parallel Synchronization and Communication Instructions,
and Data Movement (shfl).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache, partial

import numpy as np

from mmcore_emulator.isa.entries import Effect, Entry, Execute, Family, Function, Opcode, OperandSpec
from mmcore_emulator.machine.limits import WARP
from mmcore_emulator.machine.machine import Execution
from mmcore_emulator.machine.warps import BIT, EVERY_LANE, PerWarp
from mmcore_emulator.numerics.types import NUMPY, Flags, Values
from mmcore_emulator.ptx.types import Constant

_LANE = np.arange(WARP, dtype=np.int64)
# The value that a thread gets from an inactive one: a register that was never written.
_NOT_SET = np.uint32(0x7FFC7FFC)
EVERYBODY = Constant(int(EVERY_LANE))
"""The mask of all lanes of a warp."""


def _shuffle(compute: Callable[..., tuple[PerWarp, ...]]) -> Execute:
    return replace(_execute(compute, ("b32", "u32", "u32", "u32"), "b32|pred"), shuffle=compute, moves=(0,))


def _collective(opcode: Opcode) -> Execute | None:
    return _table().get(".".join(opcode))


def _execute(compute: Callable[..., tuple[PerWarp, ...]], sources: tuple[str, ...], results: str) -> Execute:
    """Return the semantics of an instruction that computes the results of each warp from its executing lanes."""
    operands = (OperandSpec("result", results, 0), *(OperandSpec("source", kind) for kind in sources))

    def together(execution: Execution, *sources: list[Values]) -> list[Values]:
        return execution.machine.warps.together(compute, [source for (source,) in sources], execution.mask)

    return Execute(together, operands)


@cache
def _table() -> Mapping[str, Execute]:
    table = {f"shfl.sync.{mode}.b32": _shuffle(partial(_shuffled, mode)) for mode in ("up", "down", "bfly", "idx")}
    votes: dict[str, Function] = {
        "all": lambda votes, members: (votes | ~members).all(axis=2),
        "any": lambda votes, members: (votes & members).any(axis=2),
        "uni": lambda votes, members: (votes | ~members).all(axis=2) | ~(votes & members).any(axis=2),
    }
    for mode, of in votes.items():
        table[f"vote.sync.{mode}.pred"] = _execute(partial(_voted, of), ("pred", "u32"), "pred")
    table["vote.sync.ballot.b32"] = _execute(partial(_voted, _ballot), ("pred", "u32"), "b32")
    for kind in ("b32", "b64"):
        table[f"match.any.sync.{kind}"] = _execute(_match_any, (kind, "u32"), "b32")
        table[f"match.all.sync.{kind}"] = _execute(_match_all, (kind, "u32"), "b32|pred")
    reductions: list[tuple[str, np.ufunc, tuple[str, ...]]] = [
        ("add", np.add, ("u32", "s32")),
        ("min", np.minimum, ("u32", "s32")),
        ("max", np.maximum, ("u32", "s32")),
        ("and", np.bitwise_and, ("b32",)),
        ("or", np.bitwise_or, ("b32",)),
        ("xor", np.bitwise_xor, ("b32",)),
    ]
    for name, ufunc, kinds in reductions:
        for kind in kinds:
            neutral = _neutral(name, kind)
            table[f"redux.sync.{name}.{kind}"] = _execute(partial(_reduced, ufunc, neutral), (kind, "u32"), kind)
    table["elect.sync"] = _execute(_elected, ("u32",), "b32|pred")
    return table


def _neutral(name: str, kind: str) -> np.generic:
    """Return the neutral element of a reduction."""
    bounds = np.iinfo(NUMPY[kind])
    neutral: np.generic = NUMPY[kind].type({"min": bounds.max, "max": bounds.min, "and": bounds.max}.get(name, 0))
    return neutral


def _shuffled(
    mode: str, taking: PerWarp, values: PerWarp, by: PerWarp, packed: PerWarp, named: PerWarp
) -> tuple[PerWarp, PerWarp]:
    """Return the value that each lane gets from another lane, and true if that lane is in its segment."""
    segment = (packed >> np.uint32(8)).astype(np.int64) & 31
    clamp, distance = packed.astype(np.int64) & 31, by.astype(np.int64) & 31
    last = (_LANE & segment) | (clamp & ~segment)
    source = {
        "up": _LANE - distance,
        "down": _LANE + distance,
        "bfly": _LANE ^ distance,
        "idx": (_LANE & segment) | (distance & ~segment),
    }[mode]
    inside = source >= last if mode == "up" else source <= last
    source = np.where(inside, source, _LANE)
    active = np.take_along_axis(taking, source & 31, axis=1)
    return np.where(active, np.take_along_axis(values, source & 31, axis=1), _NOT_SET.astype(values.dtype)), inside


def _members(taking: PerWarp, named: PerWarp) -> Flags:
    """Return for each lane the executing lanes of its warp that it names: [warps, lane, other lane]."""
    return np.asarray(((named[:, :, np.newaxis] & BIT) != 0) & taking[:, np.newaxis, :])


def _voted(of: Function, taking: PerWarp, votes: PerWarp, named: PerWarp) -> tuple[PerWarp]:
    return (of(votes[:, np.newaxis, :], _members(taking, named)),)


def _ballot(votes: PerWarp, members: PerWarp) -> PerWarp:
    return np.asarray(np.where(votes & members, BIT, np.uint32(0)).sum(axis=2, dtype=np.uint32))


def _match_any(taking: PerWarp, values: PerWarp, named: PerWarp) -> tuple[PerWarp]:
    return (_ballot(values[:, :, np.newaxis] == values[:, np.newaxis, :], _members(taking, named)),)


def _match_all(taking: PerWarp, values: PerWarp, named: PerWarp) -> tuple[PerWarp, PerWarp]:
    members = _members(taking, named)
    alike = ((values[:, :, np.newaxis] == values[:, np.newaxis, :]) | ~members).all(axis=2)
    return np.where(alike, _ballot(np.True_, members), np.uint32(0)), alike  # type: ignore[arg-type]


def _reduced(ufunc: np.ufunc, neutral: np.generic, taking: PerWarp, values: PerWarp, named: PerWarp) -> tuple[PerWarp]:
    contributions = np.where(_members(taking, named), values[:, np.newaxis, :], neutral)
    return (ufunc.reduce(contributions, axis=2).astype(values.dtype),)


def _elected(taking: PerWarp, named: PerWarp) -> tuple[PerWarp, PerWarp]:
    """Return the first of the lanes, which hardware elects."""
    first = _members(taking, named).argmax(axis=2)
    return first.astype(np.uint32), first == _LANE


_NAMED = Effect("compute", members="named")
FAMILY = Family(
    "Warp operations",
    (
        Entry("shfl|vote|redux|elect", _collective, effect=_NAMED),
        # The lane that a match elects acts for all its members (the destructor of cuda::pipeline).
        Entry("match", _collective, effect=Effect("compute", members="named", elects=True)),
    ),
    since=(((9, 0), r"elect\..*"), ((8, 0), r"redux\..*")),
    proof="moves: `shfl`; others opaque",
)

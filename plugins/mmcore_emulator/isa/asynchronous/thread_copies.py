"""cp.async: copies of 4, 8 or 16 bytes from global to shared memory that each thread sends on their way.

They read when they are issued, and land in shared memory as late as they may: when their thread waits for their group,
or somebody for the mbarrier that they arrive at. So what does not wait finds what was there before. Reference: PTX ISA,
"Data Movement and Conversion Instructions: Non-bulk copy".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from mmcore_emulator.isa.entries import Action, Part
from mmcore_emulator.machine.asynchronous.events import Issued, Transfer, words_of
from mmcore_emulator.machine.compiled_block import Ports
from mmcore_emulator.machine.lanes import Mask
from mmcore_emulator.machine.observer import Access
from mmcore_emulator.numerics.floats import Values
from mmcore_emulator.ptx.instructions import Instruction

_WORD = np.dtype(np.uint32)
_PREFETCHES = {f"L2::{size}" for size in ("64B", "128B", "256B")}
_POLICY = "L2::cache_hint"
_SHARED = {"shared", "shared::cta"}


@dataclass(frozen=True)
class _Copy:
    """One instruction's copies, under way."""

    group: Values  # number of the group that each lane's belongs to
    address: Values
    words: list[Values]
    mask: Mask | None
    at: Instruction


class ThreadCopies:
    """The copies under way of a batch of blocks."""

    def __init__(self, ports: Ports) -> None:
        self._ports = ports
        self._copies: list[_Copy] = []
        #: Groups that each lane has committed.
        self.committed: Values = np.zeros((1,) * 6, np.int64)

    def send(self, address: Values, words: list[Values], mask: Mask | None, at: Instruction) -> None:
        """Copies are under way."""
        self._copies.append(_Copy(self.committed, address, words, mask, at))

    def commit(self, mask: Mask | None) -> None:
        """What these lanes have sent is a group."""
        more = self.committed + 1
        self.committed = more if mask is None else self._ports.merge(mask, more, self.committed)

    def land(self, before: Values, mask: Mask | None) -> None:
        """Copies of these lanes land that are in groups below ``before``."""
        left = []
        for copy in self._copies:
            going = np.asarray(copy.group < before)
            if not going.any():
                left.append(copy)
                continue
            lanes = _both(self._ports, copy.mask, mask, going)
            if lanes is None or lanes.count:
                self._ports.store("shared", copy.address, copy.words, _WORD, lanes, copy.at)
            if lanes is not None:
                rest = self._ports.spread(copy.mask) & ~self._ports.spread(lanes)
                if rest.any():
                    left.append(replace(copy, mask=self._ports.narrow(None, rest)))
        self._copies = left


def _both(ports: Ports, one: Mask | None, other: Mask | None, going: Values) -> Mask | None:
    """The lanes of two masks that go."""
    mask = one if other is None else other if one is None else ports.narrow(one, other.lanes)
    found: Mask | None = mask if going.all() else ports.narrow(mask, going)
    return found


def copy_action(opcode: tuple[str, ...]) -> Action | None:
    """What runs an instruction of ``cp.async``; None for another."""
    if opcode[:2] != ("cp", "async"):
        return None
    rest = opcode[2:]
    if rest == ("commit_group",):
        return Action(lambda ports, mask, at: ports.thread_copies.commit(mask) or ())
    if rest == ("wait_all",):
        return Action(_wait_for_all)
    if rest == ("wait_group",):
        return Action(_wait_for_groups, (Part("source", "s32"),))
    spaces = len(rest) > 2 and rest[0] in ("ca", "cg") and rest[1] in _SHARED and rest[2] == "global"
    if not spaces or not set(rest[3:]) <= {*_PREFETCHES, _POLICY}:
        return None
    # How much of the source is read, or whether none is, may be left out; the policy is last.
    policy = int(_POLICY in rest)
    further = [Part("source", "")] * (1 + policy)
    return Action(_copy, (Part("address"), Part("address"), Part("source", "u32"), *further), least=3 + policy)


def _wait_for_all(ports: Ports, mask: Mask | None, at: Instruction) -> Sequence[Values]:
    ports.thread_copies.land(np.full((1,) * 6, np.iinfo(np.int64).max), mask)
    return ()


def _wait_for_groups(ports: Ports, mask: Mask | None, at: Instruction, most: list[Values]) -> Sequence[Values]:
    """Wait until at most so many of the latest groups are under way."""
    ports.thread_copies.land(ports.thread_copies.committed - most[0], mask)
    return ()


def _copy(
    ports: Ports,
    mask: Mask | None,
    at: Instruction,
    target: list[Values],
    source: list[Values],
    size: list[Values],
    *further: list[Values],
) -> Sequence[Values]:
    nbytes = int(size[0].item())
    given = next(iter(further[: len(further) - (_POLICY in at.opcode)]), [])
    if given and given[0].dtype == np.bool_:
        given = [np.where(given[0], np.uint32(0), np.uint32(nbytes))]
    count = nbytes // 4
    ports.check_alignment("shared", target[0], nbytes, mask, at)
    reading = ports.narrow(mask, given[0] > 0) if len(given) else mask
    if ports.watched:
        ports.tell_copy(source[0], target[0], nbytes, reading, mask, at)
    if not len(given):
        words = ports.load("global", source[0], _WORD, count, mask, at)
    else:
        words = _part(ports, mask, at, source[0], count, np.minimum(given[0], np.uint32(nbytes)))
    ports.thread_copies.send(target[0], words, mask, at)
    if ports.watched:
        # What is not read from comes from nowhere.
        origin = np.where(given[0] > 0, source[0], np.uint64(0)) if len(given) else source[0]
        _tell_issued(ports, mask, at, target[0], origin, nbytes)
    return ()


def _tell_issued(ports: Ports, mask: Mask | None, at: Instruction, target: Values, origin: Values, nbytes: int) -> None:
    lanes = np.flatnonzero(ports.spread(mask))
    origins = np.broadcast_to(origin, ports.shape).reshape(-1)[lanes].astype(np.int64) if nbytes == 16 else None
    words = words_of(ports.places(target).reshape(-1)[lanes], nbytes)
    ports.tell(Access("copy", "shared", ports.spaces["shared"], target, nbytes, mask, at))
    ports.happened(
        Issued(Transfer(at, lanes[:, np.newaxis], words, True, None if origins is None else origins[:, np.newaxis]))
    )


def _part(ports: Ports, mask: Mask | None, at: Instruction, source: Values, count: int, given: Values) -> list[Values]:
    """Only so many bytes are read; the others are zeros."""
    words: list[Values] = [np.zeros((1,) * 6, np.uint32)] * count
    whole = given == np.uint32(4 * count)
    load = partial(_loaded_where, ports, mask, at)
    if whole.any():
        words = [np.where(whole, new, old) for new, old in zip(load(source, count, whole, _WORD), words, strict=True)]
    if not (whole | (given == 0)).all():
        for number in range(count):
            inside = ~whole & (given >= np.uint32(4 * number + 4))
            (word,) = load(source + np.uint64(4 * number), 1, inside, _WORD)
            words[number] = np.where(inside, word, words[number])
            for byte in range(3):
                there = ~whole & ~inside & (given > np.uint32(4 * number + byte))
                if there.any():
                    (found,) = load(source + np.uint64(4 * number + byte), 1, there, np.dtype(np.uint8))
                    shifted = found.astype(np.uint32) << np.uint32(8 * byte)
                    words[number] = np.where(there, words[number] | shifted, words[number])
    return words


def _loaded_where(
    ports: Ports, mask: Mask | None, at: Instruction, source: Values, count: int, lanes: Values, dtype: np.dtype[Any]
) -> list[Values]:
    narrowed = ports.narrow(mask, lanes)
    if narrowed is not None and not narrowed.count:
        return [np.zeros((1,) * 6, dtype)] * count
    loaded: list[Values] = ports.load("global", source, dtype, count, narrowed, at)
    return loaded

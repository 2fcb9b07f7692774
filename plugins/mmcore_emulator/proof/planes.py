"""Memory of tokens: for each plane, a machine whose memory has the bytes of that plane in place of the kernel's.

An instruction that only moves bytes is executed on these machines as it is on the machine itself.
"""

from __future__ import annotations

import weakref
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from mmcore_emulator.machine.asynchronous.in_flight import ThreadCopies
from mmcore_emulator.machine.barriers import ClusterBarrier
from mmcore_emulator.machine.formatted_output import Format
from mmcore_emulator.machine.lanes import Mask
from mmcore_emulator.machine.machine import Machine, MbarrierLog
from mmcore_emulator.machine.memory.address_spaces import AddressSpaces
from mmcore_emulator.machine.memory.arrays import Array, CopiedMemory, Space
from mmcore_emulator.machine.observer import Observers
from mmcore_emulator.machine.warps import RegisterPool, Warps
from mmcore_emulator.numerics.types import Values
from mmcore_emulator.proof.tokens import PLANES
from mmcore_emulator.proof.values import Bytes
from mmcore_emulator.ptx.instructions import Instruction


class TokenMemory:
    """The tokens of all memories of some launches; those of device arrays are kept from one launch to the next."""

    def __init__(self) -> None:
        # Planes of the content of arrays, by its identity; the content itself keeps the identity unique.
        self._device: dict[int, tuple[list[NDArray[np.uint8]], NDArray[np.uint8]]] = {}
        self._machines: WeakKeyDictionary[Machine, tuple[PlaneMachine, ...]] = WeakKeyDictionary()

    def planes_of(self, array: Array) -> list[NDArray[np.uint8]]:
        """Return the tokens of a device array's bytes, plane by plane; zeros at first."""
        key = id(array.content)
        if key not in self._device:
            self._device[key] = [np.zeros_like(array.content) for _ in range(PLANES)], array.content
        return self._device[key][0]

    def upload(self, array: Array, places: Values, tokens: Bytes) -> None:
        """Set the tokens of elements at byte offsets of a device array."""
        for plane, held in zip(self.planes_of(array), tokens.planes, strict=True):
            nbytes = len(plane) // held.itemsize * held.itemsize
            plane[:nbytes].view(held.dtype)[places.reshape(-1) // held.itemsize] = held.reshape(-1)

    def download(self, array: Array, places: Values, itemsize: int) -> Bytes:
        """Return the tokens of elements at byte offsets of a device array."""
        nbytes = len(array.content) // itemsize * itemsize
        views = (plane[:nbytes].view(f"u{itemsize}") for plane in self.planes_of(array))
        return Bytes(tuple(view[places // itemsize] for view in views))

    def machines(self, machine: Machine) -> tuple[PlaneMachine, ...]:
        """Return a machine for each plane."""
        if machine not in self._machines:
            self._machines[machine] = tuple(PlaneMachine(machine, self, rank) for rank in range(PLANES))
        return self._machines[machine]


class PlaneMachine:
    """A machine that executes instructions on the tokens of one plane; it reports nothing, and waits for nothing."""

    def __init__(self, machine: Machine, tokens: TokenMemory, rank: int) -> None:
        self._machine = weakref.proxy(machine)  # the machine's planes end with it
        self.batch = machine.batch
        self.warps: Warps = machine.warps
        self.register_pool: RegisterPool = machine.register_pool
        self.observers = Observers((), lambda violation: None)
        spaces = {name: _space(space, tokens, rank) for name, space in machine.memory.spaces.items()}
        self.memory: AddressSpaces = _PlaneMemory(machine.memory, self, spaces)
        # Copies of tokens land together with the copies of the bytes.
        self.thread_copies: ThreadCopies = _PlaneCopies(machine.thread_copies, self.memory)
        self.in_flight, self.bulk_groups = machine.in_flight, machine.bulk_groups
        self.cluster_barrier = ClusterBarrier(machine.batch)
        self.mbarriers = MbarrierLog()

    def special(self, name: str) -> Values:
        special: Values = self._machine.special(name)
        return special

    def clock(self, name: str) -> Values:
        clock: Values = self._machine.clock(name)
        return clock

    def print(self, lanes: Values, text: Format, arguments: Sequence[Values]) -> None:
        """Print nothing."""

    def approximate(self, mask: Mask | None) -> None:
        """Count nothing."""

    def refuse(self, mask: Mask | None, refusal: Exception) -> None:
        """Refuse nothing: the machine itself has done so."""


class _PlaneMemory(AddressSpaces):
    """The memories of a plane; tensor maps are read from the kernel's own memory."""

    holds_numbers = False

    def __init__(self, memory: AddressSpaces, machine: PlaneMachine, spaces: Mapping[str, Space]) -> None:
        super().__init__(machine.batch, spaces, machine.observers)
        self._memory = memory

    def content(self, space: str, address: int, nbytes: int) -> NDArray[np.uint8] | None:
        return self._memory.content(space, address, nbytes)


class _PlaneCopies(ThreadCopies):
    """The copies of tokens by threads, which land with the copies of the bytes."""

    def __init__(self, copies: ThreadCopies, memory: AddressSpaces) -> None:
        self._of_bytes, self._memory = copies, memory

    def send(
        self,
        address: Values,
        words: list[Values],
        mask: Mask | None,
        at: Instruction,
        memory: AddressSpaces | None = None,
    ) -> None:
        self._of_bytes.send(address, words, mask, at, self._memory)


class _PlaneSpace:
    """The arrays of a memory, with the bytes of a plane as their content."""

    def __init__(self, space: Space, tokens: TokenMemory, rank: int) -> None:
        self._space, self._tokens, self._rank = space, tokens, rank
        self._arrays: dict[int, Array] = {}
        self.range_bits, self.flushes = space.range_bits, False

    def at(self, address: int) -> Array | None:
        array = self._space.at(address)
        if array is None:
            return None
        key = id(array.content)
        if key not in self._arrays:
            content = self._tokens.planes_of(array)[self._rank]
            self._arrays[key] = replace(array, content=content, read_only=False, _views={})
        return self._arrays[key]

    def elsewhere(self, address: int) -> str:
        return self._space.elsewhere(address)


def _space(space: Space, tokens: TokenMemory, rank: int) -> Space:
    if not isinstance(space, CopiedMemory):
        return _PlaneSpace(space, tokens, rank)
    copied = copy(space)
    copied.arrays = [replace(each, content=np.zeros_like(each.content), _views={}) for each in space.arrays]
    return copied

"""Undefined bytes of memory, and the accesses that read or store undefined values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from mmcore_emulator.executor.translation.shadow_code import ExecuteRule, Operands, Shadow, Shadows
from mmcore_emulator.isa.entries import Execute, MemoryAccess
from mmcore_emulator.isa.table import decode
from mmcore_emulator.machine.lanes import Mask
from mmcore_emulator.machine.machine import Execution, Machine
from mmcore_emulator.machine.memory import operations
from mmcore_emulator.machine.memory.arrays import UNWRITTEN_HALFWORD, Array, Space
from mmcore_emulator.machine.observer import LaneViolation, always
from mmcore_emulator.numerics.types import DType, Values
from mmcore_emulator.ptx.instructions import Instruction
from mmcore_emulator.sanitizer.recording import at_line

ADDS = "adds a product to registers that were never set"
"""The clause on a product of matrices whose sums are undefined."""
_ZEROS = "zeros in the sums before the first product"
_BRANCHES = "branches by a value that depends on one that was never set"
_STORES = "stores to {} a value that depends on one that was never set"
_READS = "reads a value that was never set"
_SHUFFLES = "gets the value of a lane that does not take part in the shuffle"


def bits_of(dtype: DType) -> DType:
    """Return the type of the mask of a type's undefined bits."""
    return np.dtype(np.bool_) if dtype.kind == "b" else np.dtype(f"u{dtype.itemsize}")


def all_bits(flags: Values, dtype: DType) -> Values:
    """Return masks of a type with all bits where ``flags`` is true."""
    ones = np.full(1, 0xFF, np.uint8) if dtype.kind != "b" else np.ones(1, np.bool_)
    return np.where(flags, np.repeat(ones, dtype.itemsize).view(bits_of(dtype))[0], bits_of(dtype).type(0))


def known(shadow: Values) -> Shadow:
    """Return a mask, or None if no bit is set."""
    return shadow if shadow.any() else None


def resized(shadow: Shadow, dtype: DType) -> Values:
    """Return a mask of a type's size."""
    return np.zeros((1,) * 6, bits_of(dtype)) if shadow is None else shadow.astype(bits_of(dtype), copy=False)


@dataclass
class _BatchState:
    """The undefined bytes of a batch's memory, and where its lanes last read an undefined value."""

    # Masks of the bytes of an array's content, by the identity of the content.
    bytes: dict[int, tuple[NDArray[np.uint8], NDArray[np.uint8]]] = field(default_factory=dict)
    origins: list[Instruction] = field(default_factory=list)  # instructions that have read undefined values
    latest: Values | None = None  # number of the instruction that each lane executed last among them, plus one
    marked: set[int] = field(default_factory=set)  # numbers of the instructions whose undefined values are NaN
    shared: set[int] = field(default_factory=set)  # numbers of those that have read unwritten shared memory

    def reads(self, origin: Instruction) -> str:
        """Return a clause on an instruction that has read an undefined value."""
        semantics = decode(origin)
        if isinstance(semantics, Execute) and semantics.sums:
            return ADDS
        return _SHUFFLES if isinstance(semantics, Execute) and semantics.shuffle else _READS


class _ShadowSpace:
    """A memory whose arrays hold the masks of undefined bytes of another memory's arrays."""

    def __init__(self, space: Space, masks: Callable[[Array], NDArray[np.uint8]]) -> None:
        self._space, self._masks = space, masks
        self.range_bits, self.flushes = space.range_bits, False

    def at(self, address: int) -> Array | None:
        array = self._space.at(address)
        return None if array is None else replace(array, content=self._masks(array), read_only=False, _views={})

    def elsewhere(self, address: int) -> str:
        return self._space.elsewhere(address)


def _by_chance(space: Space, places: Values) -> Values:
    """Return the addresses that may be read but hold no data: gaps in the host's data, and the area behind it.

    Elements that a kernel should have written, and addresses out of bounds, are reported where they are read.
    """
    array = space.at(int(places.min()))
    if array is None:
        return np.zeros((1,) * 6, np.bool_)
    offset = (places - np.uint64(array.base)).view(np.int64)
    return (offset >= 0) & (offset < array.readable) & ((offset < array.uploaded) | (offset >= array.writable))


def _is_nan(value: Values) -> Values:
    """Return which values, of any type, have the bits of a NaN in a floating-point type of their size."""
    if value.dtype.itemsize == 2:
        return np.isnan(value.view(np.float16)) | ((value.view(np.uint16) & np.uint16(0x7FFF)) > 0x7F80)
    floats = {4: np.float32, 8: np.float64}.get(value.dtype.itemsize)
    return np.ones((1,) * 6, np.bool_) if floats is None else np.isnan(value.view(floats))


class UndefinedMemory:
    """The undefined bytes of the memories of a launch; the arguments are those of ``UndefinedValues``."""

    def __init__(self, outputs: Callable[[Array], bool], *, marked: bool) -> None:
        self._outputs = outputs
        self._marked = marked
        self._states: WeakKeyDictionary[Machine, _BatchState] = WeakKeyDictionary()

    def branch(self, machine: Machine, mask: Mask | None, at: Instruction, shadow: Shadow) -> None:
        if shadow is None:
            return
        lanes = machine.batch.spread(mask) & (shadow != 0)
        state = self._state(machine)
        for origin, here in self._by_origin(machine, lanes):
            if origin is None or origin not in state.marked:
                what, text = at, _BRANCHES
                if origin is not None:
                    what = state.origins[origin]
                    text = f"{state.reads(what)}, and branches{at_line(at)} by one that depends on it"
                machine.observers.violation(LaneViolation("uninitialized-read", None, what, here, always(text)))

    def _state(self, machine: Machine) -> _BatchState:
        return self._states.setdefault(machine, _BatchState())

    def _space(self, machine: Machine, name: str, space: Space) -> _ShadowSpace:
        """Return the masks of undefined bytes of a memory; local memory begins undefined."""
        state, initial = self._state(machine).bytes, 0xFF if name == "local" else 0

        def masks(array: Array) -> NDArray[np.uint8]:
            key = id(array.content)
            if key not in state:
                state[key] = np.full(len(array.content), initial, np.uint8), array.content
            return state[key][0]

        return _ShadowSpace(space, masks)

    def load(self, memory: MemoryAccess) -> ExecuteRule:
        bits = bits_of(memory.dtype)
        unwritten = np.full(8, UNWRITTEN_HALFWORD, np.uint16).view(bits)[0] if bits.itemsize > 1 else None

        def loaded(
            execution: Execution, operands: Operands, shadows: Shadows, results: Sequence[Values]
        ) -> Sequence[Shadow]:
            machine, mask, at = execution
            loaded_shadows: list[Shadow] = []
            self._addressed(machine, mask, at, shadows[0][0])
            unread = machine.observers.unwritten(at)
            for number, value in enumerate(results):
                address, shadow = operands[0][0] + np.uint64(number * bits.itemsize), None
                for name, space, places, lanes in machine.memory.resolved(memory.space, address, mask):
                    part = self._loaded_from(machine, name, space, places, lanes, bits, value, unwritten)
                    if name == "shared" and unread is not None:
                        part = resized(part, bits) | all_bits(unread & (value.view(bits) == unwritten), bits)
                        self._state(machine).shared.add(self._number(machine, at))
                    if part is not None:
                        self.note(machine, at, part, lanes, marked=name in ("global", "const"))
                        every = np.ones((1,) * 6, np.bool_) if lanes is None else lanes.lanes
                        shadow = _merged(every, part, shadow)
                loaded_shadows.append(shadow)
            return loaded_shadows

        return loaded

    def _loaded_from(
        self,
        machine: Machine,
        name: str,
        space: Space,
        places: Values,
        lanes: Mask | None,
        bits: DType,
        value: Values,
        unwritten: np.generic | None,
    ) -> Shadow:
        state = self._state(machine)
        if self._marked and name in ("global", "const") and unwritten is not None:
            shadow = known(all_bits((value.view(bits) == unwritten) & _by_chance(space, places), bits))
            if shadow is not None:
                return shadow
        if name != "local" and not state.bytes:
            return None
        return known(operations.load(self._space(machine, name, space), places, bits, lanes, lambda _: None))

    def store(self, memory: MemoryAccess) -> ExecuteRule:
        bits = bits_of(memory.dtype)

        def stored(execution: Execution, operands: Operands, shadows: Shadows, results: object) -> Sequence[Shadow]:
            machine, mask, at = execution
            self._addressed(machine, mask, at, shadows[0][0])
            for number, shadow in enumerate(shadows[1]):
                address = operands[0][0] + np.uint64(number * bits.itemsize)
                if shadow is None and not self._state(machine).bytes and memory.space not in ("local", "generic"):
                    continue
                for name, space, places, lanes in machine.memory.resolved(memory.space, address, mask):
                    if shadow is not None and name == "global":
                        self._report(machine, lanes, at, space, places, shadow, operands[1][number])
                    if name == "local" or shadow is not None or self._state(machine).bytes:
                        masks = self._space(machine, name, space)
                        operations.store(masks, places, resized(shadow, memory.dtype), bits, lanes, lambda _: None)
            return ()

        return stored

    def note(self, machine: Machine, at: Instruction, shadow: Values, lanes: Mask | None, *, marked: bool) -> None:
        """Note that lanes have read an undefined value."""
        state, number = self._state(machine), self._number(machine, at)
        if state.latest is None:
            state.latest = np.zeros(machine.batch.shape, np.int32)
        if marked:
            state.marked.add(number)
        state.latest[machine.batch.spread(lanes) & (shadow != 0)] = number + 1

    def _number(self, machine: Machine, at: Instruction) -> int:
        """Return the number of an instruction among those that have read undefined values."""
        origins = self._state(machine).origins
        if at not in origins:
            origins.append(at)
        return origins.index(at)

    def _addressed(self, machine: Machine, mask: Mask | None, at: Instruction, shadow: Shadow) -> None:
        """Report lanes whose address depends on unwritten shared memory."""
        state = self._state(machine)
        if shadow is None or not state.shared:
            return
        for origin, here in self._by_origin(machine, machine.batch.spread(mask) & (shadow != 0)):
            if origin in state.shared and origin is not None:
                what = state.origins[origin]
                text = always(f"{state.reads(what)}, and addresses memory{at_line(at)} by one that depends on it")
                machine.observers.violation(LaneViolation("uninitialized-read", None, what, here, text))

    def _by_origin(self, machine: Machine, lanes: Values) -> list[tuple[int | None, Values]]:
        """Return lanes by the number of the instruction that last read an undefined value; None for a register."""
        latest = self._state(machine).latest
        if latest is None:
            return [(None, lanes)] if lanes.any() else []
        numbers = np.unique(latest[lanes]).tolist()
        return [(number - 1 if number else None, lanes & (latest == number)) for number in numbers]

    def _report(
        self,
        machine: Machine,
        mask: Mask | None,
        at: Instruction,
        space: Space,
        places: Values,
        shadow: Values,
        value: Values,
    ) -> None:
        """Report lanes that store an undefined value to an output.

        A marked value may be read and used as long as it has no effect: it is NaN, and so is what it affects.
        """
        lanes = machine.batch.spread(mask) & (shadow != 0)
        if not lanes.any():
            return
        first = np.broadcast_to(places, machine.batch.shape)[lanes][0]
        array, state = space.at(int(first)), self._state(machine)
        if array is None:
            return
        for origin, here in self._by_origin(machine, lanes):
            if not self._outputs(array) and origin not in state.shared:
                continue
            if origin in state.marked:
                here = here & _is_nan(value)
                if not here.any():
                    continue
            what, text = at, _STORES.format(array)
            if origin is not None:
                what = state.origins[origin]
                text = f"{state.reads(what)}, and stores to {array}{at_line(at)} one that depends on it"
            hint = always(_ZEROS if origin is not None and state.reads(what) == ADDS else "")
            violation = LaneViolation("uninitialized-read", array.label, what, here, always(text), hint=hint)
            machine.observers.violation(violation)


def _merged(lanes: Values, new: Values, old: Shadow) -> Shadow:
    """Return ``new`` in some lanes, ``old`` elsewhere."""
    return known(np.where(lanes, new, resized(old, new.dtype)))

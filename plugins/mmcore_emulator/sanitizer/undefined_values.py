"""Values that were never set: bits of registers and memory that hold what was there by chance.

Each register and each byte of memory has a mask of its undefined bits beside it. An undefined value may be read and
copied; it is a hazard where the output, or control flow, depends on it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from mmcore_emulator.executor.translation.shadow_domain import ComputeRule, ExecuteRule, Operands, Shadow, Shadows
from mmcore_emulator.isa.entries import Compute, Execute, MemoryAccess
from mmcore_emulator.machine.accesses import LaneViolation, always
from mmcore_emulator.machine.lanes import Mask
from mmcore_emulator.machine.machine import Machine
from mmcore_emulator.machine.memory import operations
from mmcore_emulator.machine.memory.arrays import UNWRITTEN_HALFWORD, Array, Space
from mmcore_emulator.numerics.floats import Values
from mmcore_emulator.numerics.types import NUMPY
from mmcore_emulator.ptx.instructions import Instruction

_BRANCHES = "branches by a value that depends on one that was never set"
_STORES = "stores to {} a value that depends on one that was never set"
_STORES_LATER = "reads a value that was never set, and stores to {}{} one that depends on it"


def _bits(dtype: np.dtype[np.generic]) -> np.dtype[np.generic]:
    """Return the type of the mask of a type's undefined bits."""
    return np.dtype(np.bool_) if dtype.kind == "b" else np.dtype(f"u{dtype.itemsize}")


def _all(flags: Values, dtype: np.dtype[np.generic]) -> Values:
    """Return masks of a type with all bits where ``flags`` is true."""
    ones = np.full(1, 0xFF, np.uint8) if dtype.kind != "b" else np.ones(1, np.bool_)
    return np.where(flags, np.repeat(ones, dtype.itemsize).view(_bits(dtype))[0], _bits(dtype).type(0))


def _known(shadow: Values) -> Shadow:
    """Return a mask, or None if no bit is set."""
    return shadow if shadow.any() else None


def _as(shadow: Shadow, dtype: np.dtype[np.generic]) -> Values:
    """Return a mask of a type's size."""
    return np.zeros((1,) * 6, _bits(dtype)) if shadow is None else shadow.astype(_bits(dtype), copy=False)


@dataclass
class _BatchState:
    """The undefined bytes of a batch's memory, and where its lanes last read an undefined value.

    Attributes:
        bytes: masks of the bytes of an array's content, by the identity of the content.
        origins: instructions that have read undefined values.
        latest: number of the instruction that each lane executed last among them, plus one.
        from_host: numbers of the instructions that read memory of the host.
    """

    bytes: dict[int, tuple[NDArray[np.uint8], NDArray[np.uint8]]] = field(default_factory=dict)
    origins: list[Instruction] = field(default_factory=list)
    latest: Values | None = None
    from_host: set[int] = field(default_factory=set)


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
    """Return which addresses may be read but hold no data: gaps of what the host has uploaded, and what is behind it.

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


class UndefinedValues:
    """The shadow domain of values that were never set.

    Args:
        outputs: returns whether an array is output, so that storing an undefined value there is a hazard.
        marked: whether the host has filled what holds no data with the pattern of memory that was never written.
    """

    def __init__(self, outputs: Callable[[Array], bool] = lambda array: True, *, marked: bool = False) -> None:
        self._outputs = outputs
        self._marked = marked
        self._states: WeakKeyDictionary[Machine, _BatchState] = WeakKeyDictionary()

    def unset(self, dtype: np.dtype[np.generic]) -> Shadow:
        return None if dtype.itemsize > 8 else _all(np.ones((1,) * 6, np.bool_), dtype)

    def merge(self, lanes: Values, new: Shadow, old: Shadow) -> Shadow:
        if new is None and old is None:
            return None
        dtype = (old if new is None else new).dtype  # type: ignore[union-attr]
        return _known(np.where(lanes, _as(new, dtype), _as(old, dtype)))

    def resize(self, shadow: Shadow, dtype: np.dtype[np.generic]) -> Shadow:
        if shadow is None or shadow.dtype == _bits(dtype):
            return shadow
        if dtype.kind == "b" or dtype.itemsize > 8:
            return None
        if dtype.kind == "i" and shadow.dtype.kind == "u":
            shadow = shadow.view(np.dtype(f"i{shadow.dtype.itemsize}")).astype(dtype)
        return _known(_as(shadow, dtype))

    def pack(self, shadows: Sequence[Shadow], dtype: np.dtype[np.generic]) -> Shadow:
        if dtype.itemsize > 8:
            return None
        width, whole = 8 * dtype.itemsize // len(shadows), _as(None, dtype)
        for number, shadow in enumerate(shadows):
            if shadow is not None:
                whole = whole | _as(shadow, dtype) << whole.dtype.type(number * width)
        return _known(whole)

    def unpack(self, shadow: Shadow, count: int) -> Sequence[Shadow]:
        if shadow is None:
            return [None] * count
        size = shadow.dtype.itemsize // count
        parts = (shadow >> shadow.dtype.type(8 * size * number) for number in range(count))
        return [_known(part.astype(f"u{size}")) for part in parts]

    def compute(self, semantics: Compute) -> ComputeRule:
        result = NUMPY[semantics.result]
        if result.itemsize > 8:
            return lambda values, shadows: None

        def whole(values: Sequence[Values], shadows: Sequence[Shadow]) -> Shadow:
            flags = np.False_
            for shadow in shadows:
                flags = flags | (shadow != 0) if shadow is not None else flags
            return _known(_all(np.asarray(flags), result))

        def of_bits(values: Sequence[Values], shadows: Sequence[Shadow]) -> Shadow:
            undefined = _as(None, result)
            for shadow in shadows:
                undefined = undefined | _as(shadow, result)
            for value in values if semantics.rule in ("and", "or") else ():
                # A defined 0 decides "and", a defined 1 "or".
                bits = value if result.kind == "b" else value.view(_bits(result))
                shadow = _as(shadows[[id(each) for each in values].index(id(value))], result)
                undefined = undefined & ((bits if semantics.rule == "and" else ~bits) | shadow)
            return _known(undefined)

        def shifted(values: Sequence[Values], shadows: Sequence[Shadow]) -> Shadow:
            if shadows[0] is None or shadows[1] is not None:
                return whole(values, shadows)
            moved = semantics.compute(_as(shadows[0], result).view(NUMPY[semantics.sources[0]]), values[1])
            return _known(np.asarray(moved).view(_bits(result)))

        def selected(values: Sequence[Values], shadows: Sequence[Shadow]) -> Shadow:
            chosen = np.where(values[2], _as(shadows[0], result), _as(shadows[1], result))
            if shadows[2] is not None:
                differs = shadows[2] & (values[0] != values[1])
                chosen = chosen | _all(differs, result)
            return _known(chosen)

        rules = {"select": selected, "shift": shifted, **dict.fromkeys(("and", "or", "xor", "not"), of_bits)}
        return rules.get(semantics.rule, whole)

    def execute(self, semantics: Execute) -> ExecuteRule | None:
        memory = semantics.memory
        if memory is not None:
            return self._load(memory) if memory.kind == "load" else self._store(memory)
        if semantics.shuffle is None:
            return None
        shuffle = semantics.shuffle

        def shuffled(
            machine: Machine, mask: Mask | None, at: Instruction, operands: Operands, shadows: Shadows, results: object
        ) -> Sequence[Shadow]:
            if shadows[0][0] is None:
                return [None, None]
            sources = [shadows[0][0], *(each[0] for each in operands[1:])]
            return [_known(machine.warps.together(shuffle, sources, mask)[0]), None]

        return shuffled

    def branch(self, machine: Machine, mask: Mask | None, at: Instruction, shadow: Shadow) -> None:
        if shadow is None:
            return
        lanes = machine.batch.spread(mask) & (shadow != 0)
        state = self._state(machine)
        for origin, here in self._by_origin(machine, lanes):
            if origin is None or origin not in state.from_host:
                what = at if origin is None else state.origins[origin]
                text = _BRANCHES if what is at else _BRANCHES.replace("branches by", "reads what was never set, and")
                machine.observers.violation(LaneViolation("uninitialized-read", None, what, here, always(text)))

    def _state(self, machine: Machine) -> _BatchState:
        return self._states.setdefault(machine, _BatchState())

    def _masks(self, machine: Machine, array: Array, initial: int = 0) -> NDArray[np.uint8]:
        """Return the masks of undefined bytes of an array's content."""
        state, key = self._state(machine).bytes, id(array.content)
        if key not in state:
            state[key] = np.full(len(array.content), initial, np.uint8), array.content
        return state[key][0]

    def _load(self, memory: MemoryAccess) -> ExecuteRule:
        bits = _bits(memory.dtype)
        unwritten = np.full(8, UNWRITTEN_HALFWORD, np.uint16).view(bits)[0] if bits.itemsize > 1 else None

        def loaded(
            machine: Machine,
            mask: Mask | None,
            at: Instruction,
            operands: Operands,
            shadows: Shadows,
            results: Sequence[Values],
        ) -> Sequence[Shadow]:
            found: list[Shadow] = []
            for number, value in enumerate(results):
                address, shadow = operands[0][0] + np.uint64(number * bits.itemsize), None
                for name, space, places, lanes in machine.memory.resolved(memory.space, address, mask):
                    part = self._loaded_from(machine, name, space, places, lanes, bits, value, unwritten)
                    if part is not None:
                        self._note(machine, at, part, lanes, from_host=name in ("global", "const"))
                        every = np.ones((1,) * 6, np.bool_) if lanes is None else lanes.lanes
                        shadow = self.merge(every, part, shadow)
                found.append(shadow)
            return found

        return loaded

    def _loaded_from(
        self,
        machine: Machine,
        name: str,
        space: Space,
        places: Values,
        lanes: Mask | None,
        bits: np.dtype[np.generic],
        value: Values,
        unwritten: np.generic | None,
    ) -> Shadow:
        state = self._state(machine)
        if self._marked and name in ("global", "const") and unwritten is not None:
            shadow = _known(_all((value.view(bits) == unwritten) & _by_chance(space, places), bits))
            if shadow is not None:
                return shadow
        if name != "local" and not state.bytes:
            return None
        initial = 0xFF if name == "local" else 0
        shadow_space = _ShadowSpace(space, lambda array: self._masks(machine, array, initial))
        return _known(operations.load(shadow_space, places, bits, lanes, lambda _: None))

    def _store(self, memory: MemoryAccess) -> ExecuteRule:
        bits = _bits(memory.dtype)

        def stored(
            machine: Machine, mask: Mask | None, at: Instruction, operands: Operands, shadows: Shadows, results: object
        ) -> Sequence[Shadow]:
            for number, shadow in enumerate(shadows[1]):
                address = operands[0][0] + np.uint64(number * bits.itemsize)
                if shadow is None and not self._state(machine).bytes and memory.space not in ("local", "generic"):
                    continue
                for name, space, places, lanes in machine.memory.resolved(memory.space, address, mask):
                    if shadow is not None and name == "global":
                        self._report(machine, lanes, at, space, places, shadow, operands[1][number])
                    if name == "local" or shadow is not None or self._state(machine).bytes:
                        initial = 0xFF if name == "local" else 0
                        masks = _ShadowSpace(space, lambda array, fill=initial: self._masks(machine, array, fill))  # type: ignore[misc]
                        operations.store(masks, places, _as(shadow, memory.dtype), bits, lanes, lambda _: None)
            return ()

        return stored

    def _note(self, machine: Machine, at: Instruction, shadow: Values, lanes: Mask | None, *, from_host: bool) -> None:
        """Note that lanes have read an undefined value."""
        state = self._state(machine)
        if state.latest is None:
            state.latest = np.zeros(machine.batch.shape, np.int32)
        if at not in state.origins:
            state.origins.append(at)
        number = state.origins.index(at)
        if from_host:
            state.from_host.add(number)
        state.latest[machine.batch.spread(lanes) & (shadow != 0)] = number + 1

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

        What the host has marked may be read and used as long as it has no effect: it is NaN, and so is what it affects.
        """
        lanes = machine.batch.spread(mask) & (shadow != 0)
        if not lanes.any():
            return
        first = np.broadcast_to(places, machine.batch.shape)[lanes][0]
        array = space.at(int(first))
        if array is None or not self._outputs(array):
            return
        state = self._state(machine)
        for origin, here in self._by_origin(machine, lanes):
            if origin in state.from_host:
                here = here & _is_nan(value)
                if not here.any():
                    continue
            what = at if origin is None else state.origins[origin]
            where = f" at {at.source}:{at.line}" if at.line else ""
            text = _STORES.format(array) if what is at else _STORES_LATER.format(array, where)
            machine.observers.violation(LaneViolation("uninitialized-read", array.label, what, here, always(text)))

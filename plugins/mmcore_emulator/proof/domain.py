"""The shadow domain of a proof: elements of a finite field beside the values that depend on matrices."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain

import numpy as np

from mmcore_emulator.executor.translation.shadow_code import ComputeRule, ExecuteRule
from mmcore_emulator.isa.entries import Capability, Compute, Execute
from mmcore_emulator.isa.table import effect
from mmcore_emulator.machine.lanes import Mask
from mmcore_emulator.machine.machine import Execution, Machine
from mmcore_emulator.numerics.types import NUMPY, DType, Values
from mmcore_emulator.proof import polynomials
from mmcore_emulator.proof.accumulation import accumulated, changed
from mmcore_emulator.proof.bits import moved_bits
from mmcore_emulator.proof.bulk_sums import added_in_bulk, has_sums
from mmcore_emulator.proof.kinds import is_integer
from mmcore_emulator.proof.planes import TokenMemory
from mmcore_emulator.proof.products import multiplied
from mmcore_emulator.proof.splits import Symbols
from mmcore_emulator.proof.table import Table
from mmcore_emulator.proof.tokens import PLANES
from mmcore_emulator.proof.values import Bytes, Elements, Parts, Shadow, chosen
from mmcore_emulator.ptx.instructions import Instruction

_ONE = (1,) * 6
_ADDRESS = "uses an address, or a lane, that depends on a value of a matrix"
_WRITES = "writes what is no sum of products"
_REDUCES = "reduces in memory in bulk, which has no meaning in the proof"
_OF_WARP = "combines values of matrices of a warp's threads"


class FieldDomain:
    """The meaning of instructions on elements of the field.

    Attributes:
        table: the elements that memory holds.
        memory: the tokens of memory.
        paths: reasons why the proof holds only for the path that was taken, in the order of their discovery.
        roundings: the first instruction that rounds an element, by the bound of its relative error.
    """

    def __init__(self, capability: Capability, symbols: Symbols | None = None) -> None:
        self.capability = capability
        self.table = Table(symbols)
        self.memory = TokenMemory()
        self.paths: list[int] = []
        self.roundings: dict[float, Instruction] = {}

    def unset(self, dtype: DType) -> Shadow:
        return None

    def resize(self, shadow: Shadow, dtype: DType) -> Shadow:
        if shadow is None or dtype.kind == "b":
            return shadow
        if isinstance(shadow, Elements):
            is_extended = not (shadow.kind[:1] == "s" and dtype.kind == "u")
            return shadow if is_extended else self.table.bytes(self.table.bytes_of(shadow), dtype)
        held = self.table.bytes(shadow, np.dtype("u1") if isinstance(shadow, Parts) else shadow.planes[0].dtype)
        if dtype.kind == "i":
            return self.table.elements_of(held, f"s{8 * held.planes[0].itemsize}")
        return self.table.bytes(held, dtype)

    def pack(self, shadows: Sequence[Shadow], dtype: DType) -> Shadow:
        return Parts(tuple(shadows)) if any(shadow is not None for shadow in shadows) else None

    def unpack(self, shadow: Shadow, count: int) -> Sequence[Shadow]:
        if isinstance(shadow, Elements):
            shadow = self.table.bytes_of(shadow)
        size = shadow.planes[0].dtype if isinstance(shadow, Bytes) else NUMPY["b32"]
        return self.table.parts(shadow, count, size)

    def merge(self, lanes: Values, new: Shadow, old: Shadow) -> Shadow:
        if new is None and old is None:
            return None
        if isinstance(new, Parts) and isinstance(old, Parts | None):
            olds = old.parts if old else (None,) * len(new.parts)
            if len(olds) == len(new.parts):
                return Parts(tuple(self.merge(lanes, one, other) for one, other in zip(new.parts, olds, strict=True)))
        if isinstance(new, Elements | None) and isinstance(old, Elements | None):
            kinds = {each.kind for each in (new, old) if each is not None}
            if len(kinds) == 1:
                return _merged(lanes, new, old, kinds.pop())
        dtype = next(each.planes[0].dtype for each in self._as_bytes(new, old) if each is not None)
        zeros = (np.zeros(_ONE, dtype),) * PLANES
        planes = [zeros if each is None else self.table.bytes(each, dtype).planes for each in (new, old)]
        return Bytes(tuple(np.where(lanes, one, other) for one, other in zip(*planes, strict=True)))

    def _as_bytes(self, *shadows: Shadow) -> list[Bytes | None]:
        given = next((each for each in shadows if isinstance(each, Bytes)), None)
        dtype = given.planes[0].dtype if given else NUMPY["b32"]
        return [None if each is None else self.table.bytes(each, dtype) for each in shadows]

    def branch(self, machine: Machine, mask: Mask | None, at: Instruction, shadow: Shadow) -> None:
        self.depends(machine, mask, "branch", "branches by a value of a matrix", at, shadow)

    def depends(
        self, machine: Machine, mask: Mask | None, kind: str, text: str, at: Instruction, shadow: Shadow
    ) -> None:
        """Note that the path, or an address, depends on a value of lanes."""
        if shadow is None:
            return
        lanes = self.table.dependent(shadow)
        if (lanes & (True if mask is None else mask.lanes)).any():
            self.path(kind, text, at)

    def addressed(self, execution: Execution, shadows: Iterable[Shadow]) -> None:
        """Note that addresses, or lanes, of an instruction depend on values."""
        machine, mask, at = execution
        for shadow in shadows:
            self.depends(machine, mask, "address", _ADDRESS, at, shadow)

    def path(self, kind: str, text: str, at: Instruction) -> None:
        """Note a reason why the proof holds only for the path that was taken."""
        number = self.table.reason(kind, text, at)
        if number not in self.paths:
            self.paths.append(number)

    def compute(self, semantics: Compute, at: Instruction) -> ComputeRule:
        rules: dict[str, Callable[..., Shadow]] = {
            "bits": moved_bits,
            "select": _selected,
            "pair": polynomials.paired,
            "dot4": polynomials.dot_product,
        }
        polynomial = polynomials.in_parts if semantics.halves else _whole
        rule = rules.get(semantics.algebra, polynomial if semantics.algebra and not semantics.also else None)
        computed = partial(rule or polynomials.opaque, self.table, semantics, at)
        return partial(self._rounded, semantics.unit, at, computed) if semantics.unit else computed

    def _rounded(
        self, unit: float, at: Instruction, computed: ComputeRule, values: Sequence[Values], shadows: Sequence[Shadow]
    ) -> Shadow:
        """Return what an instruction computes from elements, and note that it rounds."""
        self.roundings.setdefault(unit, at)
        computed_shadow: Shadow = computed(values, shadows)
        return computed_shadow

    def execute(self, semantics: Execute) -> ExecuteRule | None:
        if semantics.moves is not None:
            return partial(self._moved, semantics)
        if semantics.product is not None:
            return partial(multiplied, self, semantics.product)
        if semantics.adds is not None:
            return partial(accumulated, self, semantics)
        if semantics.reduces is not None and has_sums(semantics.reduces):
            return partial(added_in_bulk, self, semantics.reduces)
        if semantics.changes is not None:
            return partial(changed, self, semantics)
        return self._opaque

    def _moved(
        self,
        semantics: Execute,
        execution: Execution,
        operands: Sequence[Sequence[Values]],
        shadows: Sequence[Sequence[Shadow]],
        results: Sequence[Values],
    ) -> Sequence[Shadow]:
        """Execute an instruction that moves bytes on the tokens of each plane."""
        machine, mask, at = execution
        assert semantics.moves is not None
        assert semantics.run is not None
        data = set(semantics.moves)
        addresses = (given for number, given in enumerate(shadows) if number not in data)
        self.addressed(execution, chain.from_iterable(addresses))
        stores = mask.lanes if mask is not None and not results else None
        held = {
            number: [
                None if shadow is None else self.table.bytes(_in_lanes(shadow, stores), value.dtype)
                for shadow, value in zip(shadows[number], operands[number], strict=True)
            ]
            for number in data
        }
        if semantics.shuffle is not None and all(each is None for given in held.values() for each in given):
            return [None] * len(results)
        moved: list[Sequence[Values]] = []
        for rank, of_plane in enumerate(self.memory.machines(machine)):
            given_operands = [
                [_plane(each, value, rank) for each, value in zip(held[number], values, strict=True)]
                if number in data
                else values
                for number, values in enumerate(operands)
            ]
            moved.append(semantics.run(execution._replace(machine=of_plane), *given_operands) or ())
        shadows_of: list[Shadow] = []
        for number, value in enumerate(results):
            planes = tuple(_bits(plane[number]) for plane in moved)
            if value.dtype.kind == "b" or not any(each.any() for each in planes):
                shadows_of.append(None)
            elif value.itemsize > 8:
                self.path("opaque", "moves an element in a register of 128 bits", at)
                shadows_of.append(None)
            else:
                shadows_of.append(Bytes(planes))
        return shadows_of

    def _opaque(
        self,
        execution: Execution,
        operands: Sequence[Sequence[Values]],
        shadows: Sequence[Sequence[Shadow]],
        results: Sequence[Values],
    ) -> Sequence[Shadow]:
        """Return opaque results of an instruction without a meaning in the field."""
        given = [shadow for several in shadows for shadow in several if shadow is not None]
        machine, mask, at = execution
        of = effect(at)
        if of.kind == "bulk copy" and of.step == "reduce" and not execution.idle:
            self.path("opaque", _REDUCES, at)
        for shadow in given:
            if of.writes or of.members:
                self.depends(machine, mask, "opaque", _WRITES if of.writes else _OF_WARP, at, shadow)
        if not given:
            return [None] * len(results)
        return [polynomials.opaque_of(self.table, at, given, _kind(value)) for value in results]


def _in_lanes(shadow: Elements | Bytes | Parts, lanes: Values | None) -> Elements | Bytes | Parts:
    """Return the elements of some lanes, as if the others depended on no matrix; None for all lanes."""
    if lanes is None or isinstance(shadow, Bytes):
        return shadow
    if isinstance(shadow, Elements):
        return replace(shadow, known=shadow.is_known | ~lanes)
    return Parts(tuple(each and _in_lanes(each, lanes) for each in shadow.parts))


def _plane(held: Bytes | None, value: Values, rank: int) -> Values:
    return np.zeros(_ONE, value.dtype) if held is None else held.planes[rank].view(value.dtype)


def _bits(values: Values) -> Values:
    return values.view(np.dtype(f"u{values.itemsize}")) if values.dtype.itemsize <= 8 else values


def _kind(value: Values) -> str:
    return "pred" if value.dtype.kind == "b" else f"u{8 * min(value.itemsize, 8)}"


def _merged(lanes: Values, new: Elements | None, old: Elements | None, kind: str) -> Elements:
    """Return ``new`` in some lanes, ``old`` elsewhere; the lanes of None depend on no matrix."""
    nothing = Elements(polynomials.ZEROS, np.zeros(()), kind, np.ones((), np.bool_))
    one, other = new or nothing, old or nothing
    return chosen(lanes, one, other)


def _whole(
    table: Table, semantics: Compute, at: Instruction, values: Sequence[Values], shadows: Sequence[Shadow]
) -> Shadow:
    """Return the second value of one number; integer arithmetic may also move bytes, as x · 65536 + y does."""
    made = polynomials.whole(table, semantics, at, values, shadows)
    packs = is_integer(semantics.result) and any(isinstance(shadow, Bytes | Parts) for shadow in shadows)
    if packs and isinstance(made, Elements) and made.reason is not None:
        moved = moved_bits(table, semantics, at, values, shadows)
        return moved if isinstance(moved, Bytes) else made
    return made


def _selected(
    table: Table, semantics: Compute, at: Instruction, values: Sequence[Values], shadows: Sequence[Shadow]
) -> Shadow:
    """Return the second values of ``selp``: one of two, by a predicate."""
    if shadows[2] is not None and table.dependent(shadows[2]).any():
        given = [shadow for shadow in shadows if shadow is not None]
        return polynomials.opaque_of(table, at, given, semantics.result, "selects by a value of a matrix")
    one, other = shadows[0], shadows[1]
    if one is None and other is None:
        return None
    if isinstance(one, Elements | None) and isinstance(other, Elements | None):
        kinds = {each.kind for each in (one, other) if each is not None}
        if len(kinds) == 1:
            return _merged(values[2], one, other, kinds.pop())
    dtype = NUMPY[semantics.result]
    zeros = Bytes((np.zeros(_ONE, f"u{dtype.itemsize}"),) * PLANES)
    two = [zeros if each is None else table.bytes(each, dtype) for each in (one, other)]
    return Bytes(tuple(np.where(values[2], *pair) for pair in zip(two[0].planes, two[1].planes, strict=True)))

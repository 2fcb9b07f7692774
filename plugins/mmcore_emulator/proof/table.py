"""The elements that bytes hold, by number, and the reasons why elements are opaque."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce

import numpy as np

from mmcore_emulator.numerics.types import DType, Flags, Values
from mmcore_emulator.proof import field as residues_of
from mmcore_emulator.proof.field import Residues, of_numbers
from mmcore_emulator.proof.kinds import BYTES, NUMBER, SIGNED, as_numbers, is_integer, readable_as, same_number
from mmcore_emulator.proof.splits import Symbols, is_exact, narrowed
from mmcore_emulator.proof.tokens import MOST_ELEMENTS, PLANES, elements_at, tokens_of
from mmcore_emulator.proof.values import Bytes, Elements, Parts, Reason, Shadow, chosen
from mmcore_emulator.ptx.instructions import Instruction

_ONE = (1,) * 6
_CUT = 2.0**-10
_MIXED = "reads bytes of an element together with other bytes"


class Table:
    """The elements that bytes hold, by number, and the reasons why elements are opaque.

    Attributes:
        symbols: the indeterminates of roundings of exact elements by conversions; None for none.
        narrows: true if a conversion has rounded an exact element.
    """

    def __init__(self, symbols: Symbols | None = None) -> None:
        self.symbols = symbols
        self.narrows = False
        self.reasons: list[Reason] = [Reason("", "")]
        self.reader: Instruction | None = None  # the instruction that reads elements now
        self._numbers: dict[tuple[str, str, int], int] = {}
        self._count = 1
        self._residues = np.zeros((2, 1024), np.uint64)
        self._magnitudes = np.zeros((2, 1024), np.uint64)
        self._splits: Values | None = None
        self._error = np.zeros(1024)
        self._kind = np.zeros(1024, np.uint8)
        self._reason = np.zeros(1024, np.int32)

    def reason(self, kind: str, text: str, at: Instruction | None = None) -> int:
        """Return the number of a reason."""
        key = kind, text, id(at)
        if key not in self._numbers:
            self._numbers[key] = len(self.reasons)
            self.reasons.append(Reason(kind, text, at))
        return self._numbers[key]

    def bytes_of(self, elements: Elements) -> Bytes:
        """Return the tokens of the bytes of new elements."""
        optional = (each.shape for each in (elements.known, elements.reason) if each is not None)
        shape = np.broadcast_shapes(elements.residues[0].shape, elements.error.shape, *optional)
        depends = None if elements.known is None else np.broadcast_to(~elements.known, shape)
        count = int(np.prod(shape)) if depends is None else int(depends.sum())
        first, self._count = self._count, self._count + count
        self._grow()
        if self._count >= MOST_ELEMENTS:
            raise TooManyElements(self._count)
        new = slice(first, self._count)

        def of(values: Values) -> Values:
            spread = np.broadcast_to(values, shape)
            return spread.reshape(-1) if depends is None else spread[depends]

        for planes, residues in ((self._residues, elements.residues), (self._magnitudes, elements.magnitudes)):
            for plane, residue in zip(planes, residues, strict=True):
                plane[new] = of(residue)
        if elements.splits is not None:
            if self._splits is None:
                self._splits = np.zeros((2 * len(elements.splits), len(self._error)), np.uint64)
            every = (residue for pair in elements.splits for residue in pair)
            for plane, residue in zip(self._splits, every, strict=True):
                plane[new] = of(residue)
        self._error[new] = of(elements.error)
        if elements.reason is not None:
            self._reason[new] = of(elements.reason)
        self._kind[new] = NUMBER[elements.kind]
        numbers: Values = np.arange(first, self._count, dtype=np.uint64)
        if depends is None:
            numbers = numbers.reshape(shape)
        else:
            every_lane = np.zeros(shape, np.uint64)
            every_lane[depends] = numbers
            numbers = every_lane
        return Bytes(tokens_of(numbers, np.dtype(f"u{BYTES[elements.kind]}")))

    def elements_of(self, held: Bytes, kind: str) -> Elements:
        """Return the elements of a type that bytes hold; bytes of anything else are opaque."""
        if kind not in held.elements:
            held.elements[kind] = self._elements_of(held.planes, kind)
        return held.elements[kind]

    def _elements_of(self, planes: tuple[Values, ...], kind: str) -> Elements:
        numbers, whole = elements_at(planes)
        none = (planes[0] | planes[1] | planes[2]) == 0
        if kind in ("f32", "tf32") and not (whole | none).all():
            # The bits of a bfloat16 are the upper half of a float32.
            halves = tuple((plane >> np.uint32(16)).astype(np.uint16) for plane in planes)
            low = (planes[0] | planes[1] | planes[2]) << np.uint32(16) == 0
            upper, is_half = elements_at(halves)
            is_half &= low & (self._kind[upper] == NUMBER["bf16"])
            numbers, whole = np.where(is_half, upper, numbers), whole | is_half
        elif is_integer(kind) and planes[0].itemsize > 1 and not (whole | none).all():
            numbers, whole = self._extended(planes, numbers, whole)
        kinds = self._kind[numbers]
        fits = whole & np.isin(kinds, [NUMBER[each] for each in readable_as(kind)])
        reason = self._reason[numbers]
        if not (fits | none).all():
            text = f"bytes of different elements, or of another type, are read as {kind or 'bits'}"
            reason = np.where(fits | none, reason, self.reason("opaque", text, self.reader))
        error = self._error[numbers]
        residues, magnitudes = (
            (planes[0][numbers], planes[1][numbers]) for planes in (self._residues, self._magnitudes)
        )
        held = Elements(
            residues,
            np.asarray(error.flat[0]) if (error == error.flat[0]).all() else error,
            kind,
            none if none.any() else None,
            reason if reason.any() else None,
            None if residues_of.equal(residues, magnitudes).all() else magnitudes,
            self._splits_of(numbers),
        )
        longer = kinds == NUMBER["f32"]
        if kind == "tf32" and longer.any():
            held = chosen(longer, self._cut_to_tf32(held), held)
        return held

    def _splits_of(self, numbers: Values) -> tuple[Residues, ...] | None:
        if self._splits is None:
            return None
        found = self._splits[:, numbers]
        return tuple((found[n], found[n + 1]) for n in range(0, len(found), 2)) if found.any() else None

    def _cut_to_tf32(self, elements: Elements) -> Elements:
        """Return float32 elements after a tensor core has cut off their lowest 13 bits."""
        self.narrows |= bool(is_exact(elements).any())
        if self.symbols:
            return narrowed(elements, _CUT, self.symbols, "cut to tf32")
        return replace(elements, error=elements.error + _CUT + elements.error * _CUT)

    def _extended(self, planes: tuple[Values, ...], numbers: Values, whole: Flags) -> tuple[Values, Flags]:
        """Return numbers of elements with those of narrower unsigned integers, extended by zeros."""
        for size in (1, 2, 4):
            if size < planes[0].itemsize:
                kind = f"u{8 * size}"
                low, is_low = elements_at(tuple(plane.astype(f"u{size}") for plane in planes))
                rest = np.logical_or.reduce([(plane >> plane.dtype.type(8 * size)) != 0 for plane in planes])
                is_low &= ~rest & (self._kind[low] == NUMBER[kind])
                numbers, whole = np.where(is_low, low, numbers), whole | is_low
        return numbers, whole

    def _grow(self) -> None:
        while self._count > len(self._error):
            more = len(self._error)
            self._residues, self._magnitudes = (
                np.concatenate([each, np.zeros((2, more), np.uint64)], axis=1)
                for each in (self._residues, self._magnitudes)
            )
            if self._splits is not None:
                self._splits = np.concatenate([self._splits, np.zeros((len(self._splits), more), np.uint64)], axis=1)
            self._error, self._kind, self._reason = (
                np.concatenate([each, np.zeros(more, each.dtype)]) for each in (self._error, self._kind, self._reason)
            )

    def resolved(self, shadow: Shadow, value: Values, kind: str) -> Elements:
        """Return a register's elements of a type, with the numbers of ``value`` in lanes that depend on no matrix."""
        if shadow is None:
            return self.of_values(value, kind)
        if isinstance(shadow, Parts):
            shadow = self.bytes(shadow, np.dtype(f"u{BYTES[kind]}"))
        held = self.elements(shadow, kind)
        if isinstance(shadow, Bytes) and shadow.is_partial and (is_integer(kind) or kind in ("f32", "tf32")):
            bits = np.dtype(f"u{BYTES[kind]}")
            raw = value.view(bits) if value.itemsize == bits.itemsize else value.astype(bits)
            used = self.bytes(shadow, bits).used
            mixed = (used != 0) & (raw & ~used != 0)
            if mixed.any():
                reason = np.where(mixed, np.int32(self.reason("opaque", _MIXED, self.reader)), held.opaque)
                held = replace(held, reason=reason)
        if held.known is None or not held.known.any():
            return replace(held, known=None)
        made = chosen(held.known, self.of_values(value, kind), held)
        return replace(made, known=None, reason=_none_if_zero(made.opaque))

    def of_values(self, value: Values, kind: str) -> Elements:
        """Return numbers that depend on no matrix as elements; NaN and infinities are opaque."""
        numbers = as_numbers(value, kind)
        finite = np.isfinite(numbers) if numbers.dtype.kind == "f" else np.True_
        reason = None
        if not np.all(finite):
            text = "no number, as memory that was never written holds"
            reason = np.where(finite, 0, self.reason("undefined", text, self.reader)).astype(np.int32)
        magnitude = of_numbers(np.abs(numbers)) if numbers.dtype.kind in "if" and (numbers < 0).any() else None
        return Elements(of_numbers(numbers), np.zeros(()), kind, None, reason, magnitude)

    def elements(self, shadow: Elements | Bytes | Parts, kind: str) -> Elements:
        """Return a register's elements of a type, without numbers in lanes that depend on no matrix."""
        if isinstance(shadow, Parts):
            shadow = self.bytes(shadow, np.dtype(f"u{BYTES[kind]}"))
        if isinstance(shadow, Bytes):
            wanted = np.dtype(f"u{BYTES[kind]}")
            return self.elements_of(self.bytes(shadow, wanted), kind)
        if shadow.kind == kind or (kind, shadow.kind) == ("f32", "tf32"):
            return replace(shadow, kind=kind)
        if (kind, shadow.kind) == ("tf32", "f32"):
            return replace(self._cut_to_tf32(shadow), kind=kind)
        if is_integer(kind) and is_integer(shadow.kind) and same_number(shadow.kind, kind):
            return replace(shadow, kind=kind)
        return self.elements_of(self.bytes_of(shadow), kind)

    def bytes(self, shadow: Elements | Bytes | Parts, dtype: DType) -> Bytes:
        """Return the tokens of a register of a type's size."""
        bits = np.dtype(f"u{dtype.itemsize}")
        if isinstance(shadow, Elements):
            if shadow.kind == "pred":
                shadow = replace(shadow, kind=f"u{8 * bits.itemsize}")
            elif shadow.kind[:1] == "s" and self.size(shadow) < bits.itemsize:
                shadow = replace(shadow, kind=f"s{8 * bits.itemsize}")
            return self.bytes(self.bytes_of(shadow), dtype)
        if isinstance(shadow, Bytes):
            return shadow if shadow.planes[0].dtype == bits else Bytes(tuple(p.astype(bits) for p in shadow.planes))
        part = np.dtype(f"u{bits.itemsize // len(shadow.parts)}")
        planes: tuple[Values, ...] = (np.zeros(_ONE, bits),) * PLANES
        for number, each in enumerate(shadow.parts):
            if each is not None:
                shift = bits.type(8 * part.itemsize * number)
                moved = (plane.astype(bits) << shift for plane in self.bytes(each, part).planes)
                planes = tuple(one | other for one, other in zip(planes, moved, strict=True))
        return Bytes(planes)

    def parts(self, shadow: Shadow, count: int, dtype: DType) -> tuple[Shadow, ...]:
        """Return the parts of a register of a type's size."""
        if shadow is None:
            return (None,) * count
        if isinstance(shadow, Parts) and len(shadow.parts) == count:
            return shadow.parts
        held, size = self.bytes(shadow, dtype), dtype.itemsize // count
        parts: list[Shadow] = []
        for number in range(count):
            shift = held.planes[0].dtype.type(8 * size * number)
            planes = tuple((plane >> shift).astype(f"u{size}") for plane in held.planes)
            parts.append(Bytes(planes) if any(plane.any() for plane in planes) else None)
        return tuple(parts)

    def dependent(self, shadow: Shadow) -> Flags:
        """Return the lanes in which a register depends on a matrix."""
        if isinstance(shadow, Elements):
            return ~shadow.is_known
        if isinstance(shadow, Bytes):
            return np.asarray((shadow.planes[0] | shadow.planes[1] | shadow.planes[2]) != 0)
        parts = shadow.parts if shadow else ()
        return np.asarray(reduce(np.logical_or, map(self.dependent, parts), np.zeros((), np.bool_)))

    def signed(self, shadow: Shadow) -> Flags:
        """Return the lanes in which a register holds an element of a signed integer type."""
        if isinstance(shadow, Elements):
            return np.asarray(shadow.kind[:1] == "s")
        if not isinstance(shadow, Bytes):
            return np.zeros((), np.bool_)
        return np.isin(self._kind[elements_at(shadow.planes)[0]], SIGNED)

    def holds(self, shadow: Shadow, kind: str) -> bool:
        """Return True if all elements of a register were in memory as a type already."""
        if not isinstance(shadow, Bytes):
            return isinstance(shadow, Elements) and shadow.kind == kind
        numbers, whole = elements_at(shadow.planes)
        return bool((self._kind[numbers[whole]] == NUMBER[kind]).all() and (whole | ~self.dependent(shadow)).all())

    def size(self, elements: Elements) -> int:
        """Return the bytes of elements."""
        return BYTES[elements.kind]


class TooManyElements(Exception):
    """More elements than tokens can number."""


def _none_if_zero(reason: Values) -> Values | None:
    return reason if reason.any() else None

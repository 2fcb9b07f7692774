"""The second value of a register or of memory: elements that depend on matrices, and the bytes that hold them.

An element has a residue, a bound of its relative rounding error, its type, and the reason why it is opaque, if it is.
Bytes hold tokens: the number of an element and of one of its bytes. A token of zero is a byte that depends on no
matrix. So copies move tokens as they move bytes, until an instruction consumes whole elements.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from mmcore_emulator.numerics.floats import from_bfloat16
from mmcore_emulator.numerics.types import NUMPY, DType, Flags, Values
from mmcore_emulator.proof import field as residues_of
from mmcore_emulator.proof.field import Residues, of_numbers
from mmcore_emulator.ptx.instructions import Instruction
from mmcore_emulator.tensor_cores.elements import values as numbers_of

PLANES = 3
"""Bytes of a token; those of one rank are a plane, an array of the shape of the bytes that they belong to."""
_BYTE_BITS = 3  # bits of a token for the number of a byte in its element
_INTEGERS = tuple(f"{sign}{bits}" for bits in (8, 16, 32, 64) for sign in "su")
_KINDS = ("", "f64", "f32", "tf32", "f16", "bf16", "e4m3", "e5m2", "pred", *_INTEGERS)
_NUMBER = {kind: number for number, kind in enumerate(_KINDS)}
_SIGNED = [number for kind, number in _NUMBER.items() if kind[:1] == "s"]
_BYTES = {**{kind: dtype.itemsize for kind, dtype in NUMPY.items()}, "e4m3": 1, "e5m2": 1, "tf32": 4}
_ONE = (1,) * 6
_CUT = 2.0**-10
_MIXED = "reads bytes of an element together with other bytes"


def is_integer(kind: str) -> bool:
    """Return True for a type of whole numbers."""
    return kind[:1] in ("s", "u")


@dataclass(frozen=True)
class Reason:
    """The reason why an element is opaque, or why the proof holds only for the path that was taken."""

    kind: str  # "opaque", "branch", "address", "selection" or "undefined"
    text: str
    at: Instruction | None = None


@dataclass(frozen=True, eq=False)
class Elements:
    """One element in each lane."""

    residues: Residues
    error: Values  # bound of the error, relative to the sum of the magnitudes of all terms
    kind: str  # PTX type of the elements
    known: Flags | None = None  # lanes whose element depends on no matrix; None for no lane
    reason: Values | None = None  # number of the reason why each lane's element is opaque, 0 for none; None for no lane
    magnitude: Residues | None = None  # residues of the sum of the magnitudes of all terms, if they differ

    @property
    def magnitudes(self) -> Residues:
        """The residues of the sum of the magnitudes of all terms: the polynomial with the absolute values of all."""
        return self.residues if self.magnitude is None else self.magnitude

    @property
    def is_known(self) -> Flags:
        """The lanes whose element depends on no matrix."""
        return np.zeros((), np.bool_) if self.known is None else self.known

    @property
    def opaque(self) -> Values:
        """The number of each lane's reason; 0 for none."""
        return np.zeros((), np.int32) if self.reason is None else self.reason


@dataclass(frozen=True, eq=False)
class Bytes:
    """The tokens of the bytes of a register in each lane, plane by plane, of the register's size each."""

    planes: tuple[Values, ...]
    elements: dict[str, Elements] = field(default_factory=dict)  # what the bytes hold, by the type that was asked for

    @cached_property
    def used(self) -> Values:
        """Ones in the bits of the bytes that have a token."""
        some = self.planes[0] | self.planes[1] | self.planes[2]
        octets = np.ascontiguousarray(some)[..., np.newaxis].view(np.uint8)
        return np.where(octets != 0, np.uint8(0xFF), np.uint8(0)).view(some.dtype)[..., 0]

    @cached_property
    def is_partial(self) -> bool:
        """True if some bytes of a register have a token and others have none."""
        return bool(((self.used != 0) & (~self.used != 0)).any())


@dataclass(frozen=True, eq=False)
class Parts:
    """A register that is made of parts, the first in its lowest bits."""

    parts: tuple[Shadow, ...]


Shadow: TypeAlias = Elements | Bytes | Parts | None
"""The second value of a register; None if no lane depends on a matrix."""


class Table:
    """The elements that bytes hold, by number, and the reasons why elements are opaque."""

    def __init__(self) -> None:
        self.reasons: list[Reason] = [Reason("", "")]
        self._numbers: dict[tuple[str, str, int], int] = {}
        self._count = 1
        self._residues = np.zeros((2, 1024), np.uint64)
        self._magnitudes = np.zeros((2, 1024), np.uint64)
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
        count = int(np.prod(shape))
        first, self._count = self._count, self._count + count
        self._grow()
        if self._count >= 1 << (8 * PLANES - _BYTE_BITS):
            raise TooManyElements(self._count)
        for planes, residues in ((self._residues, elements.residues), (self._magnitudes, elements.magnitudes)):
            for plane, residue in zip(planes, residues, strict=True):
                plane[first : self._count] = np.broadcast_to(residue, shape).reshape(-1)
        self._error[first : self._count] = np.broadcast_to(elements.error, shape).reshape(-1)
        if elements.reason is not None:
            self._reason[first : self._count] = np.broadcast_to(elements.reason, shape).reshape(-1)
        self._kind[first : self._count] = _NUMBER[elements.kind]
        numbers = np.arange(first, self._count, dtype=np.uint64).reshape(shape)
        if elements.known is not None:
            numbers = np.where(elements.known, np.uint64(0), numbers)
        return Bytes(_tokens(numbers, np.dtype(f"u{_BYTES[elements.kind]}")))

    def elements_of(self, held: Bytes, kind: str) -> Elements:
        """Return the elements of a type that bytes hold; those that hold anything else are opaque."""
        if kind not in held.elements:
            held.elements[kind] = self._elements_of(held.planes, kind)
        return held.elements[kind]

    def _elements_of(self, planes: tuple[Values, ...], kind: str) -> Elements:
        numbers, whole = _numbers(planes)
        none = (planes[0] | planes[1] | planes[2]) == 0
        if kind in ("f32", "tf32") and not (whole | none).all():
            # The bits of a bfloat16 are the upper half of a float32.
            halves = tuple((plane >> np.uint32(16)).astype(np.uint16) for plane in planes)
            low = (planes[0] | planes[1] | planes[2]) << np.uint32(16) == 0
            upper, is_half = _numbers(halves)
            is_half &= low & (self._kind[upper] == _NUMBER["bf16"])
            numbers, whole = np.where(is_half, upper, numbers), whole | is_half
        elif is_integer(kind) and planes[0].itemsize > 1 and not (whole | none).all():
            numbers, whole = self._extended(planes, numbers, whole)
        kinds = self._kind[numbers]
        fits = whole & np.isin(kinds, [_NUMBER[each] for each in _readable_as(kind)])
        reason = self._reason[numbers]
        if not (fits | none).all():
            text = f"bytes of different elements, or of another type, are read as {kind or 'bits'}"
            reason = np.where(fits | none, reason, self.reason("opaque", text))
        error = self._error[numbers]
        if kind == "tf32":
            error = np.where(kinds == _NUMBER["f32"], cut_to_tf32(error), error)
        residues, magnitudes = (
            (planes[0][numbers], planes[1][numbers]) for planes in (self._residues, self._magnitudes)
        )
        return Elements(
            residues,
            np.asarray(error.flat[0]) if (error == error.flat[0]).all() else error,
            kind,
            none if none.any() else None,
            reason if reason.any() else None,
            None if residues_of.equal(residues, magnitudes).all() else magnitudes,
        )

    def _extended(self, planes: tuple[Values, ...], numbers: Values, whole: Flags) -> tuple[Values, Flags]:
        """Return numbers of elements with those of narrower unsigned integers, extended by zeros."""
        for size in (1, 2, 4):
            if size < planes[0].itemsize:
                kind = f"u{8 * size}"
                low, is_low = _numbers(tuple(plane.astype(f"u{size}") for plane in planes))
                rest = np.logical_or.reduce([(plane >> plane.dtype.type(8 * size)) != 0 for plane in planes])
                is_low &= ~rest & (self._kind[low] == _NUMBER[kind])
                numbers, whole = np.where(is_low, low, numbers), whole | is_low
        return numbers, whole

    def _grow(self) -> None:
        while self._count > len(self._error):
            more = len(self._error)
            self._residues, self._magnitudes = (
                np.concatenate([each, np.zeros((2, more), np.uint64)], axis=1)
                for each in (self._residues, self._magnitudes)
            )
            self._error, self._kind, self._reason = (
                np.concatenate([each, np.zeros(more, each.dtype)]) for each in (self._error, self._kind, self._reason)
            )

    def resolved(self, shadow: Shadow, value: Values, kind: str) -> Elements:
        """Return a register's elements of a type, with the numbers of ``value`` in lanes that depend on no matrix."""
        if shadow is None:
            return self.of_values(value, kind)
        if isinstance(shadow, Parts):
            shadow = self.bytes(shadow, np.dtype(f"u{_BYTES[kind]}"))
        held = self.elements(shadow, kind)
        if isinstance(shadow, Bytes) and shadow.is_partial and (is_integer(kind) or kind in ("f32", "tf32")):
            bits = np.dtype(f"u{_BYTES[kind]}")
            raw = value.view(bits) if value.itemsize == bits.itemsize else value.astype(bits)
            used = self.bytes(shadow, bits).used
            mixed = (used != 0) & (raw & ~used != 0)
            if mixed.any():
                reason = np.where(mixed, np.int32(self.reason("opaque", _MIXED)), held.opaque)
                held = replace(held, reason=reason)
        if held.known is None or not held.known.any():
            return replace(held, known=None)
        given = self.of_values(value, kind)
        magnitude = None
        if held.magnitude is not None or given.magnitude is not None:
            magnitude = residues_of.where(held.known, given.magnitudes, held.magnitudes)
        return Elements(
            residues_of.where(held.known, given.residues, held.residues),
            np.where(held.known, given.error, held.error),
            kind,
            None,
            _none_if_zero(np.where(held.known, given.opaque, held.opaque)),
            magnitude,
        )

    def of_values(self, value: Values, kind: str) -> Elements:
        """Return numbers that depend on no matrix as elements; NaN and infinities are opaque."""
        numbers = _as_numbers(value, kind)
        finite = np.isfinite(numbers) if numbers.dtype.kind == "f" else np.True_
        reason = None
        if not np.all(finite):
            text = "no number, as memory that was never written holds"
            reason = np.where(finite, 0, self.reason("undefined", text)).astype(np.int32)
        magnitude = of_numbers(np.abs(numbers)) if numbers.dtype.kind in "if" and (numbers < 0).any() else None
        return Elements(of_numbers(numbers), np.zeros(()), kind, None, reason, magnitude)

    def elements(self, shadow: Elements | Bytes | Parts, kind: str) -> Elements:
        """Return a register's elements of a type, without numbers in lanes that depend on no matrix."""
        if isinstance(shadow, Parts):
            shadow = self.bytes(shadow, np.dtype(f"u{_BYTES[kind]}"))
        if isinstance(shadow, Bytes):
            wanted = np.dtype(f"u{_BYTES[kind]}")
            return self.elements_of(self.bytes(shadow, wanted), kind)
        if shadow.kind == kind or (kind, shadow.kind) == ("f32", "tf32"):
            return replace(shadow, kind=kind)
        if (kind, shadow.kind) == ("tf32", "f32"):
            return replace(shadow, kind=kind, error=cut_to_tf32(shadow.error))
        if is_integer(kind) and is_integer(shadow.kind) and _same_number(shadow.kind, kind):
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
        return np.asarray(np.logical_or.reduce([np.zeros((), np.bool_), *map(self.dependent, parts)]))

    def signed(self, shadow: Shadow) -> Flags:
        """Return the lanes in which a register holds an element of a signed integer type."""
        if isinstance(shadow, Elements):
            return np.asarray(shadow.kind[:1] == "s")
        if not isinstance(shadow, Bytes):
            return np.zeros((), np.bool_)
        return np.isin(self._kind[_numbers(shadow.planes)[0]], _SIGNED)

    def size(self, elements: Elements) -> int:
        """Return the bytes of elements."""
        return _BYTES[elements.kind]


class TooManyElements(Exception):
    """More elements than tokens can tell apart."""


def _as_numbers(value: Values, kind: str) -> Values:
    match kind:
        case "bf16":
            return from_bfloat16(value.view(np.uint16)).astype(np.float64)
        case "e4m3" | "e5m2":
            return numbers_of(value.view(np.uint8), kind)
        case "pred":
            return value
        case "tf32":
            return (value.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32)
        case _:
            dtype = NUMPY[kind]
            return value.view(dtype) if value.dtype.itemsize == dtype.itemsize else value.astype(dtype)


def _readable_as(kind: str) -> tuple[str, ...]:
    """Return the types of elements that an instruction for a type may read."""
    if kind in ("f32", "tf32"):
        return "f32", "tf32", "bf16"
    if not is_integer(kind):
        return (kind,)
    return tuple(each for each in _KINDS if is_integer(each) and _same_number(each, kind))


def _same_number(kind: str, as_kind: str) -> bool:
    """Return True if an integer of one type, extended by its sign, is the same number in another type.

    Arithmetic on 32 and 64 bits is the same for signed and unsigned numbers.
    """
    size, of_reader = _BYTES[kind], _BYTES[as_kind]
    return size <= of_reader and (kind[0] == as_kind[0] or of_reader >= 4 or (kind[0] == "u" and size < of_reader))


def cut_to_tf32(error: Values) -> Values:
    """Return the error of float32 numbers after a tensor core has cut off their lowest 13 bits."""
    return error + _CUT + error * _CUT


def _none_if_zero(reason: Values) -> Values | None:
    return reason if reason.any() else None


def _ones(bits: DType) -> Any:
    return np.frombuffer(b"\x01" * bits.itemsize, bits)[0]


def _steps(bits: DType) -> Any:
    return np.frombuffer(bytes(range(bits.itemsize)), bits)[0]


def _tokens(numbers: Values, bits: DType) -> tuple[Values, ...]:
    """Return the planes of the tokens of elements by their numbers, 0 for none."""
    tokens, ones = numbers << np.uint64(_BYTE_BITS), _ones(bits)
    planes = [((tokens >> np.uint64(8 * rank)) & np.uint64(0xFF)).astype(bits) * ones for rank in range(PLANES)]
    planes[0] = np.where(numbers != 0, planes[0] + _steps(bits), bits.type(0))
    return tuple(planes)


def _numbers(planes: tuple[Values, ...]) -> tuple[Values, Flags]:
    """Return the number of the element of each register, and true if it is one whole element."""
    bits = planes[0].dtype
    ones, low = _ones(bits), bits.type(0xFF)
    first = [plane & low for plane in planes]
    whole = (planes[0] == first[0] * ones + _steps(bits)) & ((first[0] & bits.type((1 << _BYTE_BITS) - 1)) == 0)
    number = (first[0] >> bits.type(_BYTE_BITS)).astype(np.int64)
    for rank in range(1, PLANES):
        whole &= planes[rank] == first[rank] * ones
        number |= first[rank].astype(np.int64) << (8 * rank - _BYTE_BITS)
    whole &= number != 0
    return np.where(whole, number, 0), whole

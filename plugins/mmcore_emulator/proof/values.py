"""The second value of a register or of memory: elements that depend on matrices, and the bytes that hold them.

An element has a residue, a bound of its relative rounding error, its type, and the reason why it is opaque, if it is.
Bytes hold tokens: the number of an element and of one of its bytes. A token of zero is a byte that depends on no
matrix. So copies move tokens as they move bytes, until an instruction consumes whole elements.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np

from mmcore_emulator.numerics.types import Flags, Values
from mmcore_emulator.proof.field import Residues, zeros
from mmcore_emulator.ptx.instructions import Instruction

ORDERS = 3
"""Orders of roundings whose residues an element has: 0 for the element itself, and those of its splits."""
NO_SPLITS: tuple[Residues, ...] = (zeros(()),) * (2 * ORDERS - 1)


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
    # Residues of the orders above 0, the magnitudes of these, and the bound of higher orders; see ``splits``.
    splits: tuple[Residues, ...] | None = None

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


def joined(function: Callable[..., Values], *elements: Elements) -> Elements:
    """Return elements whose components are a function of the components of others."""

    def of(components: Iterable[Values]) -> Values:
        return np.asarray(function(*components))

    def pair(components: Sequence[Residues]) -> Residues:
        return of(each[0] for each in components), of(each[1] for each in components)

    def some(name: str) -> bool:
        return any(getattr(each, name) is not None for each in elements)

    splits = [each.splits or NO_SPLITS for each in elements]
    return Elements(
        pair([each.residues for each in elements]),
        of(each.error for each in elements),
        elements[0].kind,
        of(each.is_known for each in elements) if some("known") else None,
        of(each.opaque for each in elements) if some("reason") else None,
        pair([each.magnitudes for each in elements]) if some("magnitude") else None,
        tuple(map(pair, zip(*splits, strict=True))) if some("splits") else None,
    )


def chosen(lanes: Values, one: Elements, other: Elements) -> Elements:
    """Return one element in some lanes, another elsewhere."""

    def choose(a: Values, b: Values) -> Values:
        return a if a is b else np.where(lanes, a, b)

    made = joined(choose, one, other)
    none = made.known is None or not made.known.any()
    return replace(made, known=None if none else made.known)


@dataclass(frozen=True, eq=False)
class Bytes:
    """The tokens of the bytes of a register in each lane, plane by plane, of the register's size each."""

    planes: tuple[Values, ...]
    elements: dict[str, Elements] = field(default_factory=dict)  # by the type that they are read as

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

"""PTX's literals and the sizes of its types."""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass

from mmcore.errors import MmcoreError

TYPE_BYTES = {f"{kind}{bits}": bits // 8 for kind in "busf" for bits in (8, 16, 32, 64) if (kind, bits) != ("f", 8)} | {
    "pred": 1,
    "bf16": 2,
}

_INTEGER = re.compile(r"(-?)(?:0[xX]([0-9a-fA-F]+)|0[bB]([01]+)|(0[0-7]*)|([1-9][0-9]*))U?")
_FLOAT = re.compile(r"0([fFdD])([0-9a-fA-F]+)$")


class PtxError(MmcoreError):
    """The text is not PTX that this reader understands."""


@dataclass(frozen=True)
class Constant:
    """A literal. ``bits`` is its 64-bit pattern for an integer; ``type`` is "int", "f32" or "f64"."""

    bits: int
    type: str = "int"


def integer(text: str) -> int | None:
    """The value of an integer literal; None for anything else."""
    found = _INTEGER.fullmatch(text)
    if not found:
        return None
    bases = zip((16, 2, 8, 10), found.groups()[1:], strict=True)
    (magnitude,) = (int(digits, base) for base, digits in bases if digits)
    return -magnitude if found[1] else magnitude


def real(text: str) -> Constant | None:
    """A floating-point literal, given by its bits; None for anything else.

    Raises:
        PtxError: it has too many digits, or too few.
    """
    found = _FLOAT.match(text)
    if not found:
        return None
    kind, digits = ("f32", 8) if found[1] in "fF" else ("f64", 16)
    if len(found[2]) != digits:
        raise PtxError(f"PTX constant {text!r} is not understood")
    return Constant(int(found[2], 16), kind)


def float_value(constant: Constant) -> float:
    """The number that a floating-point constant stands for."""
    pack, unpack = ("<I", "<f") if constant.type == "f32" else ("<Q", "<d")
    return float(struct.unpack(unpack, struct.pack(pack, constant.bits))[0])

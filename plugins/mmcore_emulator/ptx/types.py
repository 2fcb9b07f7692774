"""PTX's types and literals."""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass

from mmcore_emulator.errors import PtxError

TYPE_BYTES = {f"{kind}{bits}": bits // 8 for kind in "busf" for bits in (8, 16, 32, 64) if (kind, bits) != ("f", 8)} | {
    "pred": 1,
    "bf16": 2,
    "b128": 16,
}

_INTEGER = re.compile(r"(-?)(?:0[xX]([0-9a-fA-F]+)|0[bB]([01]+)|(0[0-7]*)|([1-9][0-9]*))U?")
_FLOAT = re.compile(r"0([fFdD])([0-9a-fA-F]+)$")
_DECIMAL = re.compile(r"-?\d+(\.\d*([eE][+-]?\d+)?|[eE][+-]?\d+)")


@dataclass(frozen=True)
class Constant:
    """A literal."""

    bits: int  # its value, or the bits of a floating-point number
    type: str = "int"  # "int", "f32", "f64", or "decimal" for a number of any float type, stored as float64


def whole_number(digits: str, base: int = 10) -> int:
    """Return the value of a number in a literal, a declaration or a line mark.

    Raises:
        PtxError: the number has more than 64 bits.
    """
    if len(digits) > 64 or (number := int(digits, base)) >= 2**64:
        raise PtxError(f"PTX number {digits[:20]}… does not fit into 64 bits")
    return number


def integer(text: str) -> int | None:
    """Return the value of an integer literal; None for any other text."""
    match = _INTEGER.fullmatch(text)
    if not match:
        return None
    bases = zip((16, 2, 8, 10), match.groups()[1:], strict=True)
    (magnitude,) = (whole_number(digits, base) for base, digits in bases if digits)
    return -magnitude if match[1] else magnitude


def real(text: str) -> Constant | None:
    """Return a floating-point literal, hexadecimal or decimal; None for any other text.

    Raises:
        PtxError: the number of hexadecimal digits is wrong.
    """
    if _DECIMAL.fullmatch(text):
        return Constant(struct.unpack("<Q", struct.pack("<d", float(text)))[0], "decimal")
    match = _FLOAT.match(text)
    if not match:
        return None
    kind, digits = ("f32", 8) if match[1] in "fF" else ("f64", 16)
    if len(match[2]) != digits:
        raise PtxError(f"PTX constant {text!r} is not understood")
    return Constant(int(match[2], 16), kind)


def float_value(constant: Constant) -> float:
    """Return the value of a floating-point constant."""
    pack, unpack = ("<I", "<f") if constant.type == "f32" else ("<Q", "<d")
    return float(struct.unpack(unpack, struct.pack(pack, constant.bits))[0])


INTEGERS = tuple(f"{kind}{bits}" for kind in "us" for bits in (16, 32, 64))
BITS = ("b16", "b32", "b64")
FLOATS = ("f32", "f64")

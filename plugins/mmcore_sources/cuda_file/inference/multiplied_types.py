"""The element types that tensor core instructions multiply, as PTX text or CuTe's names of instructions show them."""

from __future__ import annotations

import re
from collections.abc import Iterator

_JOINT = re.compile(r'(?:\\[nt])*"\s*"')  # between two strings
_OPCODE = re.compile(r"(?<!wmma\.)\b((?:wg)?mma)(?:_async)?\.[\w.:]*?m\d+n\d+k\d+\.([\w.:]+)")
_ATOM = re.compile(r"\b(?:SM\d+|MMA)_\d+x\d+x\d+_[FS]\d\d(BF16|F16|TF32|S8|U8|E4M3|E5M2)")
_TYPES = {
    "f16": "__half",
    "bf16": "__nv_bfloat16",
    "tf32": "float",
    "f64": "double",
    "s8": "int8_t",
    "u8": "uint8_t",
    "e4m3": "__nv_fp8_e4m3",
    "e5m2": "__nv_fp8_e5m2",
}
_OTHER_TYPES = ("f32", "s32", "s4", "u4", "b1")


def multiplied_type(code: str) -> tuple[str, str]:
    """Return the type in C of A's elements in the products of a text, and what shows it; empty if they differ."""
    found = {*_types(code)}
    kind, instruction = min(found) if len({kind for kind, _ in found}) == 1 else ("", "")
    return _TYPES.get(kind, ""), f"what the source's {instruction} instructions multiply"


def _types(code: str) -> Iterator[tuple[str, str]]:
    """Yield the PTX type of A in each product, and the name of the instruction."""
    for name, qualifiers in _OPCODE.findall(_JOINT.sub("", code)):
        types = [each for each in qualifiers.split(".") if each in _TYPES or each in _OTHER_TYPES]
        if len(types) > 1:
            yield types[1], name  # the first is that of the sums
    for kind in _ATOM.findall(code):
        yield kind.lower(), "CuTe"

"""Variables that PTX declares, and their contents when the module is loaded."""

from __future__ import annotations

import functools
import re
import textwrap
from dataclasses import dataclass

from mmcore_emulator.errors import PtxError
from mmcore_emulator.ptx.types import TYPE_BYTES, integer, real, whole_number

_MODULE_SCOPE = re.compile(
    r"(?<![\w.])(?:\.(?P<linking>extern|visible|weak|common)\s+)?"
    r"(?P<declaration>\.(?:global|const|shared)\b[^;]*)(?P<end>;?)"
)
_VARIABLE = re.compile(
    r"\.(?P<space>shared|local|global|const)\s*(?:\.attribute\s*\(\s*\.managed\s*\)\s*)?"
    r"(?:\.align\s+(?P<align>\d+)\s*)?\.(?P<type>\w+)\s+(?P<name>[A-Za-z_$%][\w$]*)\s*"
    r"(?P<extents>(?:\[\s*\d*\s*\]\s*)*)(?:=\s*(?P<initial>.*))?",
    re.DOTALL | re.ASCII,
)
# "launches", "generic(cache)+12", or one byte of such an address: "0xFF00(generic(cache))".
_ADDRESS = re.compile(
    r"(?:0[xX][0-9a-fA-F]+\s*\(\s*)?(?:generic\s*\(\s*)?(?P<name>[A-Za-z_$%][\w$]*)[\s)]*(?:[+-]\s*\d+)?[\s)]*",
    re.ASCII,
)
_QUOTED = 100


@dataclass(frozen=True)
class Variable:
    """A .shared, .local, .global or .const variable."""

    name: str  # its symbol
    space: str  # its memory
    nbytes: int  # its size; 0 for an ``extern`` array
    align: int  # its address is a multiple of this
    initial: bytes = b""  # its first bytes when the module is loaded; zeros follow
    unknown: str = ""  # why the initial value is not known here ("holds the address of x"); "" if it is


def module_variables(text: str) -> dict[str, Variable]:
    """Return the variables that PTX (without its functions and comments) declares, by name.

    Raises:
        PtxError: a declaration is not understood.
    """
    variables = {}
    for match in _MODULE_SCOPE.finditer(text):
        if not match["end"]:
            raise PtxError(f"PTX variable {_quoted(match[0])} does not end")
        declared = variable(match["declaration"], extern=match["linking"] == "extern")
        variables[declared.name] = declared
    return variables


def variable(declaration: str, *, extern: bool = False) -> Variable:
    """Return the variable of one declaration, such as ``.global .align 4 .b8 table[16] = {1, 2}``.

    For an ``extern`` variable, another module has the definition, or the launch has the size of shared memory.

    Raises:
        PtxError: the declaration is not understood.
    """
    match = _VARIABLE.fullmatch(declaration.strip())
    if not match or match["type"] not in TYPE_BYTES:
        raise PtxError(f"PTX variable {_quoted(declaration)} is not understood")
    element = TYPE_BYTES[match["type"]]
    align = whole_number(match["align"] or str(element))
    if align.bit_count() != 1:
        raise PtxError(f"PTX variable {match['name']} has an alignment of {align}, which is no power of two")
    nbytes = element
    for extent in re.findall(r"\[\s*(\d*)\s*\]", match["extents"]):
        nbytes *= whole_number(extent or "0")
    static = match["space"] in ("global", "const")
    if match["initial"] is not None and (extern or not static):
        raise PtxError(f"PTX variable {match['name']} cannot have an initial value")
    initial, unknown = _initial(match, nbytes)
    if static and extern:
        unknown = "another module defines"
    elif static and not nbytes:
        raise PtxError(f"PTX variable {match['name']} has no size")
    return Variable(match["name"], match["space"], nbytes, align, initial, unknown)


def _initial(match: re.Match[str], nbytes: int) -> tuple[bytes, str]:
    """Return the bytes of a variable's initial value, and why they are not known ("" if they are)."""
    if match["initial"] is None:
        return b"", ""
    text = match["initial"].strip()
    braces = text.startswith("{") and text.endswith("}")
    if braces != bool(match["extents"]):
        raise PtxError(f"PTX variable {match['name']} is set to {_quoted(text)}, which is not understood")
    values = [item.strip() for item in (text[1:-1] if braces else text).split(",")]
    if len(values) * TYPE_BYTES[match["type"]] > nbytes:
        raise PtxError(
            f"PTX variable {match['name']} of {nbytes} bytes is set to {len(values)} values of .{match['type']}"
        )
    content = []
    for value in values:
        known = _element(value, match["type"])
        if known is None:
            address = _ADDRESS.fullmatch(value)
            if not address:
                raise PtxError(f"PTX variable {match['name']} is set to {_quoted(value)}, which is no .{match['type']}")
            return b"", f"holds the address of {address['name']}"
        content.append(known)
    return b"".join(content), ""


@functools.lru_cache(maxsize=1024)
def _element(text: str, kind: str) -> bytes | None:
    """Return the bytes of a literal of that type; None for any other text."""
    size = TYPE_BYTES[kind]
    if (value := integer(text)) is not None and kind[0] in "bus":
        bits = 8 * size
        return (value % (1 << bits)).to_bytes(size, "little") if -(1 << bits - 1) <= value < 1 << bits else None
    constant = real(text)
    return constant.bits.to_bytes(size, "little") if constant is not None and constant.type == kind else None


def _quoted(text: str) -> str:
    return repr(textwrap.shorten(text, _QUOTED, placeholder=" …"))

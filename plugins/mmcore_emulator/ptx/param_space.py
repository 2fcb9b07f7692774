"""What functions pass to each other, in registers.

PTX passes it in a space of its own, ``.param``, where a place is declared for each argument and result. If caller and
function divide a place alike, each part is a register here, of which an integer may be read that is narrower; else the
place is in local memory, as it is if its address is taken. Reference: PTX ISA, "Parameter State Space: Device Function
Parameters".
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from mmcore_emulator.ptx.declarations import Variable
from mmcore_emulator.ptx.instructions import (
    Address,
    Function,
    Instruction,
    Operand,
    Parameter,
    Register,
    Symbol,
    Vector,
    names,
)
from mmcore_emulator.ptx.types import TYPE_BYTES

_ALIGN = 16
_SPACES = {"param", "param::func"}
_ELEMENTS = {"v2": 2, "v4": 4}


def passed_in_registers(function: Function) -> Function:
    """A function that has all that it calls in its body, with registers and local variables for what is passed."""
    accesses = [_access(each, function.passed) for each in function.body]
    pairs = list(zip(function.body, accesses, strict=True))
    otherwise = {name for each, access in pairs if access is None for name in names(each)}
    parts = {name: each for name, each in _parts(list(filter(None, accesses))).items() if name not in otherwise}
    body: list[Instruction] = []
    begins = []
    for each, access in pairs:
        begins.append(len(body))
        body += [each] if access is None else _replaced(each, access, parts.get(access.place))
    begins.append(len(body))
    in_memory = {
        name: Variable(name, "local", parameter.nbytes, _ALIGN)
        for name, parameter in function.passed.items()
        if name not in parts
    }
    return replace(
        function,
        body=body,
        labels={label: begins[index] for label, index in function.labels.items()},
        variables=function.variables | in_memory,
        passed={},
    )


@dataclass(frozen=True)
class _Access:
    """An access to what is passed.

    Attributes:
        place: its name.
        stores: whether it is no load.
        kind: type of an element.
        elements: offset of each, and what it is loaded to or stored from.
    """

    place: str
    stores: bool
    kind: str
    elements: list[tuple[int, Operand]]


def _access(each: Instruction, passed: Mapping[str, Parameter]) -> _Access | None:
    """The access that an instruction makes; None for one that makes none, or another than to a place as a whole."""
    name, *modifiers, kind = each.opcode if len(each.opcode) > 1 else (*each.opcode, "")
    if name not in ("ld", "st") or len(each.operands) != 2 or kind not in TYPE_BYTES or not _SPACES & {*modifiers}:
        return None
    address, values = each.operands if name == "st" else each.operands[::-1]
    if not isinstance(address, Address) or not isinstance(address.base, Symbol) or address.base.name not in passed:
        return None
    elements: Vector = values if isinstance(values, tuple) else (values,)  # type: ignore[assignment]
    if len(elements) != next((count for part, count in _ELEMENTS.items() if part in modifiers), 1):
        return None
    offsets = (address.offset + TYPE_BYTES[kind] * number for number in range(len(elements)))
    return _Access(address.base.name, name == "st", kind, list(zip(offsets, elements, strict=True)))


def _parts(accesses: Sequence[_Access]) -> dict[str, dict[int, int]]:
    """Of the places that can be registers, the bytes of each part by its offset."""
    found: dict[str, dict[int, int]] = defaultdict(dict)
    for access in accesses:
        widest = found[access.place]
        for offset, _ in access.elements:
            widest[offset] = max(TYPE_BYTES[access.kind], widest.get(offset, 0))
    divided = {
        access.place
        for access in accesses
        for offset, _ in access.elements
        if TYPE_BYTES[access.kind] < found[access.place][offset] and (access.stores or access.kind[0] not in "bus")
    }
    return {name: widest for name, widest in found.items() if name not in divided and not _overlap(widest)}


def _overlap(parts: Mapping[int, int]) -> bool:
    return any(offset + size > behind for (offset, size), (behind, _) in pairwise(sorted(parts.items())))


def _replaced(each: Instruction, access: _Access, parts: Mapping[int, int] | None) -> Iterator[Instruction]:
    """The same to the registers that the parts of a place are, or in local memory."""
    if parts is None:
        yield replace(each, opcode=tuple("local" if part in _SPACES else part for part in each.opcode))
        return
    for offset, element in access.elements:
        register = Register(f"{access.place}+{offset}", f"b{8 * parts[offset]}")
        if element != Symbol("_"):
            operands = (register, element) if access.stores else (element, register)
            yield replace(each, opcode=("mov", access.kind), operands=operands)

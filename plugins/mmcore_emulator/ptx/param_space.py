"""Arguments and results of functions, in registers.

PTX passes them in the ``.param`` space, where a variable is declared for each argument and result. If caller and
function divide a variable alike, each part becomes a register here; a narrower integer may be read from it. Otherwise,
or if its address is taken, the variable is in local memory. Reference: PTX ISA, "Parameter State Space: Device
Function Parameters".
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
    """Return a function, after expansion of its calls, whose ``.param`` variables are registers or local variables."""
    accesses = [_access(instruction, function.passed) for instruction in function.body]
    pairs = list(zip(function.body, accesses, strict=True))
    otherwise = {name for instruction, access in pairs if access is None for name in names(instruction)}
    parts = {name: sizes for name, sizes in _parts(list(filter(None, accesses))).items() if name not in otherwise}
    body: list[Instruction] = []
    begins = []
    for instruction, access in pairs:
        begins.append(len(body))
        body += [instruction] if access is None else _replaced(instruction, access, parts.get(access.place))
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
    """An access to a ``.param`` variable."""

    place: str  # name of the variable
    stores: bool  # true for a store, false for a load
    kind: str  # type of an element
    elements: list[tuple[int, Operand]]  # offset of each element, and the operand that it is loaded to or stored from


def _access(instruction: Instruction, passed: Mapping[str, Parameter]) -> _Access | None:
    """Return an instruction's access to a ``.param`` variable; None for any other instruction."""
    name, *modifiers, kind = instruction.opcode if len(instruction.opcode) > 1 else (*instruction.opcode, "")
    accesses_space = name in ("ld", "st") and kind in TYPE_BYTES and not _SPACES.isdisjoint(modifiers)
    if not accesses_space or len(instruction.operands) != 2:
        return None
    address, values = instruction.operands if name == "st" else instruction.operands[::-1]
    if not isinstance(address, Address) or not isinstance(address.base, Symbol) or address.base.name not in passed:
        return None
    elements: Vector = values if isinstance(values, tuple) else (values,)  # type: ignore[assignment]
    if len(elements) != next((count for part, count in _ELEMENTS.items() if part in modifiers), 1):
        return None
    offsets = (address.offset + TYPE_BYTES[kind] * number for number in range(len(elements)))
    return _Access(address.base.name, name == "st", kind, list(zip(offsets, elements, strict=True)))


def _parts(accesses: Sequence[_Access]) -> dict[str, dict[int, int]]:
    """Return the bytes of each part by its offset, for the variables that can be registers."""
    sizes: dict[str, dict[int, int]] = defaultdict(dict)
    for access in accesses:
        widest = sizes[access.place]
        for offset, _ in access.elements:
            widest[offset] = max(TYPE_BYTES[access.kind], widest.get(offset, 0))
    divided = {
        access.place
        for access in accesses
        for offset, _ in access.elements
        if TYPE_BYTES[access.kind] < sizes[access.place][offset] and (access.stores or access.kind[0] not in "bus")
    }
    return {name: widest for name, widest in sizes.items() if name not in divided and not _overlap(widest)}


def _overlap(parts: Mapping[int, int]) -> bool:
    return any(offset + size > behind for (offset, size), (behind, _) in pairwise(sorted(parts.items())))


def _replaced(instruction: Instruction, access: _Access, parts: Mapping[int, int] | None) -> Iterator[Instruction]:
    """Yield the same access to the registers of the variable's parts, or to local memory if it has none."""
    if parts is None:
        yield replace(instruction, opcode=tuple("local" if part in _SPACES else part for part in instruction.opcode))
        return
    for offset, element in access.elements:
        register = Register(f"{access.place}+{offset}", f"b{8 * parts[offset]}")
        if element != Symbol("_"):
            operands = (register, element) if access.stores else (element, register)
            yield replace(instruction, opcode=("mov", access.kind), operands=operands)

"""The layout of a function's variables and parameters in their memories."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from operator import attrgetter

from mmcore_emulator.errors import PtxError
from mmcore_emulator.machine.memory.arrays import copied_base
from mmcore_emulator.ptx.declarations import Variable
from mmcore_emulator.ptx.instructions import Function, Parameter, names
from mmcore_emulator.ptx.types import TYPE_BYTES

# Prefixes of namespaces that the compiler creates for internal linkage.
_NAMELESS = ("_INTERNAL_", "_GLOBAL__N_")
_DYNAMIC_ALIGN = 16
_EXTENT = attrgetter("name", "nbytes", "align")
_WITHIN = (1 << 20) - 1
_FRAME = "__local_depot"  # the compiler's variable for the local arrays of a function
_LARGEST = 512 << 10
"""The most local memory of a thread, in bytes; no GPU has as much shared memory."""


@dataclass(frozen=True)
class Layout:
    """The addresses and sizes of a function's variables and parameters."""

    addresses: dict[str, int]  # address of each shared and local variable, by name
    shared: tuple[tuple[int, int], ...]  # address and bytes of each shared array that the source declares
    dynamic_shared: int  # address of the dynamic shared memory, after these arrays
    local_bytes: int  # local memory of a thread
    parameters: dict[str, int]  # offset of each parameter in parameter memory, by name
    parameter_bytes: int  # size of parameter memory
    shared_begin: int = 0  # begin of a block's shared memory
    # Shared arrays whose address does not have the requested alignment: name in the source, address, alignment.
    misplaced: tuple[tuple[str, int, int], ...] = ()

    @property
    def shared_bytes(self) -> int:
        """Shared memory of a block that the source declares."""
        return sum(nbytes for _, nbytes in self.shared)

    def shared_name(self, address: int) -> str:
        """Return the source's name of the shared array at an address; "" for one without a unique name."""
        names = [name for name, base in self.addresses.items() if base == address]
        return as_written(names[0]) if len(names) == 1 else ""


def as_written(symbol: str) -> str:
    """Return the name of a variable in the source.

    For a mangled symbol that is the last name in it, "tile" for "_ZZ6kernelE4tile", or one with its namespaces, "a::b"
    for "_ZN1a1bE". A symbol with neither, such as an instance of a template, is returned unchanged.
    """
    if not symbol.startswith("_Z"):
        return symbol
    if symbol.startswith("_ZN") and (names := _nested(symbol[3:])):
        return "::".join(name for name in names if not name.startswith(_NAMELESS))
    # Variables of the same name in one function are numbered, except for the first.
    return _ending(symbol) or _ending(re.sub(r"_\d+$", "", symbol)) or symbol


def _nested(text: str) -> list[str]:
    """Return the names in "1a1bE"; none if it contains anything else."""
    names = []
    while match := re.match(r"\d+", text):
        end = match.end() + int(match[0])
        names.append(text[match.end() : end])
        text = text[end:]
    return names if text == "E" else []


def _ending(symbol: str) -> str:
    """Return the name at the end of a symbol, after its length and the E of what contains it; "" if there is none."""
    lengths = re.finditer(r"(?<=E)\d+", symbol)
    return next((symbol[each.end() :] for each in lengths if len(symbol) - each.end() == int(each[0])), "")


def used_variables(function: Function) -> list[Variable]:
    """Return the variables that a function uses; the module's other variables belong to other functions."""
    used = {name for instruction in function.body for name in names(instruction)}
    return [variable for variable in function.variables.values() if variable.name in used]


def lay_out(function: Function, shared_begin: int) -> Layout:
    """Return the layout of a function's variables in shared, local and parameter memory.

    A block's shared memory begins at ``shared_begin``, after the system's share; arrays' alignment does not move it.

    Raises:
        PtxError: a variable is larger than its memory.
    """
    variables = used_variables(function)
    for variable in variables:
        if variable.space in ("shared", "local") and max(variable.nbytes, variable.align) > _LARGEST:
            is_frame = variable.name.startswith(_FRAME)
            what = "the local arrays of a thread take" if is_frame else f"PTX variable {variable.name} takes"
            raise PtxError(f"{what} {variable.nbytes} bytes; {_LARGEST} is the most")
    declared = [variable for variable in variables if variable.space == "shared" and variable.nbytes]
    dynamic = [variable for variable in variables if variable.space == "shared" and not variable.nbytes]
    offsets, end = _packed(map(_EXTENT, declared))
    addresses = {name: copied_base(number, shared_begin + at) for number, (name, at) in enumerate(offsets.items())}
    shared = tuple((addresses[variable.name], variable.nbytes) for variable in declared)
    # Dynamic shared memory has no declared size, and all its names denote the same memory.
    align = max([_DYNAMIC_ALIGN, *(variable.align for variable in dynamic)])
    dynamic_shared = copied_base(len(declared), shared_begin + -(-end // align) * align)
    addresses |= {variable.name: dynamic_shared for variable in dynamic}
    local, local_bytes = _packed(map(_EXTENT, (variable for variable in variables if variable.space == "local")))
    if local_bytes > _LARGEST:
        raise PtxError(f"PTX function {function.name} has {local_bytes} bytes of local memory; {_LARGEST} is the most")
    addresses |= {name: copied_base(0) + offset for name, offset in local.items()}
    parameters, parameter_bytes = _packed(map(_parameter_extent, function.parameters))
    places = ((array, addresses[array.name] & _WITHIN) for array in (*declared, *dynamic))
    misplaced = tuple((as_written(array.name), at, array.align) for array, at in places if at % array.align)
    return Layout(addresses, shared, dynamic_shared, local_bytes, parameters, parameter_bytes, shared_begin, misplaced)


def _parameter_extent(parameter: Parameter) -> tuple[str, int, int]:
    scalar = TYPE_BYTES[parameter.type]
    return parameter.name, parameter.nbytes, scalar if parameter.nbytes == scalar else 16


def _packed(extents: Iterable[tuple[str, int, int]]) -> tuple[dict[str, int], int]:
    """Return the offsets of consecutive (name, bytes, alignment), and their total size."""
    offsets, end = {}, 0
    for name, nbytes, align in extents:
        offsets[name] = -(-end // align) * align
        end = offsets[name] + nbytes
    return offsets, end

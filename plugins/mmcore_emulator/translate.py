"""From a function's PTX to Python: what it takes to run it, block by block."""

from __future__ import annotations

from dataclasses import dataclass

from mmcore_emulator.flow import blocks_of, reads
from mmcore_emulator.ptx import TYPE_BYTES, Function, Symbol
from mmcore_emulator.step import Registers, Step
from mmcore_emulator.writer import Writer, unsupported


@dataclass(frozen=True)
class Translation:
    """A function, ready to run.

    Attributes:
        steps: its blocks, the entry first.
        registers: the registers' initial values.
        parameters: offset of each parameter in parameter memory, by name.
        parameter_bytes: size of parameter memory.
        static_shared_bytes: shared memory declared by the source; dynamic shared memory lies behind it.
        local_bytes: local memory of a thread.
    """

    steps: list[Step]
    registers: Registers
    parameters: dict[str, int]
    parameter_bytes: int
    static_shared_bytes: int
    local_bytes: int


def translate(function: Function) -> Translation:
    """Translate one function.

    Raises:
        UnsupportedInstruction: naming the mnemonic and its line in the .cu file.
        PtxError: the PTX contradicts itself.
    """
    for instruction in function.body:
        if instruction.opcode[0] == "call":
            # Named before the instructions that only pass its arguments.
            names = [part.name for part in instruction.operands if isinstance(part, Symbol)]
            raise unsupported(instruction, next((name for name in names if not name.startswith("(")), ""))
    layout, shared_bytes, local_bytes = _lay_out(function)
    parameters, parameter_bytes = {}, 0
    for parameter in function.parameters:
        size = TYPE_BYTES[parameter.type]
        align = size if parameter.nbytes == size else 8
        parameter_bytes = -(-parameter_bytes // align) * align
        parameters[parameter.name] = parameter_bytes
        parameter_bytes += parameter.nbytes
    read = {register for instruction in function.body for register in reads(instruction)}
    writer = Writer(layout | parameters, frozenset(read))
    steps = [writer.step(block) for block in blocks_of(function)]
    return Translation(steps, writer.initial_registers(), parameters, parameter_bytes, shared_bytes, local_bytes)


def _lay_out(function: Function) -> tuple[dict[str, int], int, int]:
    """Offset of each shared and local variable in its memory, and the sizes of both memories."""
    sizes = {"shared": 0, "local": 0}
    offsets = {}
    # Dynamic shared memory has no size of its own and comes last.
    for variable in sorted(function.variables.values(), key=lambda variable: variable.nbytes == 0):
        if variable.space in sizes:
            begin = -(-sizes[variable.space] // variable.align) * variable.align
            offsets[variable.name] = begin
            sizes[variable.space] = begin + variable.nbytes
    return offsets, sizes["shared"], sizes["local"]

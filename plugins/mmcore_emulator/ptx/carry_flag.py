"""The carry of extended-precision integer arithmetic (``add.cc``, ``addc``, …) as a register."""

from __future__ import annotations

from dataclasses import replace

from mmcore_emulator.ptx.instructions import Function, Instruction, Register

_CARRY = Register("%CC", "pred")
_TAKING = ("addc", "subc", "madc")
_GIVING = ("add", "sub", "mad", *_TAKING)


def with_carries(function: Function) -> Function:
    """Return the function with the carry as an explicit operand.

    The carry is the last source of instructions that read it, and the second result of instructions that write it.
    """
    return replace(function, body=[_with_carry(instruction) for instruction in function.body])


def _with_carry(instruction: Instruction) -> Instruction:
    name, operands = instruction.opcode[0], instruction.operands
    if name in _TAKING:
        operands = (*operands, _CARRY)
    if name in _GIVING and "cc" in instruction.opcode and operands and isinstance(operands[0], Register):
        operands = ((operands[0], _CARRY), *operands[1:])
    return instruction if operands is instruction.operands else replace(instruction, operands=operands)

"""The carry of extended-precision integer arithmetic, made a register: ``add.cc``, ``addc`` and their relatives."""

from __future__ import annotations

from dataclasses import replace

from mmcore_emulator.ptx.instructions import Function, Instruction, Register

_CARRY = Register("%CC", "pred")
_TAKING = ("addc", "subc", "madc")
_GIVING = ("add", "sub", "mad", *_TAKING)


def with_carries(function: Function) -> Function:
    """The function with a carry as the last operand of what takes one, and the second result of what gives one."""
    return replace(function, body=[_with_carry(each) for each in function.body])


def _with_carry(instruction: Instruction) -> Instruction:
    name, operands = instruction.opcode[0], instruction.operands
    if name in _TAKING:
        operands = (*operands, _CARRY)
    if name in _GIVING and "cc" in instruction.opcode and operands and isinstance(operands[0], Register):
        operands = ((operands[0], _CARRY), *operands[1:])
    return instruction if operands is instruction.operands else replace(instruction, operands=operands)

"""Python expressions for the operands of instructions: registers, constants, symbols and addresses."""

from __future__ import annotations

from typing import Any

import numpy as np

from mmcore_emulator.errors import PtxError
from mmcore_emulator.isa.table import unsupported
from mmcore_emulator.machine.lanes import CLOCKS, SPECIAL_REGISTERS
from mmcore_emulator.machine.machine import Execution
from mmcore_emulator.numerics.types import NUMPY, DType, Values
from mmcore_emulator.ptx.instructions import Address, Instruction, Negated, Operand, Register, Symbol, TensorAddress
from mmcore_emulator.ptx.types import TYPE_BYTES, Constant, float_value

# The value of a register that was never written: NaN in every floating-point type, which arithmetic propagates, and
# no valid index or address. It differs from the pattern of memory that was never written.
_UNSET_HALFWORD = 0x7FFC
NOWHERE = Symbol("_")
"""The operand of an ignored result."""


class OperandCode:
    """Expressions and assignments of one function's operands."""

    def __init__(self, symbols: dict[str, int]) -> None:
        self._symbols = symbols
        self._constants: dict[tuple[int, str], str] = {}
        self.slots: dict[Register, int] = {}  # numbers of the registers
        self.namespace: dict[str, Any] = {"np": np, "Execution": Execution}  # values that they use, by name
        self.lines: list[str] = []  # statements of the current block

    def initial_registers(self) -> list[Values]:
        """Return the value of every register before anything is written to it."""
        return [_never_set(NUMPY[register.type]) for register in self.slots]

    def shadow(self, operand: Operand) -> str:
        """Return the variable of a source operand's shadow; "None" for a constant."""
        register = operand.register if isinstance(operand, Negated) else operand
        return f"s{self.slot(register)}" if isinstance(register, Register) else "None"

    def shadows(self, operand: Operand) -> list[str]:
        """Return the variables of the shadows of an operand's registers, in the order of its values."""
        if isinstance(operand, Address):
            return [self.shadow(operand.base)]
        if isinstance(operand, TensorAddress):
            return [self.shadow(operand.base), *map(self.shadow, operand.coordinates)]
        return [self.shadow(part) for part in (operand if isinstance(operand, tuple) else (operand,))]

    def slot(self, register: Register) -> int:
        """Return the number of a register."""
        return self.slots.setdefault(register, len(self.slots))

    def name(self, register: Register) -> str:
        """Return the variable of a register."""
        return f"r{self.slot(register)}"

    def value(self, value: object) -> str:
        """Return the name of a value that the statements use."""
        name = f"g{len(self.namespace)}"
        self.namespace[name] = value
        return name

    def assign(self, instruction: Instruction, register: Operand, value: str, kind: str) -> None:
        """Write ``register = value``, with ``value`` of PTX type ``kind``; the register may have another type."""
        if register == NOWHERE:
            return
        if not isinstance(register, Register):
            raise unsupported(instruction)
        have, want = NUMPY[kind], NUMPY[register.type]
        if have != want:
            if have.itemsize < want.itemsize and have.kind in "iub" and want.kind in "iu":
                # A narrower result is sign-extended if its type is signed.
                wide = np.dtype(f"{have.kind if have.kind == 'i' else 'u'}{want.itemsize}")
                value = f"{value}.astype({self.value(wide)}).view({self.value(want)})"
            elif have.itemsize == want.itemsize:
                value = f"{value}.view({self.value(want)})"
            else:
                raise unsupported(instruction)
        if instruction.guard is not None:
            value = f"np.where(wanted, {value}, {self.name(register)})"
        self.lines.append(f"{self.name(register)} = {value}")

    def source(self, instruction: Instruction, operand: Operand, kind: str) -> str:
        """Return an expression for ``operand`` read as PTX type ``kind``; "" for the operand's size."""
        kind = kind or _bits_of(operand)
        want = NUMPY[kind]
        if isinstance(operand, Constant):
            return self.constant(operand, kind)
        if isinstance(operand, Symbol):
            if operand.name in self._symbols:
                return self.constant(Constant(self._symbols[operand.name]), kind)
            if operand.name in CLOCKS:
                have = NUMPY[CLOCKS[operand.name]]
                return self._convert(instruction, f"machine.clock({operand.name!r})", have, want)
            if operand.name in SPECIAL_REGISTERS:
                return self._convert(instruction, f"machine.special({operand.name!r})", np.dtype(np.uint32), want)
            raise unsupported(instruction, operand.name)
        if isinstance(operand, Negated) and kind == "pred":
            return f"~{self.name(operand.register)}"
        if not isinstance(operand, Register):
            raise unsupported(instruction)
        return self._convert(instruction, self.name(operand), NUMPY[operand.type], want)

    def _convert(self, instruction: Instruction, expression: str, have: DType, want: DType) -> str:
        if have == want:
            return expression
        if have.itemsize == want.itemsize and have.kind != "b" and want.kind != "b":
            return f"{expression}.view({self.value(want)})"
        if have.kind in "iu" and want.kind in "iu":
            # The instruction's type is narrower than the register, or a special register is read as a wider type.
            return f"{expression}.astype({self.value(want)})"
        raise unsupported(instruction)

    def constant(self, constant: Constant, kind: str) -> str:
        """Return the name of a constant as lanes of PTX type ``kind``."""
        key = (constant.bits, f"{constant.type} {kind}")
        if key not in self._constants:
            dtype = NUMPY[kind]
            if dtype.kind == "b":
                value = np.array(bool(constant.bits))
            elif constant.type == "int" or TYPE_BYTES.get(constant.type) == dtype.itemsize:
                bits = constant.bits & ((1 << 8 * dtype.itemsize) - 1)
                value = np.array(bits, np.dtype(f"u{dtype.itemsize}")).view(dtype)
            elif dtype.kind == "f":
                value = np.array(float_value(constant), dtype)
            else:
                raise PtxError(f"PTX constant of type {constant.type} is used as a {kind}")
            self._constants[key] = self.value(value.reshape((1,) * 6))
        return self._constants[key]

    def address(self, instruction: Instruction, operand: Operand) -> str:
        """Return an expression for the address of a memory operand, of 64 bits."""
        if not isinstance(operand, Address):
            raise unsupported(instruction)
        total, base = operand.offset, operand.base
        if isinstance(base, Register):
            dtype = NUMPY[base.type]
            if dtype.kind != "u" or dtype.itemsize < 4:
                raise unsupported(instruction)
            # A sum of 32-bit addresses, as shared memory may have, wraps at 32 bits.
            kind = f"u{8 * dtype.itemsize}"
            expression = self.name(base)
            if total:
                expression = f"({expression} + {self.constant(Constant(total), kind)})"
            return expression if dtype.itemsize == 8 else f"{expression}.astype(np.uint64)"
        origin = base.bits if isinstance(base, Constant) else self._symbols.get(getattr(base, "name", ""))
        if origin is None:
            raise unsupported(instruction)
        return self.constant(Constant((origin + total) & (2**64 - 1)), "u64")

    def tensor(self, instruction: Instruction, operand: Operand) -> list[str]:
        """Return expressions for a tensor map's address, and coordinates in it."""
        if not isinstance(operand, TensorAddress):
            raise unsupported(instruction)
        base = self.address(instruction, Address(operand.base))
        return [base, *(self.source(instruction, coordinate, "s32") for coordinate in operand.coordinates)]


def _bits_of(operand: Operand) -> str:
    """Return the PTX type of a register's bits, or of a constant's; a predicate is "pred"."""
    if isinstance(operand, Negated) or (isinstance(operand, Register) and operand.type == "pred"):
        return "pred"
    return f"b{8 * NUMPY[operand.type].itemsize}" if isinstance(operand, Register) else "b32"


def _never_set(dtype: DType) -> Values:
    """Return the value of a register of that type that was never written; a predicate is true."""
    if dtype.kind == "b":
        return np.ones((1,) * 6, dtype)
    return np.full(8, _UNSET_HALFWORD, np.uint16).view(dtype)[:1].reshape((1,) * 6)

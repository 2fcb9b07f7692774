"""Shadow domains, and the statements that compute shadows beside the values of a block."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeAlias

from mmcore_emulator.executor.translation.operand_code import NOWHERE, OperandCode
from mmcore_emulator.isa.entries import Compute, Execute, Wait
from mmcore_emulator.machine.lanes import Mask
from mmcore_emulator.machine.machine import Execution, Machine
from mmcore_emulator.numerics.types import NUMPY, DType, Values
from mmcore_emulator.ptx.instructions import Instruction, Negated, Operand, Register

Shadow: TypeAlias = Any
"""The second value of a register, of a type that the domain chooses; None for the default of most registers."""
Operands: TypeAlias = Sequence[Sequence[Values]]
Shadows: TypeAlias = Sequence[Sequence[Shadow]]
ComputeRule: TypeAlias = Callable[[Sequence[Values], Sequence[Shadow]], Shadow]
"""A map from source values and their shadows, not all None, to the shadow of every result."""
ExecuteRule: TypeAlias = Callable[[Execution, Operands, Shadows, Sequence[Values]], Sequence[Shadow]]
"""A map from an instruction's operands, their shadows and its results, to the results' shadows."""


class ShadowDomain(Protocol):
    """The meaning of the second values, chosen when a function is translated; without a domain there are none."""

    def __hash__(self) -> int:
        """Return a hash: translations are remembered by their domain."""

    def unset(self, dtype: DType) -> Shadow:
        """Return the shadow of a register of that type that was never written to."""

    def compute(self, semantics: Compute, at: Instruction) -> ComputeRule:
        """Return the rule of an instruction that computes from registers alone."""

    def execute(self, semantics: Execute) -> ExecuteRule | None:
        """Return the rule of an instruction on the machine; None if its results have no shadow."""

    def resize(self, shadow: Shadow, dtype: DType) -> Shadow:
        """Return the shadow of a value that is cut or extended to a type."""

    def pack(self, shadows: Sequence[Shadow], dtype: DType) -> Shadow:
        """Return the shadow of a register that is made of parts, the first in its lowest bits."""

    def unpack(self, shadow: Shadow, count: int) -> Sequence[Shadow]:
        """Return the shadows of the parts of a register."""

    def merge(self, lanes: Values, new: Shadow, old: Shadow) -> Shadow:
        """Return ``new`` in some lanes, ``old`` elsewhere."""

    def branch(self, machine: Machine, mask: Mask | None, at: Instruction, shadow: Shadow) -> None:
        """Note that control flow, or the execution of an instruction, depends on a predicate."""


class ShadowCode:
    """A writer of shadow statements by the rules of a domain; ``s3`` is the shadow of the register ``r3``."""

    def __init__(self, domain: ShadowDomain, code: OperandCode) -> None:
        self._domain = domain
        self._code = code
        self._name = code.value(domain)

    def initial(self) -> list[Shadow]:
        """Return the shadow of every register before anything is written to it."""
        return [self._domain.unset(NUMPY[register.type]) for register in self._code.slots]

    def compute(self, instruction: Instruction, semantics: Compute, sources: Sequence[str]) -> None:
        """Write ``shadow = …`` for an instruction that computes from registers."""
        shadows = [self._code.shadow(operand) for operand in instruction.operands[1:]]
        registers = [shadow for shadow in shadows if shadow != "None"]
        if not registers:
            self._code.lines.append("shadow = None")
            return
        defined = " and ".join(f"{shadow} is None" for shadow in registers)
        rule = self._code.value(self._domain.compute(semantics, instruction))
        call = f"{rule}(({', '.join(sources)},), ({', '.join(shadows)},))"
        self._code.lines.append(f"shadow = None if {defined} else {call}")

    def execute(
        self,
        instruction: Instruction,
        semantics: Execute,
        sources: Sequence[str],
        results: Sequence[tuple[Operand, str]],
    ) -> None:
        """Write ``shadows = …`` for an instruction on the machine."""
        rule = self._domain.execute(semantics)
        if rule is None:
            self._code.lines.append(f"shadows = {[None] * len(results)}")
            return
        shadows = []
        for spec, operand in zip(semantics.operands, instruction.operands, strict=False):
            if spec.role in ("source", "both", "address", "tensor"):
                shadows.append(f"[{', '.join(self._code.shadows(operand))}]")
        inputs = f"[{', '.join(sources)}], [{', '.join(shadows)}], {'results' if results else '()'}"
        self._code.lines.append(f"shadows = {self._code.value(rule)}(execution, {inputs})")

    def move(self, instruction: Instruction, target: Operand, source: Operand, kind: str) -> None:
        """Write ``shadows = …`` for ``mov``, before its registers change."""
        dtype = self._code.value(NUMPY[kind])
        if isinstance(source, tuple):
            parts = ", ".join(map(self._code.shadow, source))
            self._code.lines.append(f"shadows = [{self._name}.pack(({parts},), {dtype})]")
        elif isinstance(target, tuple):
            self._code.lines.append(f"shadows = {self._name}.unpack({self._code.shadow(source)}, {len(target)})")
        else:
            self._code.lines.append(f"shadows = [{self._code.shadow(source)}]")

    def moved(self, instruction: Instruction, target: Operand) -> None:
        """Assign the shadows of ``mov``."""
        for position, register in enumerate(target if isinstance(target, tuple) else (target,)):
            self.assign(instruction, register, f"shadows[{position}]", "")

    def assign(self, instruction: Instruction, register: Operand, shadow: str, kind: str) -> None:
        """Write the assignment of a register's shadow, of a result of PTX type ``kind``."""
        if register == NOWHERE or not isinstance(register, Register):
            return
        name, want = self._code.shadow(register), NUMPY[register.type]
        if kind and NUMPY[kind].itemsize < want.itemsize:
            extended = want if NUMPY[kind].kind != "i" else NUMPY[f"s{8 * want.itemsize}"]
            shadow = f"{self._name}.resize({shadow}, {self._code.value(extended)})"
        if instruction.guard is not None:
            shadow = f"{self._name}.merge(wanted, {shadow}, {name})"
        self._code.lines.append(f"{name} = {shadow}")

    def depend(self, instruction: Instruction, operand: Operand) -> None:
        """Note that the execution of an instruction depends on a register, such as its guard."""
        at = self._code.value(instruction)
        self._code.lines.append(f"{self._name}.branch(machine, mask, {at}, {self._code.shadow(operand)})")

    def end(self, end: Instruction, wait: Wait | None) -> None:
        """Write the shadow statements for the instruction that ends a block."""
        if end.guard is not None:
            self.depend(end, end.guard)
        reduces = wait is not None and wait.barrier is not None and wait.barrier.action == "red"
        for operand in end.operands[int(reduces) :]:
            if isinstance(operand, Register | Negated):
                self.depend(end, operand)
        if reduces and isinstance(end.operands[0], Register):
            self._code.lines.append(f"registers.shadows[{self._code.slot(end.operands[0])}] = None")

    def leave(self, leaving: Sequence[int]) -> list[str]:
        """Return the statements that write shadows back to the register file."""
        merged = (
            f"    registers.shadows[{slot}] = {self._name}.merge(mask.lanes, s{slot}, registers.shadows[{slot}])"
            for slot in leaving
        )
        kept = [f"    registers.shadows[{slot}] = s{slot}" for slot in leaving]
        return ["if keep:", *merged, "else:", *kept] if leaving else []

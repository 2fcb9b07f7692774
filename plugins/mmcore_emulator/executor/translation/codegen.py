"""Translation of a basic block to Python: one function over numpy arrays of lanes.

Its parameters are the register file, the lanes that execute it, and the machine. It returns the predicate of the branch
that ends the block, the mask of a warp's barrier, or the arrival at a block's barrier. Registers are local variables.
"""

from __future__ import annotations

from mmcore_emulator.errors import PtxError
from mmcore_emulator.executor.translation.compiled_block import CompiledBlock, Registers
from mmcore_emulator.executor.translation.operand_code import NOWHERE, OperandCode
from mmcore_emulator.executor.translation.shadow_code import ShadowCode, ShadowDomain
from mmcore_emulator.isa.barriers import reduction
from mmcore_emulator.isa.entries import Capability, Compute, Execute, Move, OperandSpec, Wait
from mmcore_emulator.isa.table import check_supported, decode, destinations, effect, unsupported
from mmcore_emulator.machine.barriers import Arrival, Reduction
from mmcore_emulator.numerics.types import NUMPY, joined, parts_of
from mmcore_emulator.ptx.instructions import Block, Instruction, Operand, Register
from mmcore_emulator.ptx.types import Constant

_PRODUCTS, _PRODUCT_WEIGHT = ("product", "warpgroup"), 30


class CodeGenerator:
    """A compiler of one function's basic blocks.

    Args:
        symbols: addresses of variables and parameters, by symbol.
        read: the registers that the function reads at all.
        capability: the compute capability of the device.
        domain: shadow domain for the registers; None for no shadows.
    """

    def __init__(
        self,
        symbols: dict[str, int],
        read: frozenset[Register],
        capability: Capability,
        domain: ShadowDomain | None = None,
    ) -> None:
        self._code = OperandCode(symbols)
        self._capability = capability
        self._read = read
        self._shadows = None if domain is None else ShadowCode(domain, self._code)

    def initial_registers(self) -> Registers:
        """Return the value of every register before anything is written to it."""
        shadows = [] if self._shadows is None else self._shadows.initial()
        return Registers(self._code.initial_registers(), shadows)

    def compile(self, block: Block) -> CompiledBlock:
        """Compile one block.

        Raises:
            UnsupportedInstruction: an instruction is not supported; the text names it and its line.
            PtxError: an instruction contradicts its operands.
        """
        code = self._code
        code.lines = []
        for instruction in block.body:
            self._instruction(instruction)
        body = code.lines
        end = decode(block.end) if block.end is not None else None
        wait = end if isinstance(end, Wait) else None
        result = self._result(block, wait)
        shadows = self._shadows
        if shadows is not None and block.end is not None and not block.gathers:
            shadows.end(block.end, wait)
        entering = sorted(code.slot(register) for register in block.live_in)
        leaving = sorted(code.slot(register) for register in block.defines & block.live_out)
        lines = [
            "def run(registers, mask, keep, machine):",
            *(f"    r{slot} = registers[{slot}]" for slot in entering),
            *(f"    s{slot} = registers.shadows[{slot}]" for slot in entering if shadows is not None),
            *(f"    {line}" for line in body),
        ]
        if leaving:
            lines.append("    if keep:")
            lines += [f"        registers[{slot}] = mask.merge(r{slot}, registers[{slot}])" for slot in leaving]
            lines.append("    else:")
            lines += [f"        registers[{slot}] = r{slot}" for slot in leaving]
        if shadows is not None:
            lines += [f"    {line}" for line in shadows.leave(leaving)]
        lines.append(f"    return {result}")
        namespace = code.namespace
        exec(compile("\n".join(lines), "<translated PTX>", "exec"), namespace)
        return CompiledBlock(
            namespace.pop("run"),
            block,
            len(block.instructions),
            sum(_PRODUCT_WEIGHT if effect(at).kind in _PRODUCTS else 1 for at in block.instructions),
            wait.barrier if wait else None,
            self._reduction(block.end, wait),
            self._polling_at(block),
            tuple(entering),
        )

    def _result(self, block: Block, wait: Wait | None) -> str:
        """Return an expression for the value that the executor needs from the instruction that ends a block."""
        end = block.end
        if end is None:
            return "None"
        if block.targets and len(end.operands) == 2 and end.guard is None:
            return self._code.source(end, end.operands[0], "u32")
        if wait is not None:
            if wait.barrier is not None:
                return self._arrival(end, wait)
            if end.guard is not None or len(end.operands) != len(wait.operands):
                raise unsupported(end)
            return self._code.source(end, end.operands[0], "u32") if end.operands else "None"
        return self._code.name(end.guard) if end.guard is not None else "None"

    def _arrival(self, end: Instruction, wait: Wait) -> str:
        """Return an expression for the arrival at a barrier of a block."""
        assert wait.barrier is not None
        operands = list(end.operands)
        vote = "None"
        if wait.barrier.action == "red":
            vote = self._code.source(end, operands.pop(), "pred") if len(operands) > 2 else "None"
            operands = operands[1:] if vote != "None" else []
        if len(operands) not in ((2,) if wait.barrier.action == "arrive" else (1, 2)):
            raise unsupported(end)
        number, *count = [self._code.source(end, operand, "u32") for operand in operands]
        wanted = "None" if end.guard is None else f"{'~' if end.negated else ''}{self._code.name(end.guard)}"
        return f"{self._code.value(Arrival)}({wanted}, {number}, {(*count, 'None')[0]}, {vote})"

    def _reduction(self, end: Instruction | None, wait: Wait | None) -> Reduction | None:
        """Return the reduction of threads at the barrier that ends a block, or None."""
        if end is None or wait is None or wait.barrier is None or wait.barrier.action != "red":
            return None
        target = end.operands[0]
        if not isinstance(target, Register) or NUMPY[target.type] != NUMPY[wait.barrier.kind]:
            raise unsupported(end)
        return reduction(wait.barrier, self._code.slot(target))

    def _polling_at(self, block: Block) -> Instruction | None:
        """Return the block's first instruction that polls a value which other threads may write, or None."""
        for instruction in block.body:
            polls = effect(instruction).polls
            if polls == "always" or (polls and not self._read.isdisjoint(destinations(instruction))):
                return instruction
        return None

    def _instruction(self, instruction: Instruction) -> None:
        guard, code = instruction.guard, self._code
        if guard is not None:
            code.lines.append(f"wanted = {'~' * instruction.negated}{code.name(guard)}")
            if self._shadows is not None:
                self._shadows.depend(instruction, guard)
        semantics = check_supported(instruction, self._capability)
        if isinstance(semantics, Execute):
            self._execute(instruction, semantics)
            return
        if isinstance(semantics, Compute):
            self._compute(instruction, semantics)
        elif isinstance(semantics, Move):
            self._move(instruction, semantics.type)
        else:
            raise unsupported(instruction)
        if guard is not None:
            at, mask = code.value(instruction), self._mask(instruction)
            code.lines.append(f"machine.observers.guarded({at}, {mask})")

    def _mask(self, instruction: Instruction) -> str:
        """Return the name of the mask of the lanes that execute an instruction."""
        if instruction.guard is None:
            return "mask"
        self._code.lines.append("narrowed = machine.batch.narrow(mask, wanted)")
        return "narrowed"

    def _compute(self, instruction: Instruction, semantics: Compute) -> None:
        code, first = self._code, instruction.operands[0] if instruction.operands else ()
        targets: tuple[Operand, ...] = first if isinstance(first, tuple) else (first,)
        if len(instruction.operands) != 1 + len(semantics.sources):
            raise unsupported(instruction)
        operands = zip(instruction.operands[1:], semantics.sources, strict=True)
        sources = [code.source(instruction, operand, kind) for operand, kind in operands]
        if semantics.approximate:
            code.lines.append(f"machine.approximate({self._mask(instruction)})")
        value = f"{code.value(semantics.compute)}({', '.join(sources)})"
        values = [value]
        if semantics.also:
            code.lines.append(f"results = {value}")
            values = ["results[0]", "results[1]"]
        if self._shadows is not None:
            self._shadows.compute(instruction, semantics, sources)
        for target, computed, kind in zip(targets, values, (semantics.result, semantics.also), strict=False):
            code.assign(instruction, target, computed, kind)
            if self._shadows is not None:
                self._shadows.assign(instruction, target, "shadow", kind)

    def _execute(self, instruction: Instruction, semantics: Execute) -> None:
        code, operands = self._code, list(instruction.operands)
        required = len(semantics.operands) if semantics.required < 0 else semantics.required
        if not required <= len(operands) <= len(semantics.operands):
            raise unsupported(instruction)
        sources_given: list[str] = []
        results: list[tuple[Operand, str]] = []
        for spec, operand in zip(semantics.operands, operands, strict=False):
            registers = operand if isinstance(operand, tuple) else (operand,)
            if spec.constants and operand not in [Constant(each) for each in spec.constants]:
                raise unsupported(instruction)
            if spec.role == "address":
                sources_given.append(f"[{code.address(instruction, operand)}]")
            elif spec.role == "tensor":
                sources_given.append(f"[{', '.join(code.tensor(instruction, operand))}]")
            elif spec.role != "ignored":
                if spec.role in ("result", "both"):
                    results += _results(instruction, spec, registers)
                elif spec.count and len(registers) != spec.count:
                    raise _miscounted(instruction, spec, registers)
                if spec.role != "result":
                    sources = [code.source(instruction, register, spec.type) for register in registers]
                    sources_given.append(f"[{', '.join(sources)}]")
        run = semantics.run if semantics.bound is None else semantics.bound(self._capability)
        if semantics.unread is not None and self._read.isdisjoint(register for register, _ in results):
            run, results = semantics.unread, []
        at, mask = code.value(instruction), self._mask(instruction)
        code.lines.append(f"execution = Execution(machine, {mask}, {at})")
        executed = f"results = {code.value(run)}({', '.join(('execution', *sources_given))})"
        if results:
            code.lines.append(executed)
        if self._shadows is not None:
            self._shadows.execute(instruction, semantics, sources_given, results)
        if not results:
            # The shadows of what it changes in memory depend on its earlier content.
            code.lines.append(executed)
        for position, (register, kind) in enumerate(results):
            code.assign(instruction, register, f"results[{position}]", kind)
            if self._shadows is not None:
                self._shadows.assign(instruction, register, f"shadows[{position}]", kind)

    def _move(self, instruction: Instruction, kind: str) -> None:
        """Translate ``mov``: a copy of a register, or parts side by side, the first in the lowest bits."""
        if len(instruction.operands) != 2:
            raise unsupported(instruction)
        target, source = instruction.operands
        if self._shadows is not None:
            self._shadows.move(instruction, target, source, kind)
        if isinstance(source, tuple):
            self._pack(instruction, target, source, kind)
        elif isinstance(target, tuple):
            self._unpack(instruction, target, source, kind)
        else:
            self._code.assign(instruction, target, self._code.source(instruction, source, kind), kind)
        if self._shadows is not None:
            self._shadows.moved(instruction, target)

    def _pack(self, instruction: Instruction, target: Operand, parts: tuple[Operand, ...], kind: str) -> None:
        code = self._code
        if kind == "b128":
            part_kind = f"b{128 // max(1, len(parts))}"
            if part_kind not in NUMPY or NUMPY[part_kind].itemsize < 4:
                raise unsupported(instruction)
            values = ", ".join(code.source(instruction, part, part_kind) for part in parts)
            code.assign(instruction, target, f"{code.value(joined)}({values})", kind)
            return
        unsigned, part_bits = _parts(instruction, parts, kind)
        terms = []
        for position, part in enumerate(parts):
            value = f"{code.source(instruction, part, f'u{part_bits}')}.astype({code.value(NUMPY[unsigned])})"
            amount = code.constant(Constant(position * part_bits), unsigned)
            terms.append(f"({value} << {amount})" if position else value)
        code.assign(instruction, target, f"({' | '.join(terms)})", unsigned)

    def _unpack(self, instruction: Instruction, parts: tuple[Operand, ...], source: Operand, kind: str) -> None:
        code = self._code
        if kind == "b128":
            if len(parts) not in (2, 4):
                raise unsupported(instruction)
            code.lines.append(f"whole = {code.value(parts_of)}({code.source(instruction, source, kind)}, {len(parts)})")
            for position, part in enumerate(parts):
                code.assign(instruction, part, f"whole[{position}]", f"b{128 // len(parts)}")
            return
        unsigned, part_bits = _parts(instruction, parts, kind)
        code.lines.append(f"whole = {code.source(instruction, source, unsigned)}")
        for position, part in enumerate(parts):
            if part != NOWHERE:
                amount = code.constant(Constant(position * part_bits), unsigned)
                value = f"(whole >> {amount}).astype({code.value(NUMPY[f'u{part_bits}'])})"
                code.assign(instruction, part, value, f"u{part_bits}")


def _results(instruction: Instruction, spec: OperandSpec, registers: tuple[Operand, ...]) -> list[tuple[Operand, str]]:
    """Return the registers that an operand is written to, each with its type."""
    types = spec.type.split("|")
    if len(types) > 1 or not spec.count:
        if len(registers) > len(types):
            raise unsupported(instruction)
        return list(zip(registers, types, strict=False))
    if len(registers) != spec.count:
        raise _miscounted(instruction, spec, registers)
    return [(register, spec.type) for register in registers]


def _miscounted(instruction: Instruction, spec: OperandSpec, registers: tuple[Operand, ...]) -> Exception:
    if effect(instruction).kind in ("load", "store", "atomic"):
        return PtxError(f"PTX {instruction.mnemonic} moves {spec.count} elements, not {len(registers)}")
    return unsupported(instruction)


def _parts(instruction: Instruction, parts: tuple[Operand, ...], kind: str) -> tuple[str, int]:
    """Return the unsigned type of a register and the bits of each of its parts."""
    bits = 8 * NUMPY[kind].itemsize
    if not parts or f"u{bits // len(parts)}" not in NUMPY or bits % len(parts):
        raise unsupported(instruction)
    return f"u{bits}", bits // len(parts)

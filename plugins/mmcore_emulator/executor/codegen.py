"""The Python of a basic block: one function over numpy arrays of lanes.

It takes the register file, the lanes that run it, and the batch's memory and barriers, and returns the predicate of the
branch or barrier that ends it, or the mask of a warp's barrier. Registers are plain local variables inside.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mmcore_emulator.errors import PtxError, UnsupportedInstruction
from mmcore_emulator.executor.compiled_block import CompiledBlock, Registers
from mmcore_emulator.executor.control_flow import polling_at
from mmcore_emulator.isa.actions import action_of
from mmcore_emulator.isa.architectures import Capability, least_capability
from mmcore_emulator.isa.atomics import atomic_operation
from mmcore_emulator.isa.barriers import barrier_kind, reduction
from mmcore_emulator.isa.entries import Action
from mmcore_emulator.isa.operations import operation
from mmcore_emulator.isa.warp_operations import collective
from mmcore_emulator.machine.barriers import Arrival, BarrierKind, Reduction
from mmcore_emulator.machine.lanes import CLOCKS, SPECIAL_REGISTERS
from mmcore_emulator.machine.memory.addresses import LOCAL_WINDOW, PARAMETER_WINDOW, SHARED_WINDOW
from mmcore_emulator.numerics.floats import Values
from mmcore_emulator.numerics.types import NUMPY
from mmcore_emulator.numerics.uint128 import joined, parts_of
from mmcore_emulator.ptx.blocks import Block
from mmcore_emulator.ptx.instructions import (
    Address,
    Instruction,
    Negated,
    Operand,
    Register,
    Symbol,
    TensorAddress,
    names,
)
from mmcore_emulator.ptx.types import TYPE_BYTES, Constant, float_value

# How an access is ordered, too, has nothing to say where all are made in order and none is left out.
_CACHE_HINTS = {
    *("weak", "volatile", "relaxed", "acquire", "release", "acq_rel", "mmio", "cta", "cluster", "gpu", "sys"),
    *("nc", "ca", "cg", "cs", "cv", "lu", "wb", "wt", "L2::64B", "L2::128B", "L2::256B"),
    *(f"L1::{kept}" for kept in ("evict_normal", "evict_unchanged", "evict_last", "evict_first", "no_allocate")),
    *(f"L2::{kept}" for kept in ("evict_normal", "evict_last", "evict_first")),
}
_POLICY = "L2::cache_hint"
_VECTORS = {"v2": 2, "v4": 4, "v8": 8}
_LARGEST_ACCESS = 16
_SPACES = {space: space for space in ("global", "shared", "local", "param", "const")}
_SPACES |= {"shared::cta": "shared", "shared::cluster": "cluster", "param::entry": "param"}
_WINDOWS = {"global": 0, "const": 0, "shared": SHARED_WINDOW, "local": LOCAL_WINDOW, "param": PARAMETER_WINDOW}
_WINDOWS |= {"shared::cta": SHARED_WINDOW, "shared::cluster": SHARED_WINDOW, "param::entry": PARAMETER_WINDOW}
_FENCES = {"membar": ((),), "fence": ((), ("acq_rel",), ("sc",), ("acquire",), ("release",))}
_RESTRICTED_FENCES = (
    ("fence", "acquire", "sync_restrict::shared::cluster", "cluster"),
    ("fence", "release", "sync_restrict::shared::cta", "cluster"),
)
_SCOPES = {"cta": "cta", "cluster": "gpu", "gpu": "gpu", "gl": "gpu", "sys": "gpu"}


# Of a register that nothing was written to: NaN in every floating-point type, which arithmetic hands on, and no index
# or address into anything. It is not the poison of memory, which says that an element was not written at all.
_UNSET_HALFWORD = 0x7FFC
_NOWHERE = Symbol("_")


class Writer:
    """Writes the Python of one function's blocks."""

    def __init__(self, symbols: dict[str, int], read: frozenset[Register], capability: Capability) -> None:
        self._symbols = symbols
        self._capability = capability
        self._read = read
        self._slots: dict[Register, int] = {}
        self._globals: dict[str, Any] = {"np": np}
        self._constants: dict[tuple[int, str], str] = {}
        self._lines: list[str] = []

    def initial_registers(self) -> Registers:
        """What every register holds before anything is written to it."""
        return [_never_set(NUMPY[register.type]) for register in self._slots]

    def step(self, block: Block) -> CompiledBlock:
        """Translate one block."""
        self._lines = []
        for instruction in block.body:
            self._instruction(instruction)
        body = self._lines
        result = self._result(block)
        entering = sorted(self._slot(register) for register in block.live_in)
        leaving = sorted((block.defines & block.live_out), key=self._slot)
        lines = [
            "def run(registers, mask, keep, machine):",
            *(f"    r{slot} = registers[{slot}]" for slot in entering),
            *(f"    {line}" for line in body),
        ]
        if leaving:
            lines.append("    if keep:")
            for register in leaving:
                slot = self._slot(register)
                lines.append(f"        registers[{slot}] = mask.merge(r{slot}, registers[{slot}])")
            lines.append("    else:")
            lines += [f"        registers[{slot}] = r{slot}" for slot in map(self._slot, leaving)]
        lines.append(f"    return {result}")
        namespace = self._globals
        exec(compile("\n".join(lines), "<translated PTX>", "exec"), namespace)
        instructions = len(block.instructions)
        barrier = barrier_kind(block.end) if block.end else None
        found = self._reduction(block.end)
        polls = polling_at(block, self._read)
        return CompiledBlock(namespace.pop("run"), block, instructions, barrier, found, polls, tuple(entering))

    def _result(self, block: Block) -> str:
        """What the machine wants to know of the instruction that ends a block."""
        end = block.end
        if end is None:
            return "None"
        if block.targets and len(end.operands) == 2 and end.guard is None:
            return self._source(end, end.operands[0], "u32")
        if block.barrier == "warp" and end.guard is None and len(end.operands) == 1:
            return self._source(end, end.operands[0], "u32")
        kind = barrier_kind(end)
        if kind is not None:
            return self._arrival(end, kind)
        if block.barrier == "cluster" and end.guard is None:
            return "None"
        if block.barrier:
            raise unsupported(end)
        return self._name(end.guard) if end.guard is not None else "None"

    def _arrival(self, end: Instruction, kind: BarrierKind) -> str:
        """``bar.sync a{, b}``, ``bar.arrive a, b``, ``bar.red p, a{, b}, c``."""
        operands = list(end.operands)
        vote = "None"
        if kind.action == "red":
            vote = self._source(end, operands.pop(), "pred") if len(operands) > 2 else "None"
            operands = operands[1:]
        if len(operands) not in ((2,) if kind.action == "arrive" else (1, 2)):
            raise unsupported(end)
        number, *count = [self._source(end, operand, "u32") for operand in operands]
        wanted = "None" if end.guard is None else f"{'~' if end.negated else ''}{self._name(end.guard)}"
        return f"{self._global(Arrival)}({wanted}, {number}, {(*count, 'None')[0]}, {vote})"

    def _reduction(self, end: Instruction | None) -> Reduction | None:
        """What threads find out together at the barrier that ends a block, if anything."""
        kind = barrier_kind(end) if end is not None else None
        if end is None or kind is None or kind.action != "red":
            return None
        target = end.operands[0]
        if not isinstance(target, Register) or NUMPY[target.type] != NUMPY[kind.kind]:
            raise unsupported(end)
        return reduction(kind, self._slot(target))

    def _slot(self, register: Register) -> int:
        return self._slots.setdefault(register, len(self._slots))

    def _name(self, register: Register) -> str:
        return f"r{self._slot(register)}"

    def _global(self, value: object) -> str:
        name = f"g{len(self._globals)}"
        self._globals[name] = value
        return name

    def _instruction(self, instruction: Instruction) -> None:
        guard = instruction.guard
        if guard is not None:
            wanted = f"~{self._name(guard)}" if instruction.negated else self._name(guard)
            self._lines.append(f"wanted = {wanted}")
        name = instruction.opcode[0]
        if self._capability < (least := least_capability(instruction.opcode)):
            raise UnsupportedInstruction(f"{_placed(instruction)} needs compute capability {least[0]}.{least[1]}")
        if action := action_of(instruction.opcode, self._capability):
            self._action(instruction, action)
            return
        if name in _FENCES:
            self._fence(instruction)
            return
        if name == "call":
            refusal = unsupported(instruction, next(names(instruction), ""))
            self._lines.append(f"machine.refuse({self._guarded_mask(instruction)}, {self._global(refusal)})")
            return
        write = {
            "ld": self._load,
            "ldu": self._load,
            "st": self._store,
            "red": self._atomic,
            "atom": self._atomic,
            "mov": self._move,
            "cvta": self._window,
            "activemask": self._active_lanes,
            **dict.fromkeys(("shfl", "vote", "match", "redux", "elect"), self._collective),
        }.get(name, self._compute)
        write(instruction)
        if guard is not None:
            self._lines.append(
                f"machine.observers.guarded({self._global(instruction)}, {self._guarded_mask(instruction)})"
            )

    def _fence(self, instruction: Instruction) -> None:
        """A fence has nothing to do where accesses are made in order, but that observers are told of it."""
        name, *kind, scope = ("", *instruction.opcode) if len(instruction.opcode) < 2 else instruction.opcode
        known = tuple(kind) in _FENCES.get(name, ()) or instruction.opcode in _RESTRICTED_FENCES
        if instruction.operands or not known or scope not in _SCOPES:
            raise unsupported(instruction)
        mask, scope = self._guarded_mask(instruction), _SCOPES[scope]
        self._lines.append(f"machine.observers.fence({scope!r}, {mask})")

    def _guarded_mask(self, instruction: Instruction) -> str:
        if instruction.guard is None:
            return "mask"
        self._lines.append("narrowed = machine.batch.narrow(mask, wanted)")
        return "narrowed"

    def _assign(self, instruction: Instruction, register: Operand, value: str, kind: str) -> None:
        """``register = value``, with ``value`` of PTX type ``kind`` and the register perhaps wider or of another."""
        if not isinstance(register, Register):
            raise unsupported(instruction)
        have, want = NUMPY[kind], NUMPY[register.type]
        if have != want:
            if have.itemsize < want.itemsize and have.kind in "iub" and want.kind in "iu":
                # A narrower result is extended by its own sign.
                wide = np.dtype(f"{have.kind if have.kind == 'i' else 'u'}{want.itemsize}")
                value = f"{value}.astype({self._global(wide)}).view({self._global(want)})"
            elif have.itemsize == want.itemsize:
                value = f"{value}.view({self._global(want)})"
            else:
                raise unsupported(instruction)
        if instruction.guard is not None:
            value = f"np.where(wanted, {value}, {self._name(register)})"
        self._lines.append(f"{self._name(register)} = {value}")

    def _source(self, instruction: Instruction, operand: Operand, kind: str) -> str:
        """An expression for ``operand`` read as PTX type ``kind``."""
        want = NUMPY[kind]
        if isinstance(operand, Constant):
            return self._constant(operand, kind)
        if isinstance(operand, Symbol):
            if operand.name in self._symbols:
                return self._constant(Constant(self._symbols[operand.name]), kind)
            if operand.name in CLOCKS:
                return self._convert(instruction, f"machine.clock({operand.name!r})", NUMPY[CLOCKS[operand.name]], want)
            if operand.name in SPECIAL_REGISTERS:
                return self._convert(instruction, f"machine.special({operand.name!r})", np.dtype(np.uint32), want)
            raise unsupported(instruction, operand.name)
        if isinstance(operand, Negated) and kind == "pred":
            return f"~{self._name(operand.register)}"
        if not isinstance(operand, Register):
            raise unsupported(instruction)
        return self._convert(instruction, self._name(operand), NUMPY[operand.type], want)

    def _convert(self, instruction: Instruction, expression: str, have: np.dtype[Any], want: np.dtype[Any]) -> str:
        if have == want:
            return expression
        if have.itemsize == want.itemsize and have.kind != "b" and want.kind != "b":
            return f"{expression}.view({self._global(want)})"
        if have.kind in "iu" and want.kind in "iu":
            # The instruction's type is narrower than the register, or a special register is read as a wider type.
            return f"{expression}.astype({self._global(want)})"
        raise unsupported(instruction)

    def _constant(self, constant: Constant, kind: str) -> str:
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
                raise PtxError(f"PTX constant of type {constant.type} stands where a {kind} should")
            self._constants[key] = self._global(value.reshape((1,) * 6))
        return self._constants[key]

    def _compute(self, instruction: Instruction) -> None:
        first = instruction.operands[0] if instruction.operands else ()
        targets: tuple[Operand, ...] = first if isinstance(first, tuple) else (first,)
        found = operation(instruction.opcode, len(targets))
        if found is None or len(instruction.operands) != 1 + len(found.sources):
            raise unsupported(instruction)
        operands = zip(instruction.operands[1:], found.sources, strict=True)
        sources = [self._source(instruction, operand, kind) for operand, kind in operands]
        if found.approximate:
            self._lines.append(f"machine.approximate({self._guarded_mask(instruction)})")
        value = f"{self._global(found.compute)}({', '.join(sources)})"
        values = [value]
        if found.also:
            self._lines.append(f"told = {value}")
            values = ["told[0]", "told[1]"]
        for target, each, kind in zip(targets, values, (found.result, found.also), strict=False):
            if target != _NOWHERE:
                self._assign(instruction, target, each, kind)

    def _collective(self, instruction: Instruction) -> None:
        """What threads of a warp find out together."""
        found, operands = collective(instruction.opcode), instruction.operands
        if found is None or len(operands) != 1 + len(found.sources):
            raise unsupported(instruction)
        targets = operands[0] if isinstance(operands[0], tuple) else operands[:1]
        if len(targets) > len(found.results):
            raise unsupported(instruction)
        each = zip(operands[1:], found.sources, strict=True)
        sources = ", ".join(self._source(instruction, operand, kind) for operand, kind in each)
        self._lines.append(f"told = machine.warps.together({self._global(found.compute)}, [{sources}], mask)")
        for position, (target, kind) in enumerate(zip(targets, found.results, strict=False)):
            if target != _NOWHERE:
                self._assign(instruction, target, f"told[{position}]", kind)

    def _action(self, instruction: Instruction, found: Action) -> None:
        """What is a function of the machine."""
        operands = list(instruction.operands)
        least = len(found.operands) if found.least < 0 else found.least
        if not least <= len(operands) <= len(found.operands):
            raise unsupported(instruction)
        given, results = [], []
        for part, operand in zip(found.operands, operands, strict=False):
            registers = operand if isinstance(operand, tuple) else (operand,)
            if part.role == "address":
                given.append(f"[{self._address(instruction, operand)}]")
            elif part.role == "tensor":
                given.append(f"[{', '.join(self._tensor(instruction, operand))}]")
            elif part.role == "ignored":
                continue
            elif part.count and len(registers) != part.count:
                raise unsupported(instruction)
            elif part.role == "result":
                results += [(register, part.type) for register in registers]
            else:
                if part.role == "both":
                    results += [(register, part.type) for register in registers]
                types = [part.type or _bits_of(each) for each in registers]
                sources = map(self._source, [instruction] * len(registers), registers, types)
                given.append(f"[{', '.join(sources)}]")
        mask, run, at = self._guarded_mask(instruction), self._global(found.run), self._global(instruction)
        self._lines.append(f"told = {run}({', '.join(['machine', mask, at, *given])})")
        for position, (register, kind) in enumerate(results):
            if register != _NOWHERE:
                self._assign(instruction, register, f"told[{position}]", kind)

    def _tensor(self, instruction: Instruction, operand: Operand) -> list[str]:
        """A tensor map's address, and coordinates in it."""
        if not isinstance(operand, TensorAddress):
            raise unsupported(instruction)
        base = self._address(instruction, Address(operand.base))
        return [base, *(self._source(instruction, each, "s32") for each in operand.coordinates)]

    def _active_lanes(self, instruction: Instruction) -> None:
        """``activemask.b32 d``: the lanes of the warp that execute it together."""
        if instruction.opcode != ("activemask", "b32") or len(instruction.operands) != 1:
            raise unsupported(instruction)
        self._assign(instruction, instruction.operands[0], "machine.warps.active(mask)", "u32")

    def _move(self, instruction: Instruction) -> None:
        if len(instruction.opcode) != 2 or len(instruction.operands) != 2 or instruction.opcode[1] not in NUMPY:
            raise unsupported(instruction)
        target, source = instruction.operands
        kind = instruction.opcode[1]
        if isinstance(source, tuple):
            self._pack(instruction, target, source, kind)
        elif isinstance(target, tuple):
            self._unpack(instruction, target, source, kind)
        else:
            self._assign(instruction, target, self._source(instruction, source, kind), kind)

    def _parts(self, instruction: Instruction, parts: tuple[Any, ...], kind: str) -> tuple[str, int]:
        """Unsigned type of the whole, and bits of a part."""
        bits = 8 * NUMPY[kind].itemsize
        if not parts or f"u{bits // len(parts)}" not in NUMPY or bits % len(parts):
            raise unsupported(instruction)
        return f"u{bits}", bits // len(parts)

    def _pack(self, instruction: Instruction, target: Operand, parts: tuple[Any, ...], kind: str) -> None:
        """``mov.b32 d, {low, high}``: the parts side by side, the first in the lowest bits."""
        if kind == "b128":
            each = f"b{128 // max(1, len(parts))}"
            given = ", ".join(self._sources(instruction, list(parts), each)) if each in NUMPY else ""
            if not given or NUMPY[each].itemsize < 4:
                raise unsupported(instruction)
            self._assign(instruction, target, f"{self._global(joined)}({given})", kind)
            return
        whole, part_bits = self._parts(instruction, parts, kind)
        terms = []
        for position, part in enumerate(parts):
            value = f"{self._source(instruction, part, f'u{part_bits}')}.astype({self._global(NUMPY[whole])})"
            amount = self._constant(Constant(position * part_bits), whole)
            terms.append(f"({value} << {amount})" if position else value)
        self._assign(instruction, target, f"({' | '.join(terms)})", whole)

    def _unpack(self, instruction: Instruction, parts: tuple[Any, ...], source: Operand, kind: str) -> None:
        """``mov.b32 {low, high}, a``."""
        if kind == "b128":
            if len(parts) not in (2, 4):
                raise unsupported(instruction)
            whole = f"{self._global(parts_of)}({self._source(instruction, source, kind)}, {len(parts)})"
            self._lines.append(f"whole = {whole}")
            for position, part in enumerate(parts):
                if part != _NOWHERE:
                    self._assign(instruction, part, f"whole[{position}]", f"b{128 // len(parts)}")
            return
        whole, part_bits = self._parts(instruction, parts, kind)
        self._lines.append(f"whole = {self._source(instruction, source, whole)}")
        for position, part in enumerate(parts):
            if part == _NOWHERE:
                continue
            amount = self._constant(Constant(position * part_bits), whole)
            value = f"(whole >> {amount}).astype({self._global(NUMPY[f'u{part_bits}'])})"
            self._assign(instruction, part, value, f"u{part_bits}")

    def _window(self, instruction: Instruction) -> None:
        """cvta: between addresses of one memory and generic ones, which differ by where the memory's window begins."""
        to = instruction.opcode[1:2] == ("to",)
        parts = instruction.opcode[1 + to :]
        if len(parts) != 2 or parts[0] not in _WINDOWS or parts[1] != "u64" or len(instruction.operands) != 2:
            raise unsupported(instruction)
        begin, kind = _WINDOWS[parts[0]], parts[1]
        value = self._source(instruction, instruction.operands[1], kind)
        if begin:
            value = f"({value} {'-' if to else '+'} {self._constant(Constant(begin), kind)})"
        self._assign(instruction, instruction.operands[0], value, kind)

    def _access(self, instruction: Instruction) -> tuple[str, int, str]:
        """(space, elements of the vector, element type) of a load or store."""
        space, count, kind = "generic", 1, ""
        for part in instruction.opcode[1:]:
            if part in _SPACES:
                space = _SPACES[part]
            elif part in _VECTORS:
                count = _VECTORS[part]
            elif part in NUMPY and part not in ("pred", "f16", "bf16") and not kind:
                kind = part
            elif part not in _CACHE_HINTS and part != _POLICY:
                raise unsupported(instruction)
        if not kind or count * NUMPY[kind].itemsize > _LARGEST_ACCESS:
            raise unsupported(instruction)
        return space, count, kind

    def _address(self, instruction: Instruction, operand: Operand) -> str:
        if not isinstance(operand, Address):
            raise unsupported(instruction)
        total, base = operand.offset, operand.base
        if isinstance(base, Register):
            dtype = NUMPY[base.type]
            if dtype.kind != "u" or dtype.itemsize < 4:
                raise unsupported(instruction)
            # Of 32 bits, as addresses of shared memory may be, the sum wraps at 32.
            kind = f"u{8 * dtype.itemsize}"
            expression = self._name(base)
            if total:
                expression = f"({expression} + {self._constant(Constant(total), kind)})"
            return expression if dtype.itemsize == 8 else f"{expression}.astype(np.uint64)"
        origin = base.bits if isinstance(base, Constant) else self._symbols.get(getattr(base, "name", ""))
        if origin is None:
            raise unsupported(instruction)
        return self._constant(Constant((origin + total) & (2**64 - 1)), "u64")

    def _elements(self, instruction: Instruction, operand: Operand, count: int) -> tuple[Operand, ...]:
        elements = operand if isinstance(operand, tuple) else (operand,)
        if len(elements) != count:
            raise PtxError(f"PTX {instruction.mnemonic} moves {count} elements, not {len(elements)}")
        return elements

    def _load(self, instruction: Instruction) -> None:
        space, count, kind = self._access(instruction)
        self._check_operands(instruction)
        targets = self._elements(instruction, instruction.operands[0], count)
        mask, at, dtype = self._guarded_mask(instruction), self._global(instruction), self._global(NUMPY[kind])
        address = self._address(instruction, instruction.operands[1])
        loaded = [f"loaded{position}" for position in range(count)]
        call = f"machine.memory.load({space!r}, {address}, {dtype}, {count}, {mask}, {at})"
        self._lines.append(f"[{', '.join(loaded)}] = {call}")
        # The last of the elements may go to the register that the address came from.
        for target, value in zip(targets, loaded, strict=True):
            if target != _NOWHERE:
                self._assign(instruction, target, value, kind)

    def _store(self, instruction: Instruction) -> None:
        space, count, kind = self._access(instruction)
        self._check_operands(instruction)
        if space in ("param", "const"):
            raise unsupported(instruction)
        values = self._elements(instruction, instruction.operands[1], count)
        mask, at, dtype = self._guarded_mask(instruction), self._global(instruction), self._global(NUMPY[kind])
        address = self._address(instruction, instruction.operands[0])
        sources = [self._source(instruction, value, kind) for value in values]
        self._lines.append(f"machine.memory.store({space!r}, {address}, [{', '.join(sources)}], {dtype}, {mask}, {at})")

    def _check_operands(self, instruction: Instruction) -> None:
        if len(instruction.operands) != 2 + (_POLICY in instruction.opcode):
            raise unsupported(instruction)

    def _atomic(self, instruction: Instruction) -> None:
        """``red.op.type [a], b`` and ``atom.op.type d, [a], b{, c}``, of vectors too: element by element."""
        parts = [part for part in instruction.opcode[1:] if part not in _CACHE_HINTS]
        space = _SPACES[parts.pop(0)] if parts and parts[0] in _SPACES else "generic"
        operands = list(instruction.operands)
        if _POLICY in parts and operands:
            parts.remove(_POLICY)
            operands.pop()
        count = next((_VECTORS[part] for part in parts if part in _VECTORS), 1)
        found = atomic_operation(frozenset(parts) - _VECTORS.keys())
        target = operands.pop(0) if instruction.opcode[0] == "atom" and operands else None
        if found is None or len(operands) != (3 if "cas" in parts else 2):
            raise unsupported(instruction)
        nbytes = NUMPY[found.kind].itemsize
        if count > 1 and (not found.vectors or count * nbytes > _LARGEST_ACCESS):
            raise unsupported(instruction)
        mask, at, dtype = self._guarded_mask(instruction), self._global(instruction), self._global(NUMPY[found.kind])
        where = self._address(instruction, operands[0])
        given = [self._elements(instruction, operand, count) for operand in operands[1:]]
        targets = (None,) * count if target is None else self._elements(instruction, target, count)
        if count > 1:
            self._lines.append(f"machine.memory.check_alignment({space!r}, {where}, {count * nbytes}, {mask}, {at})")
        for number in range(count):
            sources = self._sources(instruction, [each[number] for each in given], found.kind)
            place = f"({where} + np.uint64({number * nbytes}))" if number else where
            used = targets[number] is not None and targets[number] in self._read
            if found.accumulates and not used:
                self._lines.append(
                    f"machine.memory.accumulate({space!r}, {place}, {sources[0]}, {dtype}, {mask}, {at})"
                )
                continue
            further = f"[{', '.join(sources)}], {dtype}, {self._global(found.combine)}, {mask}, {at}"
            self._lines.append(f"old{number} = machine.memory.atomic({space!r}, {place}, {further})")
        # A target may be what the address or another element came from.
        for number, each in enumerate(targets):
            if each is not None and each in self._read:
                self._assign(instruction, each, f"old{number}", found.kind)

    def _sources(self, instruction: Instruction, operands: list[Operand], kind: str) -> list[str]:
        return [self._source(instruction, operand, kind) for operand in operands]


def _bits_of(operand: Operand) -> str:
    """The PTX type of a register's bits, or of a constant's; a predicate is one."""
    if isinstance(operand, Negated) or (isinstance(operand, Register) and operand.type == "pred"):
        return "pred"
    return f"b{8 * NUMPY[operand.type].itemsize}" if isinstance(operand, Register) else "b32"


def _never_set(dtype: np.dtype[Any]) -> Values:
    """What a register of that type holds that was never written to; a predicate, which has no such value, is true."""
    if dtype.kind == "b":
        return np.ones((1,) * 6, dtype)
    return np.full(8, _UNSET_HALFWORD, np.uint16).view(dtype)[:1].reshape((1,) * 6)


def unsupported(instruction: Instruction, operand: str = "") -> UnsupportedInstruction:
    """The refusal of an instruction, by its name and its line in the .cu file."""
    return UnsupportedInstruction(f"the emulator does not know the instruction {_placed(instruction, operand)}")


def _placed(instruction: Instruction, operand: str = "") -> str:
    where = f" ({instruction.source}:{instruction.line})" if instruction.line else ""
    return f"{instruction.mnemonic}{' of ' * bool(operand)}{operand}{where}"

"""The table of instructions: what each opcode needs, reads, writes and does.

Decoding, liveness, checks of the compute capability, code generation, and the documentation's table use it.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from dataclasses import replace

from mmcore_emulator.errors import UnsupportedInstruction
from mmcore_emulator.isa import atomics, barriers, control, memory, warp_operations
from mmcore_emulator.isa.architectures import CAPABILITIES
from mmcore_emulator.isa.arithmetic import (
    approximations,
    bit_fields,
    comparisons,
    conversions,
    float_operations,
    integers,
)
from mmcore_emulator.isa.asynchronous import mbarrier_actions, remote_stores, thread_copies, wgmma_actions
from mmcore_emulator.isa.asynchronous.bulk import actions as bulk_actions
from mmcore_emulator.isa.entries import Capability, Compute, Effect, Entry, Family, Opcode, OperandSpec, Semantics, Wait
from mmcore_emulator.isa.matrix import mma, wmma
from mmcore_emulator.isa.matrix import moves as matrix_moves
from mmcore_emulator.ptx.instructions import Address, Instruction, Negated, Operand, Register, TensorAddress
from mmcore_emulator.ptx.types import FLOATS

_ARITHMETIC = (integers, bit_fields, float_operations, approximations, conversions, comparisons, memory, atomics)
_WARPS = (barriers, warp_operations, mma, wmma, matrix_moves)
_ASYNCHRONOUS = (thread_copies, mbarrier_actions, bulk_actions, remote_stores, wgmma_actions)
FAMILIES: tuple[Family, ...] = (
    *(module.FAMILY for module in _ARITHMETIC),
    barriers.FENCES,
    *(module.FAMILY for module in (*_WARPS, *_ASYNCHRONOUS, control)),
)
"""All families of instructions."""

REFUSED = {
    "mma.sp": "mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
    "wgmma.mma_async.sp": "wgmma.mma_async.sp.sync.aligned.m64n64k32.f32.f16.f16",
    "wgmma b1": "wgmma.mma_async.sync.aligned.m64n8k256.s32.b1.b1.and.popc",
    "multimem": "multimem.ld_reduce.relaxed.sys.global.add.f32",
    "fma.oob": "fma.rn.oob.f16",
    "cvta.u32": "cvta.to.global.u32",
    "alloca": "alloca.u64",
    "tex": "tex.2d.v4.f32.f32",
    "suld": "suld.b.1d.b32.trap",
    "vadd4": "vadd4.u32.u32.u32",
}
"""Unsupported instructions of PTX, with an opcode of each."""
GATHER = "gather"
"""The first part of an opcode at which threads of a warp wait for others; the next instruction's opcode follows."""


def _gathering(opcode: Opcode) -> Wait:
    effect = effect_of(opcode[1:])
    return Wait("warp", (OperandSpec("source", "u32"),), None, True, effect.elects, effect.members == "all")


_GATHERINGS = Family("", (Entry(GATHER, _gathering),))
_ORDERS = frozenset(("volatile", "relaxed", "acquire", "release", "acq_rel", "nc"))
_NARROW = {
    "f16": "float16", "bf16": "bfloat16", "tf32": "tf32", "e4m3": "float8_e4m3fn", "e5m2": "float8_e5m2",
}  # fmt: skip
_FUSED = 2  # operations of a multiply-add
_PAIR = "x2"  # the end of a type of two numbers
_SCOPES = ("cta", "cluster", "gpu", "gl", "sys")


@functools.cache
def _exact() -> dict[str, tuple[Compute, Family]]:
    """Return the instructions that are listed by their whole opcode."""
    return {opcode: (compute, family) for family in FAMILIES for opcode, compute in family.exact()}


@functools.cache
def _entries() -> dict[str, list[tuple[Entry, Family]]]:
    """Return the entries by the first part of their opcodes."""
    entries: dict[str, list[tuple[Entry, Family]]] = {}
    for family in (*FAMILIES, _GATHERINGS):
        for entry in family.entries:
            for word in entry.words:
                entries.setdefault(word, []).append((entry, family))
    return entries


def _matching(opcode: Opcode) -> Iterator[tuple[Entry, Family]]:
    name = ".".join(opcode)
    for entry, family in _entries().get(opcode[0], ()):
        if re.fullmatch(entry.pattern, name):
            yield entry, family


@functools.cache
def semantics_of(opcode: Opcode, results: int = 1) -> Semantics | None:
    """Return the semantics of an opcode with a number of results; None for an unsupported opcode."""
    exact = _exact().get(".".join(opcode))
    if exact is not None:
        return exact[0] if results == 1 + bool(exact[0].also) else None
    for entry, _ in _matching(opcode):
        semantics = entry.semantics(opcode, results)
        if semantics is not None:
            fits = not isinstance(semantics, Compute) or results == 1 + bool(semantics.also)
            return semantics if fits else None
    return None


def operation(opcode: Opcode, results: int = 1) -> Compute | None:
    """Return the semantics of an opcode that computes from registers alone; None for any other."""
    semantics = semantics_of(opcode, results)
    return semantics if isinstance(semantics, Compute) else None


def decode(instruction: Instruction) -> Semantics | None:
    """Return the semantics of an instruction; None for an unsupported one."""
    first = instruction.operands[0] if instruction.operands else ()
    return semantics_of(instruction.opcode, len(first) if isinstance(first, tuple) else 1)


@functools.cache
def effect_of(opcode: Opcode) -> Effect:
    """Return the effect of an opcode, apart from computing registers."""
    entry, family = next(_matching(opcode), (None, None))
    families = [related for related in (family, _exact().get(".".join(opcode), (None, None))[1]) if related is not None]
    is_float = opcode[-1].removesuffix(_PAIR) in (*FLOATS, "f16", "bf16")
    of_number = max((related.flops.get(opcode[0], 0) for related in families if is_float), default=0)
    flops = of_number * (2 if opcode[-1].endswith(_PAIR) else 1)
    fmas = flops // _FUSED if of_number == _FUSED else 0
    effect = Effect() if entry is None else entry.effect
    passes = effect.passes or (not flops and any(opcode[0] in related.passes for related in families))
    scope = next((part for part in _SCOPES if part in opcode), "")
    order = _ORDERS.intersection(opcode)
    return replace(effect, type=opcode[-1], order=order, scope=scope, flops=flops, fmas=fmas, passes=passes)


def effect(instruction: Instruction) -> Effect:
    """Return the effect of an instruction, apart from computing registers."""
    return effect_of(instruction.opcode)


def is_of_shared_memory(instruction: Instruction) -> bool:
    """Return whether an instruction's opcode names shared memory."""
    return "shared" in instruction.opcode


def rounded_type(instruction: Instruction) -> str:
    """Return the type that an instruction's result is rounded to if it has fewer digits than float32, else ""."""
    parts = (each.removesuffix(_PAIR) for each in instruction.opcode)
    return _NARROW.get(next((each for each in parts if each in (*_NARROW, *FLOATS)), ""), "")


@functools.cache
def least_capability(opcode: Opcode) -> Capability:
    """Return the least compute capability that has an opcode; the least emulated one if all have it."""
    name = ".".join(opcode)
    families = {id(family): family for _, family in _entries().get(opcode[0], ())}
    if name in _exact():
        families[id(_exact()[name][1])] = _exact()[name][1]
    capabilities = [
        capability
        for family in families.values()
        for capability, pattern in family.since
        if re.fullmatch(pattern, name)
    ]
    return max(capabilities, default=min(CAPABILITIES.values()))


def check_supported(instruction: Instruction, capability: Capability) -> Semantics:
    """Return the semantics of an instruction on a compute capability.

    Raises:
        UnsupportedInstruction: the capability lacks it, or the emulator does not support it.
    """
    least = least_capability(instruction.opcode)
    if capability < least:
        raise UnsupportedInstruction(f"{placed(instruction)} needs compute capability {least[0]}.{least[1]}")
    semantics = decode(instruction)
    if semantics is None:
        raise unsupported(instruction)
    return semantics


def unsupported(instruction: Instruction, operand: str = "") -> UnsupportedInstruction:
    """Return the refusal of an instruction, with its name and its line in the source."""
    return UnsupportedInstruction(f"the emulator does not know the instruction {placed(instruction, operand)}")


def placed(instruction: Instruction, operand: str = "") -> str:
    """Return an instruction's name and source line, for messages."""
    where = f" ({instruction.source}:{instruction.line})" if instruction.line else ""
    return f"{instruction.mnemonic}{' of ' * bool(operand)}{operand}{where}"


def operands(instruction: Instruction) -> Iterator[tuple[OperandSpec, Operand]]:
    """Yield the operands of an instruction with their specifications; none for an unsupported one."""
    semantics = decode(instruction)
    if semantics is not None:
        yield from zip(semantics.operands, instruction.operands, strict=False)


def reads(instruction: Instruction) -> Iterator[Register]:
    """Yield the registers that an instruction reads.

    A guarded instruction also reads its destinations, because the old value remains where the guard is false.
    """
    if instruction.guard is not None:
        yield instruction.guard
    for spec, operand in operands(instruction):
        if spec.role != "result" or instruction.guard is not None:
            yield from _registers(operand)


def destinations(instruction: Instruction) -> tuple[Register, ...]:
    """Return the registers that an instruction writes."""
    return tuple(
        register
        for spec, operand in operands(instruction)
        if spec.role in ("result", "both")
        for register in _registers(operand)
    )


def _registers(operand: Operand) -> Iterator[Register]:
    for part in operand if isinstance(operand, tuple) else (operand,):
        if isinstance(part, TensorAddress):
            yield from _registers(part.coordinates)
        if isinstance(part, Address | TensorAddress):
            part = part.base
        elif isinstance(part, Negated):
            part = part.register
        if isinstance(part, Register):
            yield part

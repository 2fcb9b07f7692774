"""The components of an instruction table: families, entries, operands, effects, and the semantics of an instruction."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from mmcore_emulator.machine.barriers import BarrierKind
from mmcore_emulator.numerics.floats import Values

Opcode: TypeAlias = tuple[str, ...]
"""The parts of an opcode, such as ("ld", "global", "f32")."""
Capability: TypeAlias = tuple[int, int]
Function: TypeAlias = Callable[..., Any]
"""A map from arrays to an array, or to two."""
Run: TypeAlias = Callable[..., Sequence[Values]]
"""A function ``run(machine, mask, at, *operands)``: its arguments are a list of lanes for each source operand.

It returns the results.
"""


@dataclass(frozen=True)
class OperandSpec:
    """An operand.

    Attributes:
        role: "result", "source", "both", "address", "tensor" (a map's address and coordinates), or "ignored".
        type: PTX type that each of its registers is read or written as; "" for bits, as many as the register has.
            "b32|pred" is a result and another, optional one.
        count: number of registers; 0 for any.
    """

    role: str
    type: str = "b32"
    count: int = 1


@dataclass(frozen=True)
class Compute:
    """The semantics of an instruction that computes results from registers alone.

    Attributes:
        compute: maps the source arrays to the result array, or to two.
        sources: PTX type that each source operand is read as.
        result: PTX type of the result.
        also: PTX type of the second result, if ``compute`` returns two.
        approximate: true if the result's bits are not specified.
        rule: dependence of result bits on source bits: "and", "or", "xor", "not", "shift" (by the second source),
            "select" (by the third); "" if each may depend on all.
    """

    compute: Function
    sources: tuple[str, ...]
    result: str
    also: str = ""
    approximate: bool = False
    rule: str = ""

    @property
    def operands(self) -> tuple[OperandSpec, ...]:
        """The operands in the order in which they are written."""
        return OperandSpec("result", self.result, 0), *(OperandSpec("source", kind) for kind in self.sources)


@dataclass(frozen=True)
class MemoryAccess:
    """A load or store of registers.

    Attributes:
        kind: "load" or "store"; the address is the first operand, the elements of a store are the second.
        space: the memory, as in :meth:`~mmcore_emulator.machine.memory.address_spaces.AddressSpaces.load`.
        dtype: type of the elements.
    """

    kind: str
    space: str
    dtype: np.dtype[np.generic]


@dataclass(frozen=True)
class Execute:
    """The semantics of an instruction that acts on the machine.

    Attributes:
        run: executes the instruction.
        operands: operands in the order in which they are written; optional ones are the last.
        required: number of required operands; all by default.
        unread: executes the instruction if no result is read; ``run`` by default.
        memory: the access, if the instruction does nothing else.
        shuffle: moves the first source between the lanes of a warp, if the instruction does nothing else.
        bound: returns ``run`` for a compute capability, for arithmetic that differs by architecture.
    """

    run: Run | None
    operands: tuple[OperandSpec, ...] = ()
    required: int = -1
    unread: Run | None = None
    memory: MemoryAccess | None = None
    shuffle: Callable[..., Sequence[Values]] | None = None
    bound: Callable[[Capability], Run] | None = None


@dataclass(frozen=True)
class Move:
    """The semantics of ``mov``: it moves registers, or packs and unpacks them, as bits of a PTX type."""

    type: str
    operands: tuple[OperandSpec, ...] = (OperandSpec("result", "", 0), OperandSpec("source", "", 0))


@dataclass(frozen=True)
class Jump:
    """The semantics of an instruction that ends a basic block: "branch", "branch by index" or "exit"."""

    kind: str
    operands: tuple[OperandSpec, ...] = ()


@dataclass(frozen=True)
class Wait:
    """The semantics of a barrier, which ends a basic block.

    Attributes:
        threads: threads that the barrier belongs to: those of a "warp", a "block" or a "cluster".
        operands: operands of the instruction.
        barrier: kind of a block's barrier.
        gathers: true if it precedes an instruction that threads of a warp execute together.
        orders: true if it orders accesses to memory.
        is_whole: true if all threads of a warp execute the following instruction.
    """

    threads: str
    operands: tuple[OperandSpec, ...] = ()
    barrier: BarrierKind | None = None
    gathers: bool = False
    orders: bool = True
    is_whole: bool = False


Semantics: TypeAlias = Compute | Execute | Move | Jump | Wait
"""The semantics of an instruction."""


@dataclass(frozen=True)
class Effect:
    """The effect of an instruction, apart from computing registers.

    Attributes:
        kind: "compute", "compare", "move", "load", "store", "remote store", "atomic", "matrix move", "fragment move",
            "product", "warpgroup", "copy" (of threads), "bulk copy", "mbarrier", "cluster address" or "control".
        verb: its effect on memory, in messages: "reads", "writes", "adds to" …
        writes: true if it writes to memory, or publishes something to other threads.
        polls: "always" or "if read" (its result) if it reads a value that other threads may write; else "".
        members: the threads of a warp that execute it together: "all", "named" by its last operand, or "".
        elects: true if one of these threads acts for all of them.
        flops: floating-point operations of a thread.
        type: PTX type of its elements, the last part of the opcode.
        order: memory orderings in the opcode: "volatile", "relaxed", "acquire", "release", "acq_rel", "nc".
        scope: scope in the opcode: "cta", "cluster", "gpu", "sys"; "" for none.
        step: instruction within its kind: "init", "fence", "commit", "wait", "ldmatrix" …; "reduce" if it combines its
            operand with the element in memory.
        passes: true if the value of a flag may flow through it to a comparison.
    """

    kind: str = "compute"
    verb: str = ""
    writes: bool = False
    polls: str = ""
    members: str = ""
    elects: bool = False
    flops: int = 0
    type: str = ""
    order: frozenset[str] = frozenset()
    scope: str = ""
    step: str = ""
    passes: bool = False

    @property
    def strong(self) -> bool:
        """True if other threads may access the same element at the same time."""
        return not self.order.isdisjoint(("volatile", "relaxed", "acquire", "release", "acq_rel"))


@dataclass(frozen=True)
class Entry:
    """Instructions of one kind.

    Attributes:
        name: name in the documentation; its first word, or words separated by "|", begin the opcode.
        build: returns the semantics of an opcode with a number of results; None for an unsupported opcode.
        pattern: regular expression of the whole opcode; any by default.
        effect: effect of all of them.
    """

    name: str
    build: Callable[[Opcode, int], Semantics | None]
    pattern: str = ".*"
    effect: Effect = Effect()

    @property
    def words(self) -> tuple[str, ...]:
        """The first parts of the opcodes."""
        return tuple(self.name.partition(".")[0].split("|"))


@dataclass(frozen=True)
class Family:
    """Related entries.

    Attributes:
        title: title in the documentation's table.
        entries: the instructions; the first entry that matches an opcode counts.
        exact: returns opcodes with their semantics.
        since: least compute capabilities by regular expressions of opcodes; the largest match counts.
        flops: floating-point operations of a thread by the first part of an opcode.
        passes: first parts of the opcodes through which the value of a flag may flow to a comparison.
    """

    title: str
    entries: tuple[Entry, ...] = ()
    exact: Callable[[], Iterable[tuple[str, Compute]]] = tuple
    since: tuple[tuple[Capability, str], ...] = ()
    flops: Mapping[str, int] = field(default_factory=dict)
    passes: tuple[str, ...] = ()


def always(semantics: Semantics) -> Callable[[Opcode, int], Semantics | None]:
    """Return a builder of the same semantics for every opcode."""
    return lambda opcode, results: semantics


def of_opcode(build: Callable[[Opcode], Semantics | None]) -> Callable[[Opcode, int], Semantics | None]:
    """Return a builder that ignores the number of results."""
    return lambda opcode, results: build(opcode)


def nothing(*_: object) -> tuple[()]:
    """Execute an instruction without effect in an emulator that makes all accesses in order."""
    return ()


IGNORED = OperandSpec("ignored")
CACHE_HINT: tuple[Capability, str] = ((8, 0), r".*\.L2::(cache_hint|256B)(\..*)?")
CLUSTER_SPACE: tuple[Capability, str] = ((9, 0), r".*\.(shared::)?cluster(\..*)?")

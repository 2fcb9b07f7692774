"""The parts of an instruction table: families, entries, operands, effects, and what executes an instruction."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from mmcore_emulator.machine.barriers import BarrierKind
from mmcore_emulator.numerics.floats import Values

Opcode: TypeAlias = tuple[str, ...]
"""The parts of an opcode, as in ("ld", "global", "f32")."""
Capability: TypeAlias = tuple[int, int]
Function: TypeAlias = Callable[..., Any]
"""Maps arrays to an array, or to two."""
Run: TypeAlias = Callable[..., Sequence[Values]]
"""``run(machine, mask, at, *operands)`` takes a list of lanes for each source operand, and returns the results."""


@dataclass(frozen=True)
class OperandSpec:
    """An operand.

    Attributes:
        role: "result", "source", "both", "address", "tensor" (a map's address and coordinates), or "ignored".
        type: PTX type that each of its registers is read or written as; "" for bits, as many as the register has.
            "b32|pred" is a result and another one that may be left out.
        count: number of registers; 0 for any.
    """

    role: str
    type: str = "b32"
    count: int = 1


@dataclass(frozen=True)
class Compute:
    """Computes results from registers alone.

    Attributes:
        compute: maps the source arrays to the result array, or to two.
        sources: PTX type that each source operand is read as.
        result: PTX type of the result.
        also: PTX type of the second result, if ``compute`` returns two.
        approximate: whether the result's bits are not specified.
        rule: how bits of the result depend on those of the sources: "and", "or", "xor", "not", "shift" (by the second
            source), "select" (by the third); "" if each may depend on all.
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
        return OperandSpec("result", self.result, 0), *(OperandSpec("source", each) for each in self.sources)


@dataclass(frozen=True)
class MemoryAccess:
    """A load or store of registers.

    Attributes:
        kind: "load" or "store"; the address is the first operand, the elements of a store are the second.
        space: the memory, as of :meth:`~mmcore_emulator.machine.memory.address_spaces.AddressSpaces.load`.
        dtype: type of the elements.
    """

    kind: str
    space: str
    dtype: np.dtype[np.generic]


@dataclass(frozen=True)
class Execute:
    """Acts on the machine.

    Attributes:
        run: what executes it.
        operands: in the order in which they are written; optional ones are the last.
        required: how many operands there must be; all by default.
        unread: what executes it where no result is read, if that is another function.
        memory: the access, if that is all that it does.
        shuffle: the function that moves the first source between the lanes of a warp, if that is all that it does.
        bound: for arithmetic that differs by architecture: returns ``run`` for a compute capability.
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
    """Moves registers, or packs and unpacks them (``mov``), as bits of a PTX type."""

    type: str
    operands: tuple[OperandSpec, ...] = (OperandSpec("result", "", 0), OperandSpec("source", "", 0))


@dataclass(frozen=True)
class Jump:
    """Ends a basic block: "branch", "branch by index" or "exit"."""

    kind: str
    operands: tuple[OperandSpec, ...] = ()


@dataclass(frozen=True)
class Wait:
    """Ends a basic block at a barrier of the threads of a "warp", a "block" or a "cluster".

    Attributes:
        threads: whose barrier it is.
        operands: those of the instruction.
        barrier: of a block's: what it does.
        gathers: whether it stands before an instruction that threads of a warp execute together.
        orders: whether it orders accesses to memory.
        is_whole: whether the instruction behind it is one of all threads of a warp.
    """

    threads: str
    operands: tuple[OperandSpec, ...] = ()
    barrier: BarrierKind | None = None
    gathers: bool = False
    orders: bool = True
    is_whole: bool = False


Semantics: TypeAlias = Compute | Execute | Move | Jump | Wait
"""What executes an instruction."""


@dataclass(frozen=True)
class Effect:
    """What an instruction does beside computing registers.

    Attributes:
        kind: "compute", "compare", "move", "load", "store", "remote store", "atomic", "matrix move", "fragment move",
            "product", "warpgroup", "copy" (of threads), "bulk copy", "mbarrier", "cluster address" or "control".
        verb: what it does with memory, in messages: "reads", "writes", "adds to" …
        writes: whether it writes to memory, or makes something known to other threads.
        polls: whether it asks for a value that other threads may have written: "always", "if read" (its result), "".
        members: which threads of a warp execute it together: "all", "named" by its last operand, or "".
        elects: whether one of these threads acts for all of them.
        flops: floating-point operations of a thread.
        type: PTX type of its elements, the last part of the opcode.
        order: the memory orderings that it names: "volatile", "relaxed", "acquire", "release", "acq_rel", "nc".
        scope: the scope that it names: "cta", "cluster", "gpu", "sys"; "" for none.
        step: which instruction of its kind it is: "init", "fence", "commit", "wait", "ldmatrix" …; "reduce" of one that
            combines what it brings with what is there.
        passes: whether the value of a flag may flow through it to a comparison.
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
        """Whether other threads may access the same element meanwhile."""
        return not self.order.isdisjoint(("volatile", "relaxed", "acquire", "release", "acq_rel"))


@dataclass(frozen=True)
class Entry:
    """Instructions of one kind.

    Attributes:
        name: as the documentation calls them; its first word, or words with "|" between, begin the opcode.
        build: returns what executes an opcode, with so many results; None for an opcode that is not supported.
        pattern: regular expression of the whole opcode; any by default.
        effect: what they have in common.
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
    """Entries that belong together.

    Attributes:
        title: of the documentation's table.
        entries: the instructions; of several that fit an opcode the first counts.
        exact: returns opcodes and what computes them.
        since: the least compute capabilities of opcodes, by regular expressions; the largest of those that fit counts.
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
    """Return a builder that does not look at the number of results."""
    return lambda opcode, results: build(opcode)


def nothing(*_: object) -> tuple[()]:
    """Execute an instruction that has no effect where every access is made in order."""
    return ()


IGNORED = OperandSpec("ignored")
CACHE_HINT: tuple[Capability, str] = ((8, 0), r".*\.L2::(cache_hint|256B)(\..*)?")
CLUSTER_SPACE: tuple[Capability, str] = ((9, 0), r".*\.(shared::)?cluster(\..*)?")

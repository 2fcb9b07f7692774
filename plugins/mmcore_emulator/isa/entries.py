"""The components of an instruction table: families, entries, operands, effects, and the semantics of an instruction."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from mmcore_emulator.machine.barriers import BarrierKind
from mmcore_emulator.numerics.types import DType, Values
from mmcore_emulator.tensor_cores.arithmetic import Arithmetic

Opcode: TypeAlias = tuple[str, ...]
"""The parts of an opcode, such as ("ld", "global", "f32")."""
Capability: TypeAlias = tuple[int, int]
Function: TypeAlias = Callable[..., Any]
"""A map from arrays to an array, or to two."""
Run: TypeAlias = Callable[..., Sequence[Values] | None]
"""A function ``run(execution, *operands)`` that returns the results; each source operand is a list of lanes."""


@dataclass(frozen=True)
class OperandSpec:
    """An operand."""

    role: str  # "result", "source", "both", "address", "tensor" (a map's address and coordinates), or "ignored"
    # PTX type that each of its registers is read or written as; "" for bits, as many as the register has. "b32|pred" is
    # a result and another, optional one.
    type: str = "b32"
    count: int = 1  # number of registers; 0 for any
    constants: tuple[int, ...] = ()  # the only constants that it may be; empty for any operand


@dataclass(frozen=True)
class Compute:
    """The semantics of an instruction that computes results from registers alone."""

    compute: Function  # maps the source arrays to the result array, or to two
    sources: tuple[str, ...]  # PTX type that each source operand is read as
    result: str  # PTX type of the result
    also: str = ""  # PTX type of the second result, if ``compute`` returns two
    approximate: bool = False  # true if the result's bits are not specified
    # Dependence of result bits on source bits: "and", "or", "xor", "not", "shift" (by the second source), "select" (by
    # the third); "" if each may depend on all.
    rule: str = ""
    # The result as a polynomial of the sources, apart from rounding: "add", "sub", "mul", "fma", "neg", "copy" (a
    # conversion), "div" (by a number that depends on no matrix), "dot4" (a sum of products of bytes), "pair" (two
    # sources in the halves of a register, the second in the lower one). "bits" combines or moves bits, "select" is
    # ``selp``. "" for a result that is no polynomial.
    algebra: str = ""
    data: int = 0  # of "bits", the number of the first sources that hold the bits; 0 for all
    unit: float = 0.0  # bound of the relative error of rounding the result; 0 if it is exact
    number: str = ""  # PTX type of the number in the result, if ``result`` has only its bits
    halves: str = ""  # PTX type of the halves of the result; "" for one number
    halves_of: str = ""  # PTX type of the halves of the sources, if they differ from the result's

    @property
    def operands(self) -> tuple[OperandSpec, ...]:
        """The operands in the order in which they are written."""
        return OperandSpec("result", self.result, 0), *(OperandSpec("source", kind) for kind in self.sources)


@dataclass(frozen=True)
class MemoryAccess:
    """A load or store of registers."""

    # "load", "store", "add" or "change"; the address is the first operand, the elements of a store are the second
    kind: str
    space: str  # the memory, as in :meth:`~mmcore_emulator.machine.memory.address_spaces.AddressSpaces.load`
    dtype: DType  # type of the elements
    type: str = ""  # their PTX type, of an addition


@dataclass(frozen=True)
class MatrixProduct:
    """A product of matrices in registers or shared memory."""

    kind: Any  # its shape and types
    arithmetic: Callable[[Capability], Arithmetic]  # the rounding of its sums


@dataclass(frozen=True)
class Execute:
    """The semantics of an instruction that acts on the machine."""

    run: Run | None  # executes the instruction
    # Operands in the order in which they are written; optional ones are the last.
    operands: tuple[OperandSpec, ...] = ()
    required: int = -1  # number of required operands; all by default
    unread: Run | None = None  # executes the instruction if no result is read; ``run`` by default
    memory: MemoryAccess | None = None  # the access, if the instruction does nothing else
    # Moves the first source between the lanes of a warp, if the instruction does nothing else.
    shuffle: Callable[..., Sequence[Values]] | None = None
    # If it moves bytes as they are, and does nothing else to elements: the numbers of the operands whose bytes move,
    # counted without the results. Bytes that it loads move too.
    moves: tuple[int, ...] | None = None
    product: MatrixProduct | None = None  # the product of matrices that it computes
    # Of such a product, the numbers of the operands with the sums that it adds to and, if there is one, with the
    # predicate that has it add to them, counted without the results.
    sums: tuple[int, ...] = ()
    stores: str = ""  # the memory to which it stores a fragment of a matrix, its second operand; "" for none
    adds: MemoryAccess | None = None  # the elements in memory that it adds its second operand to
    changes: MemoryAccess | None = None  # the elements in memory that it combines with its second operand otherwise
    reduces: Any = None  # the bulk copy, if it combines its elements with those where they arrive
    # Returns ``run`` for a compute capability, for arithmetic that differs by architecture.
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
    """The semantics of a barrier, which ends a basic block."""

    threads: str  # threads that the barrier belongs to: those of a "warp", a "block" or a "cluster"
    operands: tuple[OperandSpec, ...] = ()  # operands of the instruction
    barrier: BarrierKind | None = None  # kind of a block's barrier
    gathers: bool = False  # true if it precedes an instruction that threads of a warp execute together
    orders: bool = True  # true if it orders accesses to memory
    is_whole: bool = False  # true if all threads of a warp execute the following instruction


Semantics: TypeAlias = Compute | Execute | Move | Jump | Wait
"""The semantics of an instruction."""


@dataclass(frozen=True)
class Effect:
    """The effect of an instruction, apart from computing registers."""

    # "compute", "compare", "move", "load", "store", "remote store", "atomic", "matrix move", "fragment move",
    # "product", "warpgroup", "copy" (of threads), "bulk copy", "mbarrier", "cluster address" or "control".
    kind: str = "compute"
    verb: str = ""  # its effect on memory, in messages: "reads", "writes", "adds to" …
    writes: bool = False  # true if it writes to memory, or publishes something to other threads
    polls: str = ""  # "always" or "if read" (its result) if it reads a value that other threads may write; else ""
    members: str = ""  # the threads of a warp that execute it together: "all", "named" by its last operand, or ""
    elects: bool = False  # true if one of these threads acts for all of them
    flops: int = 0  # floating-point operations of a thread; those of a pair of numbers are two
    fmas: int = 0  # the fused multiply-adds among them
    type: str = ""  # PTX type of its elements, the last part of the opcode
    # Memory orderings in the opcode: "volatile", "relaxed", "acquire", "release", "acq_rel", "nc".
    order: frozenset[str] = frozenset()
    scope: str = ""  # scope in the opcode: "cta", "cluster", "gpu", "sys"; "" for none
    # Instruction within its kind: "init", "fence", "commit", "wait", "ldmatrix" …; "reduce" if it combines its operand
    # with the element in memory.
    step: str = ""
    passes: bool = False  # true if the value of a flag may flow through it to a comparison

    @property
    def strong(self) -> bool:
        """True if other threads may access the same element at the same time."""
        return not self.order.isdisjoint(("volatile", "relaxed", "acquire", "release", "acq_rel"))


@dataclass(frozen=True)
class Entry:
    """Instructions of one kind."""

    name: str  # name in the documentation; its first word, or words separated by "|", begin the opcode
    # The semantics of all of them, or a function from an opcode to its semantics; None for an unsupported opcode.
    meaning: Semantics | Callable[..., Semantics | None]
    pattern: str = ".*"  # regular expression of the whole opcode
    effect: Effect = Effect()  # effect of all of them
    counts_results: bool = False  # true if the function also takes the number of results

    @property
    def words(self) -> tuple[str, ...]:
        """The first parts of the opcodes."""
        return tuple(self.name.partition(".")[0].split("|"))

    def semantics(self, opcode: Opcode, results: int) -> Semantics | None:
        """Return the semantics of an opcode with a number of results; None for an unsupported opcode."""
        if not callable(self.meaning):
            return self.meaning
        return self.meaning(opcode, results) if self.counts_results else self.meaning(opcode)


@dataclass(frozen=True)
class Family:
    """Related entries."""

    title: str  # title in the documentation's table
    entries: tuple[Entry, ...] = ()  # the instructions; the first entry that matches an opcode counts
    exact: Callable[[], Iterable[tuple[str, Compute]]] = tuple  # returns opcodes with their semantics
    # Least compute capabilities by regular expressions of opcodes; the largest match counts.
    since: tuple[tuple[Capability, str], ...] = ()
    # Floating-point operations on a number by the first part of an opcode; a fused multiply-add is two.
    flops: Mapping[str, int] = field(default_factory=dict)
    # First parts of the opcodes through which the value of a flag may flow to a comparison.
    passes: tuple[str, ...] = ()
    # The meaning in a proof, for the documentation: "polynomial", "moves", "product", "adds", "opaque", or "none" for
    # instructions that do not see elements.
    proof: str = "none"


def nothing(*_: object) -> None:
    """Execute an instruction without effect in an emulator that makes all accesses in order."""


IGNORED = OperandSpec("ignored")
CACHE_HINT: tuple[Capability, str] = ((8, 0), r".*\.L2::(cache_hint|256B)(\..*)?")
CLUSTER_SPACE: tuple[Capability, str] = ((9, 0), r".*\.(shared::)?cluster(\..*)?")

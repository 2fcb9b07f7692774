"""Functions of PTX: instructions, their operands, and basic blocks.

Reference: NVIDIA, Parallel Thread Execution ISA.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from mmcore_emulator.ptx.declarations import Variable
from mmcore_emulator.ptx.types import Constant


@dataclass(frozen=True)
class Register:
    """A virtual register; ``type`` is as declared ("b32", "f64", "pred")."""

    name: str
    type: str


@dataclass(frozen=True)
class Symbol:
    """A name: a variable, a parameter, a label or a special register such as %tid.x."""

    name: str


@dataclass(frozen=True)
class Negated:
    """The logical complement of a predicate, ``!%p1``."""

    register: Register


Scalar: TypeAlias = Register | Constant | Symbol | Negated


@dataclass(frozen=True)
class Address:
    """Memory operand ``[base + offset]``."""

    base: Scalar
    offset: int = 0


Vector: TypeAlias = tuple[Scalar, ...]
"""``{%r1, %r2}``, or two destinations: ``%r1|%p1``."""


@dataclass(frozen=True)
class TensorAddress:
    """Memory operand ``[tensor map, {coordinates}]``, slowest coordinate last."""

    base: Scalar
    coordinates: Vector


Operand: TypeAlias = Scalar | Address | TensorAddress | Vector


@dataclass(frozen=True)
class Instruction:
    """One instruction."""

    opcode: tuple[str, ...]  # dot-separated parts, such as ("ld", "global", "f32")
    operands: tuple[Operand, ...]  # destination first
    guard: Register | None = None  # predicate register of ``@%p``, or None
    negated: bool = False  # true for ``@!%p``
    line: int = 0  # line of the .cu file; 0 if the compiler gave none
    source: str = ""  # name of that file
    column: int = 0  # column of that line, from 1; 0 if the compiler gave none
    # File and line of each call that the instruction was inlined at, the innermost first.
    callers: tuple[tuple[str, int], ...] = ()

    @property
    def mnemonic(self) -> str:
        """The opcode as written: "ld.global.f32"."""
        return ".".join(self.opcode)

    @property
    def kernel_line(self) -> int:
        """The kernel's line that leads to it, which is another if it was inlined; 0 if it is not known."""
        return self.callers[-1][1] if self.callers else self.line

    @property
    def place(self) -> str:
        """The line, with the kernel's line that leads to it if it was inlined; empty without a line."""
        called = "".join(f", called at {source}:{line}" for source, line in self.callers[-1:])
        return f"{self.source}:{self.line}{called}" if self.line else ""


@dataclass(frozen=True)
class Parameter:
    """A parameter of a function, or a ``.param`` variable of a caller: name, element type, size in bytes."""

    name: str
    type: str
    nbytes: int


@dataclass
class Function:
    """An ``.entry`` or ``.func``."""

    name: str  # its symbol
    parameters: list[Parameter]  # in order
    variables: dict[str, Variable]  # the variables of the function and of the module
    # Threads of a block, if the source limits them: at most ("maxntid") or exactly ("reqntid").
    threads: dict[str, int] = field(default_factory=dict)
    cluster: tuple[int, ...] = ()  # blocks of a cluster along x, y and z, if the source sets them
    returns: list[Parameter] = field(default_factory=list)  # results of a ``.func``
    # ``.param`` variables of its body, for arguments and results of calls, by name.
    passed: dict[str, Parameter] = field(default_factory=dict)
    body: list[Instruction] = field(default_factory=list)  # instructions in order
    labels: dict[str, int] = field(default_factory=dict)  # the index in ``body`` of the instruction after each label


def names(instruction: Instruction) -> Iterator[str]:
    """Yield the names in an instruction's operands: variables, parameters, labels, special registers."""
    for operand in instruction.operands:
        for part in operand if isinstance(operand, tuple) else (operand,):
            base = part.base if isinstance(part, Address) else part
            if isinstance(base, Symbol):
                yield base.name


EXIT = -1
"""The number of the function's end, used in place of a block."""


@dataclass
class Block:
    """A basic block: straight-line code."""

    body: list[Instruction]  # its instructions, without the one that ends it
    end: Instruction | None  # the branch, return or barrier that ends it; None where control falls through
    taken: int | None  # number of the block that the ending branch leads to; EXIT for a return, None for none
    following: int  # number of the block entered when the branch is not taken, or after the barrier; EXIT at the end
    targets: tuple[int, ...] = ()  # numbers of the blocks that ``brx.idx`` leads to, by index
    barrier: str = ""  # threads that wait at its end: those of a "warp", a "block" or a "cluster"; "" for no barrier
    # True if a warp's threads meet at its end for the next instruction, without a barrier instruction.
    gathers: bool = False
    orders: bool = False  # true if its barrier orders accesses to memory
    is_whole: bool = False  # true if it ends before an instruction that all threads of a warp execute together
    writes: bool = False  # true if it writes to memory, or publishes something to other threads
    live_in: frozenset[Register] = frozenset()  # registers whose value on entry may still be read
    live_out: frozenset[Register] = frozenset()  # registers whose value on leaving may still be read
    defines: frozenset[Register] = frozenset()  # registers that the body writes

    @property
    def instructions(self) -> list[Instruction]:
        """The body, followed by the instruction that ends it."""
        return [*self.body, *([self.end] if self.end and not self.gathers else [])]

    @property
    def successors(self) -> tuple[int, ...]:
        """Numbers of the possible next blocks, without EXIT."""
        conditional = self.taken is None or (self.end is not None and self.end.guard is not None)
        targets = ((self.taken,) if self.taken is not None else ()) + ((self.following,) if conditional else ())
        targets = self.targets or targets
        return tuple(target for target in targets if target != EXIT)

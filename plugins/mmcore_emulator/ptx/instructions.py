"""Functions of PTX: instructions and their operands. Reference: NVIDIA, Parallel Thread Execution ISA."""

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
    """A predicate that is taken for its contrary, ``!%p1``."""

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

    opcode: tuple[str, ...]  # its parts, as in ("ld", "global", "f32")
    operands: tuple[Operand, ...]  # destination first
    guard: Register | None = None  # predicate register of ``@%p``, or None
    negated: bool = False  # whether it is ``@!%p``
    line: int = 0  # line of the .cu file, 0 where the compiler gave none
    source: str = ""  # name of that file

    @property
    def mnemonic(self) -> str:
        """The opcode as written: "ld.global.f32"."""
        return ".".join(self.opcode)


@dataclass(frozen=True)
class Parameter:
    """A parameter of a function, or what a caller declares to pass or to take: name, element type, size in bytes."""

    name: str
    type: str
    nbytes: int


@dataclass
class Function:
    """One ``.entry`` or ``.func``.

    Attributes:
        name: its symbol.
        parameters: in order.
        variables: its own and the module's.
        threads: of a block: at most (under "maxntid") and exactly ("reqntid"), where the source says so.
        cluster: blocks of a cluster along x, y and z, where the source says so.
        bounds_registers: whether it says how many registers a thread has (``.maxnreg``, or blocks of a multiprocessor).
        returns: what a ``.func`` returns.
        passed: what is declared in its body to pass to functions that it calls, and to take from them, by name.
        body: instructions in order.
        labels: index in ``body`` that each label stands before.
    """

    name: str
    parameters: list[Parameter]
    variables: dict[str, Variable]
    threads: dict[str, int] = field(default_factory=dict)
    cluster: tuple[int, ...] = ()
    bounds_registers: bool = False
    returns: list[Parameter] = field(default_factory=list)
    passed: dict[str, Parameter] = field(default_factory=dict)
    body: list[Instruction] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)


def names(instruction: Instruction) -> Iterator[str]:
    """What an instruction speaks of by its name: variables, parameters, labels, special registers."""
    for operand in instruction.operands:
        for part in operand if isinstance(operand, tuple) else (operand,):
            base = part.base if isinstance(part, Address) else part
            if isinstance(base, Symbol):
                yield base.name

"""The facts that PTX and machine code contain about themselves."""

from __future__ import annotations

from dataclasses import dataclass

from mmcore.errors import MmcoreError
from mmcore_emulator.isa.architectures import split_architecture


class UnreadableCode(MmcoreError):
    """Bytes that are not readable PTX or CUBIN."""


@dataclass(frozen=True)
class CodeFunction:
    """A kernel function in compiled code.

    Attributes:
        symbol: its name in the code.
        parameter_bytes: size of each parameter, in order.
        shared_bytes: static shared memory of a block.
        registers: registers per thread; 0 in PTX, which does not allocate them.
    """

    symbol: str
    parameter_bytes: tuple[int, ...]
    shared_bytes: int
    registers: int = 0


@dataclass(frozen=True)
class Code:
    """Compiled code: its architecture, such as "90a", and its kernel functions by symbol."""

    architecture: str
    functions: dict[str, CodeFunction]


def machine_code_runs(made_for: str, on: str) -> bool:
    """Return True if machine code for one architecture runs on another."""
    (major, minor, _), (their_major, their_minor, _) = split_architecture(made_for), split_architecture(on)
    return major == their_major and minor <= their_minor

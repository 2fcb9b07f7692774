"""What compiled code says of itself, whether it is PTX or machine code."""

from __future__ import annotations

import re
from dataclasses import dataclass

from mmcore.errors import MmcoreError

_ARCHITECTURE = re.compile(r"(\d+)(\d)([af]?)")


class UnreadableCode(MmcoreError):
    """The bytes are no PTX, or no CUBIN, that can be read."""


@dataclass(frozen=True)
class CodeFunction:
    """One kernel function of some code.

    Attributes:
        symbol: its name in the code.
        parameter_bytes: size of each parameter, in order.
        shared_bytes: static shared memory of a block.
        registers: registers per thread; 0 in PTX, which has no such.
    """

    symbol: str
    parameter_bytes: tuple[int, ...]
    shared_bytes: int
    registers: int = 0


@dataclass(frozen=True)
class Code:
    """Some code: what it is made for, such as "90a", and its kernel functions by symbol."""

    architecture: str
    functions: dict[str, CodeFunction]


def ptx_runs(made_for: str, on: str) -> bool:
    """Whether PTX for one architecture ("80", "90a", "100f") can be compiled for another."""
    (major, minor, kind), (their_major, their_minor, _) = _parsed(made_for), _parsed(on)
    if kind == "a":
        return (major, minor) == (their_major, their_minor)
    return (major, minor) <= (their_major, their_minor) and (kind != "f" or major == their_major)


def machine_code_runs(made_for: str, on: str) -> bool:
    """Whether machine code for one architecture runs on another."""
    (major, minor, _), (their_major, their_minor, _) = _parsed(made_for), _parsed(on)
    return major == their_major and minor <= their_minor


def _parsed(architecture: str) -> tuple[int, int, str]:
    found = _ARCHITECTURE.fullmatch(architecture)
    return (int(found[1]), int(found[2]), found[3]) if found else (0, 0, "")

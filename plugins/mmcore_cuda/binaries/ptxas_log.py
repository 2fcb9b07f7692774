"""The log of ptxas, NVIDIA's assembler: the resources of kernel functions, and errors without these."""

from __future__ import annotations

import re
from dataclasses import dataclass

_FUNCTION = re.compile(
    r"Compiling entry function '(?P<symbol>[^']+)'.*?(?P<frame>\d+) bytes stack frame, "
    r"(?P<stores>\d+) bytes spill stores, (?P<loads>\d+) bytes spill loads.*?"
    r"Used (?P<registers>\d+) registers(?:[^\n]*?(?P<stack>\d+) bytes cumulative stack)?"
    r"(?:[^\n]*?(?P<shared>\d+) bytes smem)?",
    re.DOTALL,
)

_REPORT = re.compile(r"^ptxas +(?:info .*|\. .*)\n?|\0", re.MULTILINE)
_TOO_MUCH = re.compile(r"uses too much shared data \(0x(?P<used>[0-9a-f]+) bytes, 0x(?P<most>[0-9a-f]+) max\)")


@dataclass(frozen=True)
class Resources:
    """The resources of a function; the names are those of :class:`~mmcore.compile.compiled_module.CompiledFunction`."""

    registers: int
    static_shared_bytes: int
    local_bytes: int
    spill_store_bytes: int
    spill_load_bytes: int


def resources(log: str) -> dict[str, Resources]:
    """Return the resources of each kernel function in a log of ``ptxas -v``, by its symbol."""
    return {
        function["symbol"]: Resources(
            registers=int(function["registers"]),
            static_shared_bytes=int(function["shared"] or 0),
            local_bytes=int(function["stack"] or function["frame"]),
            spill_store_bytes=int(function["stores"]),
            spill_load_bytes=int(function["loads"]),
        )
        for function in _FUNCTION.finditer(log)
    }


def without_resources(log: str) -> str:
    """Return a log without the resources of functions, which precede an error."""
    return _REPORT.sub("", log)


def shared_memory_exceeded(log: str) -> tuple[int, int] | None:
    """Return the static shared memory of a function that ptxas rejects for it, and the most, in bytes; else None."""
    exceeded = _TOO_MUCH.search(log)
    return (int(exceeded["used"], 16), int(exceeded["most"], 16)) if exceeded else None

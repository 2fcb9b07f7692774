"""The resources of kernel functions in the log of ptxas, NVIDIA's assembler."""

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

"""The functions of a CUBIN's machine code."""

from __future__ import annotations

import functools
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from mmcore_cuda.machine_code.instructions import Instruction, listings
from mmcore_cuda.machine_code.kinds import KINDS, kind_of
from mmcore_cuda.machine_code.loops import Loop, innermost_loops
from mmcore_cuda.machine_code.nvdisasm import disassembly
from mmcore_emulator.profiler.counters import Line


class Spilled(NamedTuple):
    """The bytes of registers that a thread's code stores to local memory and loads again."""

    stored: int
    loaded: int


@dataclass(frozen=True)
class Function:
    """The machine code of a function.

    Attributes:
        name: its symbol.
        instructions: all of them, by address, with those of functions that it calls, if they belong to it alone.
        loops: the innermost loops, by address.
    """

    name: str
    instructions: tuple[Instruction, ...]
    loops: tuple[Loop, ...]

    def by_line(self) -> dict[Line, tuple[Instruction, ...]]:
        """Return the instructions of each source line, in order."""
        lines: dict[Line, list[Instruction]] = defaultdict(list)
        for instruction in self.instructions:
            lines[instruction.line].append(instruction)
        return {line: tuple(instructions) for line, instructions in sorted(lines.items())}

    @staticmethod
    def mix(instructions: Iterable[Instruction]) -> dict[str, int]:
        """Return the number of instructions of each kind of :data:`KINDS` that occurs."""
        counts = Counter(map(kind_of, instructions))
        return {kind: counts[kind] for kind in KINDS if counts[kind]}

    def spills_by_line(self) -> dict[Line, Spilled]:
        """Return the bytes that each source line spills and reloads, without lines that spill nothing."""
        spills: dict[Line, Spilled] = {}
        for instruction in self.instructions:
            if instruction.spill:
                stored, loaded = spills.get(instruction.line, Spilled(0, 0))
                is_store = instruction.name == "STL"
                stored, loaded = stored + is_store * instruction.nbytes, loaded + (not is_store) * instruction.nbytes
                spills[instruction.line] = Spilled(stored, loaded)
        return dict(sorted(spills.items()))


@functools.lru_cache(maxsize=16)
def machine_code(cubin: bytes) -> Mapping[str, Function] | None:
    """Return the functions of a CUBIN by their symbols; None without a disassembler that reads it."""
    text = disassembly(cubin)
    if text is None:
        return None
    functions = (
        Function(listing.name, tuple(listing.instructions), innermost_loops(listing)) for listing in listings(text)
    )
    return {function.name: function for function in functions}

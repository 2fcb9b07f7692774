"""The instructions that the emulator supports, by its own table of instructions."""

from __future__ import annotations

from bench.studies.tables.markdown import markdown
from mmcore_emulator.isa.entries import Family
from mmcore_emulator.isa.table import FAMILIES, REFUSED


def instructions() -> str:
    """Return a table of the families, their instructions, and from which compute capability some of them exist."""
    rows = [[family.title, ", ".join(map(_code, _names(family)))] for family in FAMILIES]
    return markdown("family | instructions", [*rows, ["not supported", ", ".join(map(_code, REFUSED))]])


def _names(family: Family) -> list[str]:
    """Return the instructions of a family as PTX writes them, without what only modifies them."""
    names = []
    for entry in family.entries:
        word, dot, rest = entry.name.partition(".")
        names += [f"{each}{dot}{rest}" for each in word.split("|")]
    names += [opcode.partition(".")[0] for opcode, _ in family.exact()]
    # The emulator's names for functions of the driver.
    return [name for name in dict.fromkeys(names) if name not in ("assertfail", "vprintf")]


def _code(name: str) -> str:
    return f"`{name}`"

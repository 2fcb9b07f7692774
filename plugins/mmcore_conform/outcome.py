"""Test cases, the properties they are tested for, and the outcomes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from mmcore.cell import Cell

PROPERTIES = {
    "product": "every element that is written is within its tolerance",
    "written": "every element of C is written",
    "bounds": "no access outside the matrices, nor between the rows of a strided C",
    "inputs": "A and B are left as they were",
    "repeatable": "the same inputs give the same bits, whatever memory held before",
    "hazards": "no race, no divergent barrier, no misaligned access, no element written twice",
    "over-read": "the declared over-read is large enough, and no larger than needed",
    "constraints": "each constraint allows some launches and refuses others, in its own words",
    "geometry": "block, grid, registers and shared memory fit compute capabilities 7.5 to 12.0",
    "known-bugs": "the kernel declares no known bugs",
}
"""Every property, with what it asks for."""

PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"


@dataclass(frozen=True)
class Case:
    """A product in a config: the cell, the config's id, and why it is tested."""

    cell: Cell
    config: str
    why: str

    def __str__(self) -> str:
        cell = self.cell
        gaps = f", lda {cell.lda}, ldb {cell.ldb}, ldc {cell.ldc}," if cell.lda else ""
        return f"{cell.m}×{cell.n}×{cell.k}{gaps} with {self.config} ({self.why}){', forced' if cell.force else ''}"

    @property
    def work(self) -> int:
        """Multiplications: m·n·k."""
        return self.cell.m * self.cell.n * self.cell.k

    def to_json(self) -> dict[str, Any]:
        """The case as JSON-ready values."""
        return {**vars(self), "cell": self.cell.to_json()}

    @classmethod
    def from_json(cls, values: Mapping[str, Any], **cell: Any) -> Case:
        """What :meth:`to_json` made, with other attributes of the cell."""
        return cls(**{**values, "cell": replace(Cell.from_json(values["cell"]), **cell)})


@dataclass(frozen=True)
class Outcome:
    """One property of one test case.

    Attributes:
        property: one of :data:`PROPERTIES`.
        what: what was tested, in a few words.
        outcome: "passed", "failed", or "skipped" where this machine cannot tell.
        reason: why it failed or was skipped, or for which constraint violations a launch was rightly refused.
        reproduce: the command that does it again.
        case: the case, where it is one.
    """

    property: str
    what: str
    outcome: str
    reason: str
    reproduce: str
    case: Case | None = None

    def to_json(self) -> dict[str, Any]:
        """The outcome as JSON-ready values."""
        sizes = self.case and {name: getattr(self.case.cell, name) for name in ("m", "n", "k", "lda", "ldb", "ldc")}
        values = {**vars(self), "case": self.what, "problem": sizes, "config": self.case and self.case.config}
        return {name: value for name, value in values.items() if name != "what"}

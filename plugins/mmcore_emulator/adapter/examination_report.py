"""The examination of a kernel: its product and hazards at the sizes that its code asks for, on the emulator."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from mmcore.cell import Cell
from mmcore.devices.violations import Violation
from mmcore.errors import MmcoreError, TimeLimit, WorkLimit
from mmcore.kernel.arguments import SIZES
from mmcore.kernel.sizes import size_text

WORK = 4.0
"""The estimated seconds of an examination's runs by default; with an estimate, verdicts do not depend on the host."""


def limit_name(error: MmcoreError) -> str:
    """Return the name of the limit that an error reports; empty for other errors."""
    return "work limit" if isinstance(error, WorkLimit) else "time limit" if isinstance(error, TimeLimit) else ""


def refusal(violations: Iterable[Violation], size: str) -> str:
    """Return the assertion by which a kernel refuses a size, in a clause; empty if there is none."""
    lines = (each.line for each in violations if each.kind == "assertion")
    return next((f"the assertion in line {line} fails at {size}" for line in lines), "")


def _place(violation: Violation) -> object:
    return violation.kind, violation.array, violation.source, violation.line


@dataclass(frozen=True)
class Tried:
    """A product that was run, and its faults."""

    cell: Cell
    why: str  # the reason for the size
    violations: tuple[Violation, ...] = ()
    warnings: tuple[Violation, ...] = ()
    mismatch: str = ""  # the first wrong element, and the number of wrong ones
    is_part: bool = False  # true if single blocks were run, as the whole product takes too long
    is_plain: bool = False  # true if its accesses were not observed, so that a hazard shows by a wrong product alone

    @property
    def is_right(self) -> bool:
        """True if the product is right, without any hazard."""
        return not self.violations and not self.mismatch

    @property
    def refusal(self) -> str:
        """The assertion by which the kernel itself refuses this size, in a clause; empty if there is none."""
        return refusal(self.violations, str(self))

    @property
    def faults(self) -> tuple[Violation, ...]:
        """The violations, which say at what size they are."""
        mismatch = [Violation("wrong-product", f"at {self} ({self.why}): {self.mismatch}", "C")]
        others = [replace(each, message=f"at {self}, {each.message}") for each in self.violations]
        return (*(mismatch if self.mismatch else ()), *others)

    def __str__(self) -> str:
        return size_text(vars(self.cell))

    def to_json(self) -> dict[str, Any]:
        """Return JSON-ready values."""
        lists = {name: [each.to_json() for each in getattr(self, name)] for name in ("violations", "warnings")}
        values = {name: getattr(self, name) for name in ("why", "mismatch", "is_part", "is_plain")}
        return {"cell": self.cell.to_json(), **values, **lists}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Tried:
        """Return what :meth:`to_json` wrote."""
        lists = {name: tuple(map(Violation.from_json, values[name])) for name in ("violations", "warnings")}
        return cls(**{**values, **lists, "cell": Cell.from_json(values["cell"])})


@dataclass(frozen=True)
class Examination:
    """The tried sizes, and the reason why others are missing."""

    tried: tuple[Tried, ...]
    left_out: str = ""  # the reason why further sizes were not tried; "" if all were
    limit: str = ""  # the limit that ended it, "time limit" or "work limit"; "" if none did
    # Lines and branches that no size executed, as mmcore.verdict.Findings lists them; none of a wrong product.
    not_executed: tuple[Mapping[str, Any], ...] = ()
    refused: str = ""  # the least size whose launch a GPU refuses, in a clause; "" if there is none
    failing: str = ""  # the error of the launch rule at a usual size that the constraints allow; "" if there is none
    outside: Tried | None = None  # a wrong product of a size that the kernel's own program does not use
    by_value: tuple[Violation, ...] = ()  # code that a value of A or B decides about

    @property
    def wrong(self) -> Tried | None:
        """The product that was wrong or had a hazard, which ended the examination."""
        return next((each for each in self.tried if not each.is_right), None)

    @property
    def is_observed(self) -> bool:
        """True if the accesses of a product were observed, which shows hazards."""
        return bool(self._observed)

    @property
    def _observed(self) -> list[Tried]:
        return [each for each in self.tried if not (each.is_part or each.is_plain or each.refusal)]

    @property
    def faults(self) -> tuple[Violation, ...]:
        """The violations of the products that are not right, without those of a line that an earlier one has."""
        found: list[Violation] = []
        for each in self.tried:
            known = {(fault.kind, fault.source, fault.line) for fault in found}
            found += (fault for fault in each.faults if (fault.kind, fault.source, fault.line) not in known)
        return tuple(found)

    @property
    def warnings(self) -> tuple[Violation, ...]:
        """The warnings of the products, the first about each array in a line; one that not all have names its size."""
        observed = [{_place(each): each for each in reversed(tried.warnings)} for tried in self._observed]
        first = dict[object, Violation]()
        for tried, warnings in zip(self._observed, observed, strict=True):
            for place, each in reversed(warnings.items()):
                of_all = all(place in others for others in observed)
                first.setdefault(place, each if of_all else replace(each, message=f"at {tried}, {each.message}"))
        return tuple(first.values())

    @property
    def reminder(self) -> Violation | None:
        """The fault at a size that the kernel's own program does not use, with its line if one is known."""
        faults = self.outside.faults if self.outside else ()
        return next((each for each in faults if each.line), faults[0] if faults else None)

    @property
    def sizes(self) -> list[dict[str, Any]]:
        """The sizes as JSON-ready values: "m", "n", "k", "lda", "ldb", "ldc", "why" and "right"."""
        several = [*self.tried, *([self.outside] if self.outside else [])]
        rows = ({name: getattr(each.cell, name) for name in SIZES} for each in several)
        return [row | {"why": each.why, "right": each.is_right} for row, each in zip(rows, several, strict=True)]

    @property
    def text(self) -> str:
        """The sizes and their reasons, a line each."""
        lines = [f"{each}: {each.why}" for each in self.tried]
        lines += [f"not tried: {self.left_out}"] if self.left_out else []
        return "\n".join([*lines, *filter(None, [self.refused, self.failing])])

    def to_json(self) -> dict[str, Any]:
        """Return JSON-ready values."""
        tried = [each.to_json() for each in self.tried]
        outside = self.outside and self.outside.to_json()
        values = {name: getattr(self, name) for name in ("left_out", "limit", "refused", "failing")}
        lists = {"not_executed": list(self.not_executed), "by_value": [each.to_json() for each in self.by_value]}
        return {"tried": tried, "outside": outside, **lists, **values}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Examination:
        """Return what :meth:`to_json` wrote."""
        tried = tuple(map(Tried.from_json, values["tried"]))
        outside = values["outside"] and Tried.from_json(values["outside"])
        by_value = tuple(map(Violation.from_json, values["by_value"]))
        lists = {"not_executed": tuple(values["not_executed"]), "by_value": by_value}
        return cls(**{**values, "tried": tried, "outside": outside, **lists})

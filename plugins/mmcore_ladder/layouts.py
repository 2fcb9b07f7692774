"""The layouts that kernels for any size are declared in, and how far apart rows may be."""

from __future__ import annotations

from dataclasses import dataclass

from mmcore import Config, Problem

LAYOUTS = {"": "", "_nt": "B", "_tn": "A", "_tt": "AB"}
"""Which matrices are stored by columns, by BLAS's letters of A and B."""


@dataclass(frozen=True)
class StrideInBytes:
    """What a kernel computes with in 32 bits: from one row to the next it is less than 4 GiB.

    Attributes:
        most: elements of that distance.
        description: of the constraint.
    """

    most: int
    description: str

    def violation(self, problem: Problem, config: Config) -> str | None:
        """Which leading dimension is not."""
        too_far = [
            f"{name} = {getattr(problem, name)}" for name in ("lda", "ldb") if getattr(problem, name) >= self.most
        ]
        words = self.description.rpartition(" ")[2]
        return f"{' and '.join(too_far)} must be less than {words}" if too_far else None

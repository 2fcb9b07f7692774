"""The layouts of the kernels for any size, and a limit on their leading dimensions."""

from __future__ import annotations

from dataclasses import dataclass

from mmcore import Config, Problem

LAYOUTS = {"": "", "_nt": "B", "_tn": "A", "_tt": "AB"}
"""The matrices that are stored by columns, for each pair of BLAS's transposition letters of A and B."""


@dataclass(frozen=True)
class StrideInBytes:
    """A limit on leading dimensions for kernels that compute the distance between rows in 32 bits, in bytes.

    Attributes:
        most: the first number of elements that is too large.
        description: the constraint in words.
    """

    most: int
    description: str

    def violation(self, problem: Problem, config: Config) -> str | None:
        """Return a sentence that names the leading dimensions that are too large, or None."""
        too_far = [
            f"{name} = {getattr(problem, name)}" for name in ("lda", "ldb") if getattr(problem, name) >= self.most
        ]
        words = self.description.rpartition(" ")[2]
        return f"{' and '.join(too_far)} must be less than {words}" if too_far else None

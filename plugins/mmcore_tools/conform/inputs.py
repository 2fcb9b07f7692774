"""Inputs that no kernel is timed with: a row of A that is not finite."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mmcore.kernel.problem import Problem
from mmcore.verify.elements import narrow
from mmcore.verify.inputs import Kind, Matrices


def with_a_row_not_finite(problem: Problem, matrices: Matrices, seed: int) -> Matrices:
    """Mixed inputs of which a row of A is NaN and infinities, where there are more than two rows."""
    rng = np.random.Generator(np.random.SFC64([seed, 3]))
    if matrices.rows is None or len(matrices.rows) < 3:
        return matrices
    row = int(rng.integers(1, len(matrices.rows) - 1))
    matrices.a[row] = narrow(rng.choice(np.array([np.nan, np.inf, -np.inf]), size=problem.k), problem.dtype)
    kinds = matrices.rows.copy()
    kinds[row] = Kind.NOT_FINITE
    return replace(matrices, rows=kinds)

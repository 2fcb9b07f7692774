"""Misuse of an asynchronous instruction."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Mask = NDArray[np.bool_]


class Problem(NamedTuple):
    """Lanes that misuse an instruction, as elements of the checked values, and a clause on what they do."""

    lanes: Mask
    clause: str


def first_of(problems: list[Problem]) -> list[Problem]:
    """Return the first problem of each lane."""
    real: list[Problem] = []
    for lanes, clause in problems:
        for earlier in real:
            lanes = lanes & ~earlier.lanes
        if lanes.any():
            real.append(Problem(lanes, clause))
    return real

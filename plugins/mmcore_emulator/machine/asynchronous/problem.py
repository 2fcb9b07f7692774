"""What is wrong with an asynchronous instruction."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Mask = NDArray[np.bool_]


class Problem(NamedTuple):
    """Lanes that misuse something, as elements of what was asked about, and a clause on what they do."""

    lanes: Mask
    clause: str


def first_of(found: list[Problem]) -> list[Problem]:
    """The problems that lanes have, without those that are a lane's second."""
    real: list[Problem] = []
    for lanes, clause in found:
        for earlier in real:
            lanes = lanes & ~earlier.lanes
        if lanes.any():
            real.append(Problem(lanes, clause))
    return real

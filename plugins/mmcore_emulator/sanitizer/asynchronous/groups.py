"""The groups in which threads commit asynchronous operations, and operations that belong to none at a wait."""

from __future__ import annotations

import numpy as np

from mmcore_emulator.numerics.types import Integers
from mmcore_emulator.ptx.instructions import Instruction

_OPERATIONS = {"wgmma": ("wgmma", "products"), "bulk": ("cp.async.bulk", "copies"), "copy": ("cp.async", "copies")}


def lacking_commit(kind: str, at: Instruction) -> str:
    """Return the clause that an instruction's operations of a kind belong to no group."""
    name, operations = _OPERATIONS[kind]
    place = f"line {at.kernel_line}" if at.kernel_line else "them"
    return f"{name}.commit_group is missing after {place}: the {operations} belong to no group"


class Groups:
    """The groups of a kind of operations, by lane."""

    def __init__(self, lanes: int) -> None:
        self.committed = np.zeros(lanes, np.int64)
        """The number of groups that each lane has committed."""
        self._is_open = np.zeros(lanes, np.bool_)  # true with operations since the last commit
        self._left_open = np.zeros(lanes, np.int64)  # the next group at a wait with such operations; 0 for none

    def issue(self, lanes: Integers) -> Integers:
        """Note that lanes issue operations, and return the numbers of the next groups, from 1."""
        self._is_open[lanes] = True
        return self.committed[lanes] + 1

    def commit(self, lanes: Integers) -> None:
        """Commit what lanes have issued as a group."""
        self.committed[lanes] += 1
        self._is_open[lanes] = False

    def wait(self, lanes: Integers) -> None:
        """Note that lanes wait for groups."""
        waiting = lanes[self._is_open[lanes]]
        self._left_open[waiting] = self.committed[waiting] + 1

    def were_open(self, lanes: Integers, groups: Integers | int) -> bool:
        """Return whether one of the groups was not committed when its lane waited."""
        return bool((self._left_open[lanes] == groups).any())

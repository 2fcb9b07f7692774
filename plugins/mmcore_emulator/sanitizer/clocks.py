"""What the threads of a warp know of one another: after which barriers of the warp each comes.

Time in a batch is how many times threads have met at barriers of their warps. Who meets, knows all that the others did
until then, and all that they knew of their warp's other threads.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mmcore_emulator.lanes import WARP
from mmcore_emulator.warps import BIT, PerWarp, groups


class WarpClocks:
    """The knowledge of the threads of a batch's warps.

    Attributes:
        now: the time.
    """

    def __init__(self, warps: int) -> None:
        self.now = 0
        # Until when each lane (second axis) of each warp knows what each other (third axis) did.
        self._known = np.zeros((warps, WARP, WARP), np.int32)

    def meet(self, lanes: PerWarp, named: PerWarp) -> None:
        """Lanes that name the same mask meet; those that do not name themselves meet nobody."""
        self.now += 1
        for group in groups(np.asarray(lanes & ((named & BIT) != 0)), named):
            whole = np.asarray(group.all(axis=1))
            self._known[whole] = self.now
            self._meet_in_part(group, np.asarray(group.any(axis=1) & ~whole))

    def _meet_in_part(self, group: PerWarp, warps: NDArray[np.bool_]) -> None:
        together, known = group[warps], self._known[warps]
        shared = np.where(together[:, :, np.newaxis], known, 0).max(axis=1, initial=0)
        shared = np.where(together, self.now, shared)
        self._known[warps] = np.where(together[:, :, np.newaxis], shared[:, np.newaxis, :], known)

    def unknown(self, place: NDArray[np.int64], others: NDArray[np.uint32], time: NDArray[np.int32]) -> PerWarp:
        """Of ``others``, a mask of lanes, those of whom the thread at each place does not know what they did at a time.

        Args:
            place: threads, as :class:`~mmcore_emulator.warps.Warps` numbers them.
            others: a mask for each.
            time: a time for each.
        """
        if not self.now:
            return others
        known = self._known.reshape(-1, WARP)[place] > time[:, np.newaxis]
        return np.asarray(others & ~np.packbits(known, axis=1, bitorder="little").view("<u4")[:, 0])

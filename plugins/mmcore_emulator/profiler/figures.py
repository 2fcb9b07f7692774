"""What every run on the emulator counts, as the figures of a result: exact, and cheap beside the run itself."""

from __future__ import annotations

from mmcore_emulator.lanes import Batch, Mask
from mmcore_emulator.observation import Access, Observer
from mmcore_emulator.profiler.coalescing import Active, Rows, sectors
from mmcore_emulator.profiler.counters import SECTOR_BYTES, ratio
from mmcore_emulator.profiler.patterns import Patterns
from mmcore_emulator.step import Step

# Launches whose accesses follow more patterns than this take longer to count than to run.
_MOST_PATTERNS = 500


class Figures(Observer):
    """Counts the warps' instructions and the global sectors of some launches, one after the other.

    Attributes:
        instructions: once per warp that has a thread in them.
        sectors: of global loads, stores and atomics.
        given_up: whether there were too many patterns of addresses.
    """

    ignores = frozenset(("shared", "local", "param", "const"))

    def __init__(self) -> None:
        self.instructions = self.sectors = 0
        self.given_up = False
        self._patterns = Patterns(_sectors)

    def begin(self, batch: Batch) -> None:
        self._patterns.begin(batch)

    def enter(self, step: Step, mask: Mask | None) -> None:
        if not self.given_up:
            self.instructions += step.instructions * self._patterns.extent(mask).warps

    def access(self, access: Access) -> None:
        if self.given_up or access.space != "global":
            return
        self.sectors += self._patterns.cost(access)
        self.given_up = len(self._patterns) > _MOST_PATTERNS

    def of(self, useful: int) -> dict[str, float | None]:
        """The figures by name, of a product of so many useful floating-point operations."""
        if self.given_up:
            return dict.fromkeys(("instructions", "global_sectors", "flop_per_byte"))
        return {
            "instructions": self.instructions,
            "global_sectors": self.sectors,
            "flop_per_byte": ratio(useful, SECTOR_BYTES * self.sectors),
        }


def _sectors(access: Access, address: Rows, active: Active, times: int) -> int:
    return sectors(address, active) * times

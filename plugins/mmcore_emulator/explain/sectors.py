"""Pictures of the sectors of global memory that the lanes of a warp access."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from mmcore_emulator.explain.picture import MANY_LANES, Cell, Picture, lanes_text, warp_text
from mmcore_emulator.profiler.counters import SECTOR_BYTES

_WORD = 4
_SECTORS_OF_A_LINE = 4


@dataclass(frozen=True)
class GlobalAccess:
    """One instruction's access to global memory by one warp."""

    opcode: str  # of the instruction: "ld.global.f32"
    nbytes: int  # that each lane accesses
    block: tuple[int, ...]  # index of the warp's block, x first
    warp: int  # its number there
    array: str  # name of the array
    offsets: tuple[int | None, ...]  # of each lane's bytes from the array's beginning; None for an inactive lane

    @property
    def touched(self) -> list[int]:
        """The numbers of the sectors that lanes touch, in order."""
        return sorted({offset // SECTOR_BYTES for offset in self.offsets if offset is not None})

    @property
    def cost(self) -> int:
        """The sectors that it touches."""
        return len(self.touched)

    def pictures(self) -> Iterator[Picture]:
        """Yield the lanes by sector and place in it; neighbouring sectors of a line of 128 bytes have one colour."""
        width = max(_WORD, self.nbytes)
        lanes: dict[tuple[int, int], list[int]] = {}
        for lane, offset in enumerate(self.offsets):
            if offset is not None:
                lanes.setdefault((offset // SECTOR_BYTES, offset % SECTOR_BYTES // width), []).append(lane)
        rows = self.touched
        colours = {line: number for number, line in enumerate(dict.fromkeys(row // _SECTORS_OF_A_LINE for row in rows))}
        cells = {
            (rows.index(sector), place): Cell(lanes_text(several), colours[sector // _SECTORS_OF_A_LINE])
            for (sector, place), several in lanes.items()
        }
        yield Picture(
            f"{self.opcode}: sectors of {self.array} that each lane of {warp_text(self.warp, self.block)} touches",
            tuple(f"byte {sector * SECTOR_BYTES:,}" for sector in rows),
            tuple(str(place * width) for place in range(SECTOR_BYTES // width)),
            cells,
            tuple(self._notes(lanes)),
        )

    def _notes(self, lanes: dict[tuple[int, int], list[int]]) -> Iterator[str]:
        distinct = len({offset for offset in self.offsets if offset is not None})
        least = -(-distinct * self.nbytes // SECTOR_BYTES)
        if any(len(several) > 1 for several in lanes.values()):
            yield MANY_LANES
        touched = self.cost
        sectors = f"{touched} sector{'' if touched == 1 else 's'} of {SECTOR_BYTES} bytes"
        yield f"{sectors}, where {least} would do." if least < touched else f"{sectors}, all of them needed."

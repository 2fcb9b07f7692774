"""Threads of a warp that should execute an instruction together, but do not.

A barrier of a warp, a shuffle or a vote waits for the live threads that a mask names. These threads may arrive at
barriers (``bar.warp.sync``) at different places of the code, but not at different instructions. None of them may skip
the instruction and continue.

An instruction of a whole warp (``mma``, ``ldmatrix``) is executed at one place by all threads, and none of them may
have left. Reference: PTX ISA, "bar.warp.sync", "shfl.sync", "mma"; CUDA C++ Programming Guide, "Synchronization
Functions".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from mmcore_emulator.machine.observer import LaneViolation, always
from mmcore_emulator.machine.warps import BIT, PerWarp, Warps, groups
from mmcore_emulator.ptx.instructions import Block

_APART = "reaches {} while others of its warp, which its mask names, reach {}: they must execute the same instruction"
_IN_PART = "executes {} without all threads of its warp, which must execute it together"
_GONE = "reaches {} with the mask {:#010x}, and lane {}, which the mask names, continues without it"


@dataclass(frozen=True)
class Site:
    """An instruction that threads of warps execute together."""

    block: Block  # the block that ends there
    lanes: PerWarp  # the lanes that have arrived and continue now, as rows
    gone: PerWarp  # the lanes that skipped it while others waited

    @property
    def name(self) -> str:
        """The name of the instruction."""
        opcode = self.block.end.opcode if self.block.end else ()
        return ".".join(opcode[self.block.gathers :])


def divergences(sites: Sequence[Site], named: PerWarp, present: PerWarp, warps: Warps) -> Iterator[LaneViolation]:
    """Yield the violations of warps that continue from some sites.

    ``named`` is the mask that each lane names, and ``present`` are the lanes that have not left the kernel.
    """
    exists = warps.rows(np.ones(warps.place.shape, np.bool_))
    for site in sites:
        if site.block.is_whole:
            torn = np.asarray(site.lanes.any(axis=1) & (exists & ~site.lanes).any(axis=1))
            yield from _violation(site, torn, _IN_PART.format(site.name), warps)
        elif site.gone.any():
            for group in groups(site.lanes, named):
                mask = named[group][:1].max(initial=0)
                missing = group.any(axis=1, keepdims=True) & site.gone & ~present & ((mask & BIT) != 0)
                lane = int(missing.any(axis=0).argmax())
                text = _GONE.format(site.name, mask, lane)
                yield from _violation(site, missing[:, lane], text, warps)
        for other in sites:
            if other.name != site.name and not (site.block.is_whole or other.block.is_whole):
                for mask in np.unique(named[site.lanes]):
                    both = [(member.lanes & (named == mask)).any(axis=1) for member in (site, other)]
                    text = _APART.format(site.name, other.name)
                    yield from _violation(site, np.logical_and(*both), text, warps)


def _violation(site: Site, torn: PerWarp, text: str, warps: Warps) -> Iterator[LaneViolation]:
    lanes = warps.lanes(site.lanes & torn[:, np.newaxis])
    if lanes.any():
        yield LaneViolation("divergent-barrier", None, site.block.end, lanes, always(text))

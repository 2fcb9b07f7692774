"""The theoretical occupancy: the blocks and warps that a multiprocessor can keep active, and advice to raise it.

The scarcest of warps, registers, shared memory and block slots decides. The rules follow NVIDIA's occupancy calculator:
``cuda_occupancy.h``, or the spreadsheet for compute capability 1.x. The resources of a block are rounded up to the
hardware's units of allocation. Neither a GPU nor CUDA is needed.

Since compute capability 7.0, shared memory and L1 cache are parts of one memory. As in the driver's own occupancy call,
the largest carve-out for shared memory counts as available. Named barriers beyond the first and clusters can limit the
blocks too, but are ignored; the driver's call also ignores clusters.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from mmcore.errors import UnknownCapability
from mmcore.kernel.geometry import ceil_div
from mmcore_emulator.machine.limits import MULTIPROCESSORS, WARP, BlockResources, Multiprocessor

_FIGURES = (
    *("threads_per_block", "warps_per_block", "registers_per_thread", "registers_per_block"),
    *("shared_per_block", "shared_allocated", "limit_blocks", "limit_warps", "limit_registers", "limit_shared"),
    *("active_blocks", "active_warps", "active_threads", "occupancy", "binding", "advice"),
)


@dataclass(frozen=True)
class Occupancy(BlockResources):
    """The number of blocks of one kind that a multiprocessor can keep active."""

    grid: int | None = None  # the blocks of the grid, if those are fewer than would fit

    @property
    def active_blocks(self) -> int:
        return min(self.limits.values()) if self.grid is None else self.grid

    @property
    def active_warps(self) -> int:
        return self.active_blocks * self.warps_per_block

    @property
    def active_threads(self) -> int:
        return self.active_blocks * self.threads_per_block

    @property
    def occupancy(self) -> float:
        """Active warps, as a fraction of the most that the multiprocessor holds."""
        return self.active_warps / self.of.warps

    @property
    def binding(self) -> tuple[str, ...]:
        """The resources that allow the fewest blocks, without resources that a block does not use.

        They are "hardware", "warps", "registers" and "shared"; only "grid" if the grid has fewer blocks.
        """
        if self.grid is not None:
            return ("grid",)
        taken = {"registers": self.registers_per_block, "shared": self.shared_allocated}
        fewest = min(self.limits.values())
        return tuple(name for name, limit in self.limits.items() if limit == fewest and taken.get(name, 1))

    @property
    def advice(self) -> str:
        """One sentence on the limits that bind and a way to lift them, or on the reason why no block can run."""
        if self.grid is not None:
            has = f"it has no more than {_counted(self.grid, 'block')}"
            return f"the grid binds: {has}, where {min(self.limits.values())} would fit at a time"
        if self.exceeded:
            why = f"no block can run on compute capability {self.of.name}: {', and '.join(self.exceeded.values())}"
            # Too many threads leave too little of everything; the block must become smaller first.
            return why if "warps" in self.exceeded else f"{why}; {_lift(self, 1)}"
        if self.active_warps == self.of.warps:
            lift = f"all {self.of.warps} warps are active, and no more can be"
        elif "hardware" in self.binding or "warps" in self.binding:
            lift = _other_blocks(self)
        else:
            lift = _lift(self, self.active_blocks + 1)
        return f"{_subject(self)}: {lift}"

    def in_grid(self, blocks: int) -> Occupancy:
        """Return the occupancy in a grid of so many blocks, which may all be on one multiprocessor."""
        return self if blocks >= self.active_blocks else replace(self, grid=blocks)

    def reduced(self, blocks: int) -> Occupancy:
        """Return the occupancy with registers and shared memory reduced until so many blocks fit."""
        # Warps and places for blocks must allow as many.
        fewer = range(min(self.registers_per_thread, self.of.registers_per_thread), -1, -1)
        candidates = (replace(self, registers_per_thread=registers) for registers in fewer)
        reduced = next(each for each in candidates if each.limit_registers >= blocks)
        if self.limit_shared >= blocks:
            return reduced
        share = self.of.shared_bytes // blocks
        share -= share % self.of.shared_unit + self.of.shared_reserved
        return replace(reduced, shared_per_block=min(share, self.of.shared_bytes_per_block_optin))

    def to_json(self) -> dict[str, object]:
        """Return every figure by name, with the compute capability as in "9.0"."""
        figures = {name: getattr(self, name) for name in _FIGURES}
        return {"capability": self.of.name, **figures, "binding": list(self.binding)}


def multiprocessor(capability: tuple[int, int]) -> Multiprocessor:
    """Return the limits of a compute capability, (major, minor). Raises UnknownCapability with the known ones."""
    if capability not in MULTIPROCESSORS:
        known = ", ".join(limits.name for limits in MULTIPROCESSORS.values())
        newer = ", which is newer than all of them," if capability > max(MULTIPROCESSORS) else ""
        raise UnknownCapability(
            f"the limits of compute capability {'.'.join(map(str, capability))}{newer} are not in mmcore's table; "
            f"it has {known}"
        )
    return MULTIPROCESSORS[capability]


def occupancy(capability: tuple[int, int], *, threads: int, registers: int, shared_bytes: int) -> Occupancy:
    """Return the theoretical occupancy of one multiprocessor; if no block can run, ``advice`` has the reason.

    Registers are those of a thread as compiled, 0 if they do not matter; ``shared_bytes`` are a block's static and
    dynamic ones. Raises UnknownCapability.
    """
    return Occupancy(multiprocessor(capability), threads, registers, shared_bytes)


def _lift(block: Occupancy, blocks: int) -> str:
    """Return a clause on the most registers and shared memory with which so many blocks fit."""
    reduced = block.reduced(blocks)
    return f"at most {_amounts(block, reduced)} would allow {_counted(reduced.active_blocks, 'block')}"


def _subject(block: Occupancy) -> str:
    """Return the binding resources with their verb, such as "registers and shared memory bind"."""
    names = {"hardware": f"the hardware's {block.of.blocks} blocks", "shared": "shared memory"}
    *others, last = (names.get(each, each) for each in block.binding)
    return f"{', '.join(others)}{' and ' * bool(others)}{last} {'binds' if block.binding == ('shared',) else 'bind'}"


def _other_blocks(block: Occupancy) -> str:
    """Return a clause on another size of block that would fill every warp, and the resources it may use."""
    # If the blocks are too small, the smallest that fill the warps; if they leave warps idle, the next that do not.
    warps = least = ceil_div(block.of.warps, block.of.blocks)
    if "hardware" not in block.binding:
        warps = max(each for each in range(least, block.warps_per_block) if block.of.warps % each == 0)
    other = replace(block, threads_per_block=warps * WARP)
    reduced = other.reduced(block.of.warps // warps)
    amounts = "" if reduced == other else f" with at most {_amounts(other, reduced)}"
    return f"blocks of {other.threads_per_block} threads{amounts} would fill all {block.of.warps} warps"


def _amounts(block: Occupancy, reduced: Occupancy) -> str:
    amounts = []
    if reduced.registers_per_thread < block.registers_per_thread:
        amounts.append(f"{_counted(reduced.registers_per_thread, 'register')} per thread")
    if reduced.shared_per_block < block.shared_per_block:
        amounts.append(f"{reduced.shared_per_block} bytes of shared memory per block")
    return " and ".join(amounts)


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"

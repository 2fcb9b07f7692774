"""How many blocks and warps fit on a multiprocessor at a time: the theoretical occupancy, and what would raise it.

The scarcest of warps, registers, shared memory and places for blocks decides. Neither a GPU nor CUDA is needed.

Shared memory and L1 cache are cut from one memory since compute capability 7.0. As the driver's own occupancy call
does, the largest share that shared memory can have is taken to be available. Named barriers beyond the first and
clusters, which can hold blocks back too, are not looked at; the driver's call does not look at clusters either.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from mmcore_occupancy.footprint import Footprint
from mmcore.kernel.geometry import ceil_div
from mmcore.planning.capabilities import WARP, Multiprocessor, multiprocessor


@dataclass(frozen=True)
class Occupancy:
    """What a multiprocessor holds of one kind of block at a time.

    Attributes:
        capability: compute capability, (major, minor).
        threads_per_block: threads of a block.
        warps_per_block: warps of a block, rounded up.
        registers_per_thread: registers per thread, as compiled.
        registers_per_block: registers that a block is given, rounded up to the units of allocation.
        shared_per_block: shared memory that a block asks for, static and dynamic together, in bytes.
        shared_allocated: shared memory that a block is given: rounded up, with the system's own part, in bytes.
        limit_blocks: blocks that the hardware holds, whatever they take.
        limit_warps: blocks that the warps allow; 0 when a block has too many threads.
        limit_registers: blocks that the registers allow; 0 when not one block has enough of them.
        limit_shared: blocks that the shared memory allows; 0 when not one block has enough of it.
        active_blocks: blocks at a time.
        active_warps: warps at a time.
        active_threads: threads at a time.
        occupancy: active warps, as a fraction of those that the multiprocessor holds at most.
        binding: what decides: of "hardware", "warps", "registers" and "shared" those that allow the fewest blocks;
            "grid" when there are no more blocks than that.
        advice: one sentence: which limits bind and what would lift them, or why no block can run.
    """

    capability: tuple[int, int]
    threads_per_block: int
    warps_per_block: int
    registers_per_thread: int
    registers_per_block: int
    shared_per_block: int
    shared_allocated: int
    limit_blocks: int
    limit_warps: int
    limit_registers: int
    limit_shared: int
    active_blocks: int
    active_warps: int
    active_threads: int
    occupancy: float
    binding: tuple[str, ...]
    advice: str

    def in_grid(self, blocks: int) -> Occupancy:
        """The same in a grid of so many blocks, all of which one multiprocessor may get; fewer than fit leave it empty.

        Raises:
            ValueError: for a grid without blocks.
        """
        if blocks < 1:
            raise ValueError(f"a grid of {blocks} blocks")
        if blocks >= self.active_blocks:
            return self
        warps = blocks * self.warps_per_block
        return replace(
            self,
            active_blocks=blocks,
            active_warps=warps,
            active_threads=blocks * self.threads_per_block,
            occupancy=warps / multiprocessor(self.capability).warps,
            binding=("grid",),
            advice=f"the grid binds: it has no more than {_counted(blocks, 'block')}, where "
            f"{self.active_blocks} would fit at a time",
        )

    def to_json(self) -> dict[str, object]:
        """Every attribute by name, the compute capability as in "9.0"."""
        values = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return values | {"capability": multiprocessor(self.capability).name, "binding": list(self.binding)}


def occupancy(capability: tuple[int, int], *, threads: int, registers: int, shared_bytes: int) -> Occupancy:
    """The theoretical occupancy of one multiprocessor.

    Args:
        capability: compute capability, (major, minor).
        threads: threads per block.
        registers: registers per thread, as compiled; 0 when they do not matter.
        shared_bytes: shared memory of a block, static and dynamic together, in bytes.

    Returns:
        The occupancy; of no blocks, with the reason in its ``advice``, when not even one block can run.

    Raises:
        UnknownCapability: the limits of that compute capability are not known.
        ValueError: for less than one thread, or a negative number of registers or bytes.
    """
    block = Footprint(multiprocessor(capability), threads, registers, shared_bytes)
    limits = block.limits
    active = min(limits.values())
    return Occupancy(
        capability=capability,
        threads_per_block=threads,
        warps_per_block=block.warps,
        registers_per_thread=registers,
        registers_per_block=block.allocated_registers,
        shared_per_block=shared_bytes,
        shared_allocated=block.allocated_shared_bytes,
        limit_blocks=limits["hardware"],
        limit_warps=limits["warps"],
        limit_registers=limits["registers"],
        limit_shared=limits["shared"],
        active_blocks=active,
        active_warps=active * block.warps,
        active_threads=active * threads,
        occupancy=active * block.warps / block.of.warps,
        binding=_binding(block),
        advice=_advice(block),
    )


def _binding(block: Footprint) -> tuple[str, ...]:
    limits = block.limits
    fewest = min(limits.values())
    return tuple(name for name, limit in limits.items() if limit == fewest and name not in block.unused)


def _advice(block: Footprint) -> str:
    if block.refusals:
        why = f"no block can run on compute capability {block.of.name}: {', and '.join(block.refusals.values())}"
        # Too many threads leave too little of everything; the block must become smaller first.
        return why if "warps" in block.refusals else f"{why}; {_lift(block, 1)}"
    active, binding = min(block.limits.values()), _binding(block)
    if active * block.warps == block.of.warps:
        lift = f"all {block.of.warps} warps are active, and no more can be"
    elif "hardware" in binding or "warps" in binding:
        lift = _other_blocks(block, binding)
    else:
        lift = _lift(block, active + 1)
    return f"{_subject(binding, block.of)}: {lift}"


def _lift(block: Footprint, blocks: int) -> str:
    """To what registers and shared memory must come down for so many blocks, or the few more that then fit as well."""
    reduced = block.reduced(blocks)
    allowed = _counted(min(reduced.limits.values()), "block")
    return f"at most {_amounts(block, reduced)} would allow {allowed}"


def _subject(binding: tuple[str, ...], of: Multiprocessor) -> str:
    """What binds, with its verb: "registers and shared memory bind", for instance."""
    names = {"hardware": f"the hardware's {of.blocks} blocks", "shared": "shared memory"}
    *others, last = (names.get(each, each) for each in binding)
    listed = f"{', '.join(others)} and {last}" if others else last
    return f"{listed} {'binds' if binding == ('shared',) else 'bind'}"


def _other_blocks(block: Footprint, binding: tuple[str, ...]) -> str:
    """Which other size of block would fill every warp, and what its threads could afford then."""
    # Too many small blocks: the smallest that fill the warps. Else blocks that leave some warps over: the next smaller
    # that leave none.
    warps = least = ceil_div(block.of.warps, block.of.blocks)
    if "hardware" not in binding:
        warps = max(each for each in range(least, block.warps) if block.of.warps % each == 0)
    other = replace(block, threads=warps * WARP)
    reduced = other.reduced(block.of.warps // warps)
    having = "" if reduced == other else f" with at most {_amounts(other, reduced)}"
    return f"blocks of {other.threads} threads{having} would fill all {block.of.warps} warps"


def _amounts(block: Footprint, reduced: Footprint) -> str:
    """What was reduced, and to how much."""
    amounts = []
    if reduced.registers < block.registers:
        amounts.append(f"{_counted(reduced.registers, 'register')} per thread")
    if reduced.shared_bytes < block.shared_bytes:
        amounts.append(f"{reduced.shared_bytes} bytes of shared memory per block")
    return " and ".join(amounts)


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"

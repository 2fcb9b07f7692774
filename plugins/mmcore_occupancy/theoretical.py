"""The theoretical occupancy: how many blocks and warps a multiprocessor can keep active, and what would raise it.

The scarcest of warps, registers, shared memory and places for blocks decides. Neither a GPU nor CUDA is needed.

Shared memory and L1 cache are cut from one memory since compute capability 7.0. As the driver's own occupancy call
does, the largest share that shared memory can have is taken to be available. Named barriers beyond the first and
clusters, which can hold blocks back too, are not looked at; the driver's call does not look at clusters either.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from mmcore.kernel.geometry import ceil_div
from mmcore_occupancy.capabilities import WARP, Multiprocessor, multiprocessor
from mmcore_occupancy.resource_usage import ResourceUsage


@dataclass(frozen=True)
class Occupancy:
    """How many blocks of one kind a multiprocessor can keep active.

    Attributes:
        capability: compute capability, (major, minor).
        threads_per_block, warps_per_block: of a block, the warps rounded up.
        registers_per_thread: as compiled.
        registers_per_block: registers that a block is given, rounded up to the units of allocation.
        shared_per_block: shared memory that a block asks for, static and dynamic together, in bytes.
        shared_allocated: shared memory that a block is given: rounded up, with the system's own part, in bytes.
        limit_blocks, limit_warps, limit_registers, limit_shared: blocks that each resource allows at a time; 0 when one
            block takes too much of it.
        active_blocks, active_warps, active_threads: at a time.
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
        """The same in a grid of so many blocks, all of which one multiprocessor may get, if fewer than would fit."""
        if blocks >= self.active_blocks:
            return self
        return replace(
            self,
            active_blocks=blocks,
            active_warps=blocks * self.warps_per_block,
            active_threads=blocks * self.threads_per_block,
            occupancy=self.occupancy * blocks / self.active_blocks,
            binding=("grid",),
            advice=f"the grid binds: it has no more than {_counted(blocks, 'block')}, where {self.active_blocks} would "
            "fit at a time",
        )

    def to_json(self) -> dict[str, object]:
        """Every attribute by name, the compute capability as in "9.0"."""
        values = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return values | {"capability": multiprocessor(self.capability).name, "binding": list(self.binding)}


def occupancy(capability: tuple[int, int], *, threads: int, registers: int, shared_bytes: int) -> Occupancy:
    """The theoretical occupancy of one multiprocessor; of no blocks, with the reason in ``advice``, when none can run.

    Args:
        capability: compute capability, (major, minor).
        threads, registers: threads per block, and registers per thread as compiled; 0 when they do not matter.
        shared_bytes: shared memory of a block, static and dynamic together, in bytes.

    Raises:
        UnknownCapability: the limits of that compute capability are not known.
    """
    block = ResourceUsage(multiprocessor(capability), threads, registers, shared_bytes)
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
        binding=block.binding,
        advice=_advice(block),
    )


def _advice(block: ResourceUsage) -> str:
    if block.exceeded:
        why = f"no block can run on compute capability {block.of.name}: {', and '.join(block.exceeded.values())}"
        # Too many threads leave too little of everything; the block must become smaller first.
        return why if "warps" in block.exceeded else f"{why}; {_lift(block, 1)}"
    active, binding = min(block.limits.values()), block.binding
    if active * block.warps == block.of.warps:
        lift = f"all {block.of.warps} warps are active, and no more can be"
    elif "hardware" in binding or "warps" in binding:
        lift = _other_blocks(block, binding)
    else:
        lift = _lift(block, active + 1)
    return f"{_subject(binding, block.of)}: {lift}"


def _lift(block: ResourceUsage, blocks: int) -> str:
    """To what registers and shared memory must come down for so many blocks, or the few more that then fit as well."""
    reduced = block.reduced(blocks)
    allowed = _counted(min(reduced.limits.values()), "block")
    return f"at most {_amounts(block, reduced)} would allow {allowed}"


def _subject(binding: tuple[str, ...], of: Multiprocessor) -> str:
    """What binds, with its verb: "registers and shared memory bind", for instance."""
    names = {"hardware": f"the hardware's {of.blocks} blocks", "shared": "shared memory"}
    *others, last = (names.get(each, each) for each in binding)
    return f"{', '.join(others)}{' and ' * bool(others)}{last} {'binds' if binding == ('shared',) else 'bind'}"


def _other_blocks(block: ResourceUsage, binding: tuple[str, ...]) -> str:
    """Which other size of block would fill every warp, and what its threads could afford then."""
    # Of too many small blocks, the smallest that fill the warps; of those that leave warps over, the next that do not.
    warps = least = ceil_div(block.of.warps, block.of.blocks)
    if "hardware" not in binding:
        warps = max(each for each in range(least, block.warps) if block.of.warps % each == 0)
    other = replace(block, threads=warps * WARP)
    reduced = other.reduced(block.of.warps // warps)
    amounts = "" if reduced == other else f" with at most {_amounts(other, reduced)}"
    return f"blocks of {other.threads} threads{amounts} would fill all {block.of.warps} warps"


def _amounts(block: ResourceUsage, reduced: ResourceUsage) -> str:
    """What was reduced, and to how much."""
    registers = [f"{_counted(reduced.registers, 'register')} per thread"] * (reduced.registers < block.registers)
    shared = [f"{reduced.shared_bytes} bytes of shared memory per block"] * (reduced.shared_bytes < block.shared_bytes)
    return " and ".join(registers + shared)


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"

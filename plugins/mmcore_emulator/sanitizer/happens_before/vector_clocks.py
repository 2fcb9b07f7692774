"""Vector clocks of a launch's threads, and the flags in memory that synchronise them.

Time advances with every event that orders accesses. A time in a vector clock means that all accesses before that time
happen before what follows. A thread releases its clock by a strong write, with a release or after a fence. Another
acquires it by a strong read, with an acquire or before a fence. Reference: PTX ISA, "Memory Consistency
Model" (release and acquire patterns, causality order).
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from mmcore_emulator.isa.table import destinations, effect, reads
from mmcore_emulator.machine.limits import WARP
from mmcore_emulator.ptx.instructions import Block, Instruction

VectorClock: TypeAlias = Mapping[tuple[str, int], int]
"""The time of each ("thread", number), ("warp", number) or ("block", number)."""

EMPTY: VectorClock = {}
SCOPES: Mapping[str, tuple[str, ...]] = {"cta": ("cta",), "gpu": ("cta", "gpu")}
"""The scopes that a fence of each scope includes."""


def join(*clocks: VectorClock) -> VectorClock:
    """Return the later time of each thread, warp and block in some vector clocks."""
    distinct = list({id(clock): clock for clock in clocks if clock}.values())
    if len(distinct) < 2:
        return distinct[0] if distinct else EMPTY
    joined = dict(distinct[0])
    for clock in distinct[1:]:
        for key, time in clock.items():
            joined[key] = max(time, joined.get(key, 0))
    return joined


class Epoch(NamedTuple):
    """Accesses of some threads, as much as is kept of them."""

    block: int  # number of the threads' block in the grid; negative for several blocks
    warps: int  # mask of warps of that block, which has all the threads' warps
    lanes: int  # mask of lanes, which has the lanes of all the threads
    time: int  # of the latest access


@dataclass
class Flag:
    """The clocks that a flag in memory releases: to threads of one block, by block, and to threads of all blocks."""

    near: dict[int, VectorClock] = field(default_factory=dict)
    far: VectorClock = field(default_factory=dict)


class FlagClocks(NamedTuple):
    """The clocks that a thread releases at a barrier."""

    acquired: VectorClock = EMPTY  # the clock of what happens before the thread's next access
    # Clocks that it has read in flags, to be acquired by a fence of scope "cta" or "gpu".
    near: VectorClock = EMPTY
    far: VectorClock = EMPTY
    counted: VectorClock = EMPTY  # the part of these that it has read by atomics without waiting in a loop

    def including(self, unfenced: str) -> VectorClock:
        """Return the acquired clock, joined with clocks to be acquired: "counted", or all that were "read"."""
        match unfenced:
            case "counted":
                return join(self.acquired, self.counted)
            case "read":
                return join(self.acquired, self.near, self.far)
        return self.acquired


@dataclass
class ThreadClocks:
    """The vector clocks of a thread."""

    released: FlagClocks = field(default_factory=FlagClocks)
    fenced: dict[str, VectorClock] = field(default_factory=dict)  # what it had acquired at its latest fence, by scope
    # The two clocks that it has read last in each flag.
    seen: dict[tuple[int, ...], tuple[VectorClock, VectorClock]] = field(default_factory=dict)

    def acquire(self, scope: str) -> None:
        """Acquire what has been read in flags."""
        acquired, near, far, _ = self.released
        self.released = self.released._replace(acquired=join(acquired, near, far if scope == "gpu" else EMPTY))


_NO_CLOCKS = ThreadClocks()


class HappensBefore:
    """The order of a launch's accesses."""

    def __init__(self) -> None:
        self.now = 1
        # blocks, block_size: number of the grid's blocks, and of the threads of a block.
        # proxies_fenced: time of the latest fence between writes to global memory and asynchronous reads of it.
        self.blocks = self.block_size = self.proxies_fenced = 0
        self.flags_read = False  # true if any thread has read a flag that another has written
        self.counted = False  # true if any thread has read one by an atomic without waiting in a loop
        self._flags: dict[tuple[int, ...], Flag] = {}
        self._threads: dict[int, ThreadClocks] = {}

    @property
    def any_acquired(self) -> bool:
        """True if any thread has read a flag, or has acquired a clock."""
        return bool(self._threads)

    def tick(self) -> int:
        """Advance the time and return it."""
        self.now += 1
        return self.now

    def write(self, place: tuple[int, ...], block: int, near: VectorClock, far: VectorClock, adds: bool) -> None:
        """Release clocks by a write to a flag; a write that ``adds`` to the flag keeps what others have released."""
        flag = self._flags.get(place, Flag()) if adds else Flag()
        flag.near[block] = join(flag.near.get(block, EMPTY), near)
        flag.far = join(flag.far, far)
        self._flags[place] = flag

    def read(self, place: tuple[int, ...], thread: int, block: int, acquires: str, *, waits: bool = True) -> None:
        """Read a flag; acquire its clocks now if the read ``acquires`` ("cta", "gpu"), otherwise at the next fence.

        ``waits`` is true if a loop waits for the flag's value.
        """
        flag = self._flags.get(place)
        if flag is None:
            return
        self.flags_read = True
        clocks = self._clocks(thread)
        released = flag.near.get(block, EMPTY), flag.far
        if clocks.seen.get(place) != released:
            clocks.seen[place] = released
            acquired, near, far, counted = clocks.released
            counted = counted if waits else join(counted, *released)
            clocks.released = FlagClocks(acquired, join(near, released[0]), join(far, released[1]), counted)
            self.counted |= not waits
        if acquires:
            clocks.acquire(acquires)

    def _clocks(self, thread: int) -> ThreadClocks:
        return self._threads.setdefault(thread, ThreadClocks())

    def fence(self, threads: Sequence[int], scope: str) -> None:
        """Let threads acquire what they have read in flags, and release it by later writes."""
        for thread in threads if self.flags_read else ():
            if thread in self._threads:
                clocks = self._threads[thread]
                clocks.acquire(scope)
                if clocks.released.acquired:
                    clocks.fenced |= dict.fromkeys(SCOPES[scope], clocks.released.acquired)

    def acquired(self, thread: int, fenced: str = "") -> VectorClock:
        """Return what a thread has acquired, now or at its latest fence of the scope ``fenced`` ("cta", "gpu")."""
        clocks = self._threads.get(thread, _NO_CLOCKS)
        return clocks.fenced.get(fenced, EMPTY) if fenced else clocks.released.acquired

    def released(self, thread: int) -> FlagClocks:
        """Return what a thread releases at a barrier."""
        return self._threads.get(thread, _NO_CLOCKS).released

    def join(self, threads: Sequence[int], arrived: Sequence[FlagClocks] = ()) -> None:
        """Join the clocks of threads that leave a barrier, and what others released that only ``arrived`` there."""
        if not self._threads:
            return
        released = FlagClocks(*(join(*clocks) for clocks in zip(*map(self.released, threads), *arrived, strict=True)))
        for thread in threads if any(released) else ():
            self._clocks(thread).released = released

    def acquire(self, threads: Sequence[int], clock: VectorClock) -> None:
        """Let threads acquire a clock."""
        for thread in threads if clock else ():
            clocks = self._clocks(thread)
            clocks.released = clocks.released._replace(acquired=join(clocks.released.acquired, clock))

    def acquire_blocks(self, threads: Sequence[int], blocks: Sequence[int]) -> None:
        """Let threads acquire all that some blocks have done, and release it by later writes."""
        self.acquire(threads, {("block", block): self.now for block in blocks})
        for thread in threads:
            clocks = self._threads[thread]
            clocks.fenced |= dict.fromkeys(SCOPES["gpu"], clocks.released.acquired)

    def has_acquired(self, thread: int, epoch: Epoch, unfenced: str = "") -> bool:
        """Return True if a thread has acquired clocks that include accesses of others.

        ``unfenced`` as in :meth:`FlagClocks.including`.
        """
        clock, time = self.released(thread).including(unfenced), epoch.time
        if epoch.block < 0:
            own_block = (thread - 1) // self.block_size
            return len(clock) >= self.blocks - 1 and all(
                clock.get(("block", block), 0) > time for block in range(self.blocks) if block != own_block
            )
        if clock.get(("block", epoch.block), 0) > time:
            return True
        warps, first = -(-self.block_size // WARP), epoch.block * self.block_size + 1
        accessing = [warp for warp in range(warps) if epoch.warps >> warp & 1]
        others = [warp for warp in accessing if clock.get(("warp", epoch.block * warps + warp), 0) <= time]
        return all(
            first + number == thread or clock.get(("thread", first + number), 0) > time
            for warp in others
            for number in range(warp * WARP, min(warp * WARP + WARP, self.block_size))
            if epoch.lanes >> number % WARP & 1
        )


def scope(at: Instruction, order: str) -> str:
    """Return the scope of an instruction's "acquire" or "release": "cta" or "gpu"; "" if it has none."""
    does = effect(at)
    if does.order.isdisjoint((order, "acq_rel")):
        return ""
    return "cta" if does.scope == "cta" else "gpu"


class FlagReads:
    """The instructions of a kernel that observe what other threads write to flags; whether there are ``any``."""

    def __init__(self, blocks: Sequence[Block], waiting: Container[int]) -> None:
        """Find them; ``waiting`` has the reads, by identity, that decide if a thread continues to wait."""
        instructions = [at for block in blocks for at in block.instructions]
        self._waiting = waiting
        read = {register for at in instructions for register in reads(at)}
        polling = (at for at in instructions if effect(at).polls == "if read")
        self._observing = {id(at) for at in polling if not read.isdisjoint(destinations(at))}
        self.any = bool(self._observing) or any(effect(at).kind == "load" and self.strong(at) for at in instructions)

    def strong(self, at: Instruction) -> bool:
        """Return whether a read is strong; a volatile one is if a thread waits for its value."""
        does = effect(at)
        return self.waits(at) if "volatile" in does.order else does.strong

    def waits(self, at: Instruction) -> bool:
        """Return whether the value of a read decides if its thread continues to wait."""
        return id(at) in self._waiting

    def observes(self, at: Instruction) -> bool:
        """Return whether the kernel reads the result of an atomic."""
        return id(at) in self._observing

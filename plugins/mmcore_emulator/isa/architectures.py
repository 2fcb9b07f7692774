"""Architectures that the emulator can take the place of, and the least that each instruction of PTX needs.

The limits of a compute capability are those of ``mmcore_occupancy``'s table, with as many multiprocessors as its
largest product has: TITAN RTX (7.5), A100 (8.0), RTX 3090 Ti (8.6), RTX 6000 Ada (8.9), H200 (9.0). What an instruction
needs is in its "Target ISA Notes" in the PTX ISA; the tests ask ptxas.
"""

from __future__ import annotations

from typing import TypeAlias

Capability: TypeAlias = tuple[int, int]

MEASURED: Capability = (9, 0)
"""The compute capability whose arithmetic was compared with that of a card, an H200."""
CAPABILITIES: dict[str, Capability] = {
    "emulator": MEASURED,
    **{f"emulator:sm_{major}{minor}": (major, minor) for major, minor in ((7, 5), (8, 0), (8, 6), (8, 9), MEASURED)},
}
"""Compute capability by the name of the device."""


def architecture(capability: Capability) -> str:
    """The architecture to compile for: "80"; "90a", which has the instructions of that architecture alone."""
    return f"{capability[0]}{capability[1]}{'a' * (capability == MEASURED)}"


def described(capability: Capability) -> str:
    """What is emulated, in words."""
    model = "" if capability == MEASURED else " (tensor cores by a published model)"
    return f"compute capability {capability[0]}.{capability[1]}{model}"


def shared_begin(capability: Capability) -> int:
    """Return the address at which a block's shared memory begins.

    From 8.0 on the system takes 1 KiB of each block's share; from 9.0 on the block's addresses begin behind that.
    """
    return 0x400 if capability >= (9, 0) else 0

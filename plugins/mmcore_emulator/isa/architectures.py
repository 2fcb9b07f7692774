"""Architectures that the emulator can emulate, and the compute capability that each instruction of PTX needs.

A compute capability has as many multiprocessors as its largest product: TITAN RTX (7.5), A100 (8.0), RTX 3090 Ti (8.6),
RTX 6000 Ada (8.9), H200 (9.0). The PTX ISA lists the requirements of an instruction under "Target ISA Notes"; the tests
compare them with ptxas.
"""

from __future__ import annotations

import re
from typing import TypeAlias

Capability: TypeAlias = tuple[int, int]

MEASURED: Capability = (9, 0)
"""The compute capability whose arithmetic was compared with a card, an H200."""
CAPABILITIES: dict[str, Capability] = {
    "emulator": MEASURED,
    **{f"emulator:sm_{major}{minor}": (major, minor) for major, minor in ((7, 5), (8, 0), (8, 6), (8, 9), MEASURED)},
}
"""Compute capability by the name of the device."""


def architecture(capability: Capability) -> str:
    """Return the architecture to compile for: "80"; or "90a", with its architecture-specific instructions."""
    return f"{capability[0]}{capability[1]}{'a' * (capability == MEASURED)}"


def split_architecture(name: str) -> tuple[int, int, str]:
    """Return the parts of an architecture: (9, 0, "a") for "90a"; (0, 0, "") for any other text."""
    match = re.fullmatch(r"(\d+)(\d)([af]?)", name)
    return (int(match[1]), int(match[2]), match[3]) if match else (0, 0, "")


def ptx_runs(made_for: str, on: str) -> bool:
    """Return True if PTX for one architecture ("80", "90a", "100f") can be compiled for another."""
    *source, suffix = split_architecture(made_for)
    *device, _ = split_architecture(on)
    if suffix == "a":
        return source == device
    return source <= device and (suffix != "f" or source[0] == device[0])


def described(capability: Capability) -> str:
    """Return a description of the emulated device."""
    model = "" if capability == MEASURED else " (tensor cores by a published model)"
    return f"compute capability {capability[0]}.{capability[1]}{model}"


def shared_begin(capability: Capability) -> int:
    """Return the address at which a block's shared memory begins.

    From 8.0 on the system takes 1 KiB of each block's share; from 9.0 on the block's addresses begin after it.
    """
    return 0x400 if capability >= (9, 0) else 0

"""Architectures that the emulator can take the place of, and the least that each instruction of PTX needs.

The limits of a compute capability are those of ``mmcore_occupancy``'s table, with as many multiprocessors as its
largest product has: TITAN RTX (7.5), A100 (8.0), RTX 3090 Ti (8.6), RTX 6000 Ada (8.9), H200 (9.0). What an instruction
needs is in its "Target ISA Notes" in the PTX ISA; the tests ask ptxas.
"""

from __future__ import annotations

import functools
import re
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


# Opcodes that there are from a compute capability on, the newest first. Those that every one of these has are left out.
_SINCE: tuple[tuple[Capability, str], ...] = (
    (
        (9, 0),
        r"(wgmma|setmaxnreg|stmatrix|mapa|getctarank|elect|griddepcontrol|multimem)\..*|cp\.(reduce\.)?async\.bulk.*"
        r"|(st|red)\.async\..*|.*\.(shared::)?cluster(\..*)?|fence\.(acquire|release|mbarrier_init)\..*"
        r"|(fence|membar)\.proxy\.(async|tensormap).*|mbarrier\.(try_wait|expect_tx|complete_tx)\..*|mbarrier\..*\.expect_tx\..*"
        r"|(atom|red)\..*(bf16(x2)?|\.v[248].*|b128|(min|max)\.noftz.*)|(add|sub|mul|set|setp|ex2|tanh)\..*bf16.*"
        r"|(add|min|max)\..*[us]16x2|(min|max)\.relu\.s32|fma\..*\.oob\..*"
        r"|cvt\.r[nz]\..*tf32\.f32|cvt\.(?!(\w+\.)*bf16(x2)?\.f32$|(r[nzmp]\.)?f32\.bf16$).*bf16.*"
        r"|prefetch\..*tensormap|mma\..*\.m16n8k\d+\..*f64.*",
    ),
    ((8, 9), r"cvt\..*e[45]m[23]x2.*|mma\..*\.e[45]m[23]\..*"),
    ((8, 6), r"(min|max)\..*xorsign\.abs.*"),
    (
        (8, 0),
        r"cp\.async\..*|mbarrier\..*|redux\..*|createpolicy\..*|applypriority\..*|discard\..*|prefetch\..*L2::.*"
        r"|.*\.L2::(cache_hint|256B)(\..*)?|(mma|wmma)\..*\.(bf16|tf32|f64)(\..*)?"
        r"|mma\..*\.(m16n8k16\..*|m16n8k(32|64|128|256)\..*)|cvt\..*(tf32|bf16).*|cvt\..*\.relu\..*|cvt\..*f16x2\.f32"
        r"|(fma|neg|abs|min|max)\..*bf16.*|fma\..*relu.*|(min|max)\.(ftz\.)?(NaN\..*|f16(x2)?)",
    ),
)


@functools.cache
def least_capability(opcode: tuple[str, ...]) -> Capability:
    """The least compute capability that has an instruction; that of the oldest emulated where all of them have it."""
    name = ".".join(opcode)
    found = (since for since, pattern in _SINCE if re.fullmatch(pattern, name))
    return next(found, min(CAPABILITIES.values()))

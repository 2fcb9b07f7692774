"""Instructions of tensor cores: the shapes and types of the matrices that each multiplies."""

from __future__ import annotations

import functools
import math
from typing import NamedTuple

from mmcore_emulator.isa.asynchronous.wgmma_operands import ROWS, WARPGROUP, parse_wgmma
from mmcore_emulator.isa.matrix.mma import mma_kind, shape_named
from mmcore_emulator.isa.matrix.wmma import wmma_mma_kind
from mmcore_emulator.machine.limits import WARP
from mmcore_emulator.ptx.instructions import Instruction
from mmcore_emulator.tensor_cores.fragments import Shape


class Product(NamedTuple):
    """One form of such an instruction."""

    kind: str  # "mma", "wmma" or "wgmma"
    shape: Shape  # M, N and K
    types: tuple[str, ...]  # PTX types of D, A and B

    @property
    def name(self) -> str:
        """The printed name: "mma m16n8k16 f32.f16.f16"."""
        m, n, k = self.shape
        return f"{self.kind} m{m}n{n}k{k} {'.'.join(self.types)}"

    @property
    def flops(self) -> int:
        """Floating-point or integer operations per warp: 2·m·n·k, or a quarter of that for ``wgmma``."""
        warps = WARPGROUP // WARP if self.kind == "wgmma" else 1
        return 2 * math.prod(self.shape) // warps

    @classmethod
    def named(cls, name: str) -> Product:
        """Return the product of a :attr:`name`."""
        kind, shape, types = name.split()
        return cls(kind, shape_named(shape) or (0, 0, 0), tuple(types.split(".")))


def product_of(instruction: Instruction) -> Product | None:
    """Return the product that an instruction computes; None for another instruction."""
    return _product(instruction.opcode)


@functools.cache
def _product(opcode: tuple[str, ...]) -> Product | None:
    if kind := mma_kind(opcode):
        return Product("mma", kind.shape, (kind.d, kind.a, kind.b))
    if of_fragments := wmma_mma_kind(opcode):
        return Product("wmma", of_fragments.shape, (of_fragments.d, of_fragments.a, of_fragments.b))
    if of_warpgroup := parse_wgmma(opcode):
        shape = (ROWS, of_warpgroup.n, of_warpgroup.k)
        return Product("wgmma", shape, (of_warpgroup.accumulator, of_warpgroup.a, of_warpgroup.b))
    return None

"""The rates of a card's units, as cycles that a multiprocessor takes: what predictions and reasons weigh work by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mmcore_emulator.isa.matrix.products import Product
from mmcore_emulator.isa.table import effect
from mmcore_emulator.machine.limits import WARP
from mmcore_emulator.ptx.instructions import Instruction
from mmcore_performance.cards import Card

ISSUE = 1 / 4  # for an instruction of a warp, which four schedulers issue
INTEGER = 1 / 2  # for one on integers
SHARED_PASS = L1_PASS = 1.0  # for a pass over shared memory's banks or through the L1 cache's data pipe
PASS_SECTORS = 4  # sectors that a pass moves, at most
L2_BYTE = 1 / 64  # for a byte to or from the L2 cache
_CONVERSIONS = 16  # lanes that convert to and from float64, if there are as many for its arithmetic
# Capabilities whose published rate of float64 is the tensor cores', twice the other units'.
_TENSOR_DOUBLES = ((8, 0), (9, 0))
_FEW_DOUBLES, _FLOATS, _TENSOR = 2.0, 64.0, 1024.0  # lanes where nothing is published; flops in a cycle
_WARPGROUPS, _OF_A_WARP = (9, 0), 1.5  # there, products of single warps take half as many cycles again, by ncu
SLOW = {"divide32": 20, "divide64": 70, "convert64": 1}
"""Instructions of machine code for one of PTX, about, of the classes that take longer than their unit's others."""
_INTEGERS = ("s16", "u16", "s32", "u32", "s64", "u64", "b32", "b64")
_TYPES = {"f16": "float16", "bf16": "bfloat16", "tf32": "tf32", "f64": "float64", "s8": "int8", "u8": "int8"}


@dataclass(frozen=True)
class Rates:
    """Cycles of a multiprocessor by type of arithmetic, of an instruction of a warp.

    Attributes:
        capability: the card's.
        single, double: a multiply-add of float32 and of float64.
        conversion: a conversion to or from float64.
        tensor: cycles of a floating-point or integer operation of tensor cores, by the type that they multiply.
    """

    capability: tuple[int, int]
    single: float
    double: float
    conversion: float
    tensor: Mapping[str, float]

    def tensor_cycles(self, products: Mapping[Product, float]) -> float:
        """Return the cycles of instructions of tensor cores, by what they multiply."""
        return sum(product.flops * count * self._tensor(product) for product, count in products.items())

    def _tensor(self, product: Product) -> float:
        dtype = _TYPES.get(product.types[1], "float8")
        cycles = self.tensor.get(dtype, self.tensor.get("float16", 1 / _TENSOR))
        slow = self.capability == _WARPGROUPS and product.kind != "wgmma" and dtype != "float64"
        return cycles * _OF_A_WARP if slow else cycles


def rates_of(card: Card) -> Rates:
    """Return the rates of a card's multiprocessors, from its published peak rates."""
    flops = card.peaks.flops if card.peaks else {}
    per_cycle = {name: rate / (card.multiprocessors * card.clock_hz) for name, rate in flops.items()}
    doubles = per_cycle.get("float64", 2 * _FEW_DOUBLES) / 2
    doubles /= 2 if card.capability in _TENSOR_DOUBLES else 1
    return Rates(
        card.capability,
        single=WARP / (per_cycle.get("float32", 2 * _FLOATS) / 2),
        double=WARP / doubles,
        conversion=WARP / min(doubles, _CONVERSIONS),
        tensor={name: 1 / rate for name, rate in per_cycle.items()},
    )


def class_of(at: Instruction) -> str:
    """Return the class of an instruction.

    It is "single", "half" or "fp64" of arithmetic, or "convert64", "divide32", "divide64", "integer" or "other".
    """
    name, kind = at.opcode[0], effect(at).kind
    if name == "cvt" and "f64" in at.opcode:
        return "convert64"
    if name in ("div", "rem") and at.opcode[-1] in _INTEGERS:
        return f"divide{64 if at.opcode[-1].endswith('64') else 32}"
    if kind == "compute" and at.opcode[-1] == "f64":
        return "fp64"
    if effect(at).flops:
        return "single" if at.opcode[-1].startswith("f32") else "half"
    return "integer" if kind == "compute" and at.opcode[-1] in _INTEGERS else "other"

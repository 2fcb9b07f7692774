"""The emulator's tensor cores against MMA-Sim, an independent model of them, bit for bit.

It compares every instruction that both know, on the kinds of numbers of ``bench.studies.tensor_cores``. It needs no
GPU, but the package mmasim (github.com/microsoft/MMA-Sim), and with it PyTorch, ninja and a C++ compiler.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch
from mmasim.nv_ptx import isa_mma, isa_wgmma
from mmasim.nv_ptx.sim import MMA, WGMMA

from bench.studies.study import write
from bench.studies.tensor_cores.numbers import FLOATS, Case, Draw, Operands, Values
from mmcore_emulator.tensor_cores.arithmetic import arithmetic_of
from mmcore_emulator.tensor_cores.elements import bits_of, values
from mmcore_emulator.tensor_cores.summation import multiply_add

#: The name in mmasim of each compute capability of the emulator.
ARCHITECTURES = {(7, 5): "Turing", (8, 0): "Ampere", (8, 6): "Ampere", (8, 9): "Ada Lovelace", (9, 0): "Hopper"}
#: For each instruction and compute capability, spread over the kinds of numbers.
DOT_PRODUCTS = 100_000
#: PyTorch's types of bit patterns, by their bytes.
_STORED = {1: np.uint8, 2: np.int16, 4: np.int32, 8: np.int64}


@dataclass(frozen=True)
class Compared:
    """An instruction that both models know; its form is mmasim's: "m16n8k16.f32.f16.f16.f32", without C in wgmma."""

    capability: tuple[int, int]
    instruction: str
    form: str

    @property
    def name(self) -> str:
        return f"{self.instruction} {self.form}"

    @property
    def case(self) -> Case:
        """The types of A, B and C, and k."""
        shape, d, a, b, *c = self.form.split(".")
        return Case(self.instruction, a, b, c[0] if c else d, int(shape.split("k")[1]))

    @property
    def result(self) -> str:
        """The type of D."""
        return self.form.split(".")[1]

    def operands(self, kind: str, dot_products: int) -> Operands:
        """Draw bit patterns of A [W, M, K], B [W, K, 8] and C [W, M, 8], the same each time."""
        seed = [*self.name.encode(), 0, *kind.encode()]
        return FLOATS[kind](Draw(self.case, seed, dot_products))

    def emulated(self, a: Values, b: Values, c: Values) -> Values:
        """Return the bit patterns of D on the emulator."""
        case = self.case
        types = case.a, case.b, self.result
        arithmetic = arithmetic_of(self.capability, self.instruction, *types, case.k, c_type=case.result)
        product = multiply_add(values(a, case.a), values(b, case.b), values(c, case.result), arithmetic)
        return bits_of(product, self.result).view(f"u{product.itemsize}")

    def simulated(self, a: Values, b: Values, c: Values) -> Values:
        """Return the bit patterns of D by mmasim."""
        model = (MMA if self.instruction == "mma" else WGMMA)(ARCHITECTURES[self.capability], self.form)
        left, right, start = (
            torch.from_numpy(np.ascontiguousarray(bits).view(_STORED[bits.itemsize])).view(dtype)
            for bits, dtype in ((a, model.a_type), (b.swapaxes(1, 2), model.b_type), (c, model.c_type))
        )
        shape = (*c.shape, a.shape[-1])
        made = model.dpa(left[:, :, None].expand(shape), right[:, None].expand(shape), start)
        size = made.element_size()
        bits: Values = made.contiguous().view(torch.uint8).numpy().view(f"u{size}").reshape(c.shape)
        return bits

    def differences(self, kind: str, dot_products: int) -> dict[str, Any]:
        """Count the dot products that differ, and separately the NaN of other bits; add an example."""
        operands = self.operands(kind, dot_products)
        found, expected = self.emulated(*operands), self.simulated(*operands)
        differ = found != expected
        nan = differ & np.isnan(values(found, self.result)) & np.isnan(values(expected, self.result))
        made: dict[str, Any] = {"dot products": found.size, "differ": int((differ & ~nan).sum()), "NaN": int(nan.sum())}
        for tile, row, column in np.argwhere(differ & ~nan)[:1]:
            a, b, c = operands
            row_and_column = {"a": a[tile, row], "b": b[tile, :, column], "c": c[tile, row, column]}
            both = {"emulator": found[tile, row, column], "mmasim": expected[tile, row, column]}
            made["example"] = {name: [hex(x) for x in np.ravel(bits)] for name, bits in (row_and_column | both).items()}
        return made


def compared() -> Iterator[Compared]:
    """Yield every instruction of mmasim's, by compute capability; the emulator has all of them."""
    for capability, name in ARCHITECTURES.items():
        for form in isa_mma.mma_shape_and_type[name]:
            yield Compared(capability, "mma", form)
        for form in isa_wgmma.wgmma_shape_and_type.get(name, ()):
            if form.startswith("m64n8k"):  # the number of columns makes no difference
                yield Compared(capability, "wgmma", form)


def main(results: Path) -> None:
    """Compare everything, print a line for each instruction and write the counts."""
    rows = []
    for each in compared():
        counts = [each.differences(kind, -(-DOT_PRODUCTS // len(FLOATS))) for kind in FLOATS]
        row = {"capability": ".".join(map(str, each.capability)), "instruction": each.name} | {
            key: sum(count[key] for count in counts) for key in ("dot products", "differ", "NaN")
        }
        rows.append(row)
        print(*row.values(), sep="\t", flush=True)
        for kind, count in zip(FLOATS, counts, strict=True):
            if count["differ"]:
                print(f"    {kind}: {json.dumps(count)}", flush=True)
    write(results, {"mmasim": version("mmasim")}, rows=rows)

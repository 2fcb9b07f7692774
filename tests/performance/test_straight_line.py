"""Loads that the assembler joins, chains of waits, and passes through the L1 cache: what a basic block costs."""

from __future__ import annotations

import numpy as np
import pytest

from mmcore.cell import Cell
from mmcore_emulator.executor.translation.control_flow import blocks_of
from mmcore_emulator.profiler.counters import total
from mmcore_emulator.ptx.instructions import Block
from mmcore_emulator.ptx.reader import parse
from mmcore_performance.cache_passes import cache_passes
from mmcore_performance.cards import cards
from mmcore_performance.counted import profiled
from mmcore_performance.critical_path import critical_path
from mmcore_performance.gathering import card_plan
from mmcore_performance.joined_loads import joined_loads

WARP = np.arange(32, dtype=np.uint64)[np.newaxis]


def block_of(body: str) -> Block:
    """Return the basic block of a function with this body."""
    registers = ".reg .b32 %r<9>; .reg .f32 %f<9>; .reg .f64 %d<9>; .reg .b64 %rd<9>;"
    text = f".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry f()\n{{\n{registers}\n{body}\nret;\n}}\n"
    return blocks_of(parse(text)["f"])[0]


def loads(*offsets: int, base: str = "%r1", kind: str = "f32") -> str:
    """Return loads from shared memory at these offsets."""
    letter = {"f32": "f", "f64": "d"}[kind]
    return "".join(f"ld.shared.{kind} %{letter}{at}, [{base}+{offset}];\n" for at, offset in enumerate(offsets, 1))


@pytest.mark.parametrize(
    ("body", "widths"),
    [
        (loads(0, 4, 8, 12), [16] * 4),
        (loads(12, 8, 4, 0), [16] * 4),
        (loads(0, 4), [8] * 2),
        (loads(0, 8, kind="f64"), [16] * 2),
        (loads(0, 128, 256), []),
        (loads(4, 8), []),
        (loads(0) + "st.shared.f32 [%r2], %f8;\n" + loads(4), []),
        (loads(0) + "add.s32 %r1, %r1, 4;\n" + loads(4), []),
        (loads(0) + loads(4, base="%r2"), []),
        (loads(0, 4, 8, 12, 16, 20, 64), [16] * 4 + [8] * 2),
    ],
)
def test_neighbouring_loads_are_joined_unless_something_is_stored_between_them(body: str, widths: list[int]) -> None:
    assert sorted(place.width for place in joined_loads([block_of(body)]).values()) == sorted(widths)


@pytest.mark.parametrize(
    ("body", "waits"),
    [
        ("ld.global.f32 %f1, [%rd1];\n", {}),
        ("ld.global.f32 %f1, [%rd1];\nst.shared.f32 [%r1], %f1;\n", {"load": 1}),
        ("ld.global.f32 %f1, [%rd1];\nld.global.f32 %f2, [%rd2];\nfma.rn.f32 %f3, %f1, %f2, %f3;\n",
         {"load": 1, "arithmetic": 1}),
        ("ld.global.u64 %rd2, [%rd1];\nld.global.f32 %f1, [%rd2];\nst.shared.f32 [%r1], %f1;\n", {"load": 2}),
        (loads(0) + "fma.rn.f32 %f3, %f1, %f1, %f3;\n" * 4, {"shared_load": 1, "arithmetic": 4}),
        ("".join(f"fma.rn.f32 %f{at}, %f8, %f8, %f{at};\n" for at in range(4)), {"arithmetic": 1}),
    ],
)  # fmt: skip
def test_waits_are_those_of_the_longest_chain(body: str, waits: dict[str, int]) -> None:
    assert critical_path(block_of(body)) == waits


@pytest.mark.parametrize(
    ("address", "nbytes", "passes"),
    [
        (WARP * 4, 4, 1),
        (WARP * 0, 4, 1),
        (WARP * 8, 8, 2),
        (WARP * 0, 8, 2),
        (WARP * 16, 16, 4),
        (WARP * 4096, 4, 32),
        (WARP // 16 * 4096 + WARP % 16 * 4, 4, 2),
    ],
)
def test_an_access_takes_a_pass_for_each_line_of_each_part_of_a_warp(
    address: np.ndarray[tuple[int, ...], np.dtype[np.uint64]], nbytes: int, passes: int
) -> None:
    assert cache_passes(address.astype(np.uint64), np.ones((1, 32), np.bool_), nbytes) == passes


def test_a_tiled_kernel_takes_a_pass_and_a_half_for_each_multiply_add() -> None:
    cell, plan = card_plan(Cell("hpsee.tiled", 64, 64, 64, config={"block": [32, 32]}, seed=1), cards()["H200"])
    (counts,) = profiled(cell, plan)
    counters = total(counts.lines.values())
    # Four elements of A are one load of 16 bytes in two passes; each element of B is a load of its own (so says ncu).
    assert counters.shared_load_wavefronts - counts.passes["joined"] == 1.5 * counters.fmas / 32
    assert counts.waits["load"] == counters.global_load_requests / 2

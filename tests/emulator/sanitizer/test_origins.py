"""The cause of a wrong wgmma: the one change that alone gives the matrix which its instruction means."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from mmcore_emulator.isa.asynchronous.descriptor_changes import Matrices
from mmcore_emulator.isa.asynchronous.wgmma_operands import Descriptor, chunk_addresses
from mmcore_emulator.machine.asynchronous.events import Transfer
from mmcore_emulator.machine.asynchronous.tensor_maps import TensorLayout
from mmcore_emulator.ptx.instructions import Instruction
from mmcore_emulator.sanitizer.asynchronous.origins import Origins

ROWS, K, BYTES, ROW_BYTES = 64, 16, 2, 4096
RIGHT = {"start": 4096, "leading": 16, "stride": 1024, "base_offset": 0, "swizzle": 128}
PLAIN = RIGHT | {"leading": 128, "stride": 256, "swizzle": 0}


def matrices(fields: dict[str, int], k: int = K) -> Matrices:
    signed = ("base_offset", "swizzle")
    parts = {name: np.array([value], np.int64 if name in signed else np.uint64) for name, value in fields.items()}
    return Matrices(Descriptor(**parts), np.zeros(1, np.int64), ROWS, k, BYTES, "K")


def words(read: Matrices) -> Any:
    places = chunk_addresses(read.parts, read.rows, read.k, read.element_bytes, read.major)[0].astype(np.int64)
    return (places.reshape(-1, 1) // 4 + np.arange(4)).reshape(1, -1)


def mistake(
    written: Any,
    read: dict[str, int],
    k: int = K,
    tensor: TensorLayout | None = None,
    rows: Any = range(ROWS),
    of_copy: str = "",
    **order: Any,
) -> str:
    """Write rows as one descriptor reads them, or to words, and return what is found wrong with another one."""
    origins, chunks = Origins(1), np.arange(k * BYTES // 16)
    places = words(matrices(written, k)) if isinstance(written, dict) else written
    origins.land_in_bulk(places, (1 << 20) + (np.array(rows)[:, None] * ROW_BYTES + chunks * 16).reshape(1, -1))
    wrong = replace(matrices(read), **order)
    lanes, at = np.zeros((1, 128), np.int64), Instruction(("",), ())
    shape = (ROWS, wrong.k * BYTES // 16) if wrong.major == "K" else (wrong.k, ROWS * BYTES // 16)
    reading = Transfer(at, lanes, words(wrong), False, shape=shape, major=wrong.major, changes=wrong.changes)
    copy = replace(reading, tensor=tensor, tensor_name="A", major=of_copy)
    return origins.mistake(reading, np.zeros(1, np.int64), copy)


@pytest.mark.parametrize(
    ("written", "change", "said"),
    [
        (RIGHT, {"swizzle": 64}, "swizzle is wrong (128 would be right)"),
        (RIGHT, {"stride": 512}, "stride byte offset is wrong (1024 would be right)"),
        (RIGHT, {"start": 4096 + 6 * 1024}, "start address is wrong"),
        (PLAIN, {"leading": 64}, "leading byte offset is wrong (128 would be right)"),
        (PLAIN, {"leading": 256, "stride": 128}, "leading and stride byte offsets are exchanged"),
    ],
)
def test_the_field_that_is_wrong_is_named(written: dict[str, int], change: dict[str, int], said: str) -> None:
    assert mistake(written, written | change, 64 if written is RIGHT else K) == f"; the descriptor's {said}"


def test_the_order_that_the_instruction_names_comes_first() -> None:
    said = mistake(RIGHT, RIGHT, 64, major="MN", constant=("imm-trans-a", "the last but one"))
    assert said.startswith(
        "; the wgmma's constant imm-trans-a, the last but one, is 1 for an MN-major matrix, and the "
    )
    assert "copy is K-major (0 would be right)" in said


def test_an_order_that_no_constant_names_is_no_mistake() -> None:
    assert "major" not in mistake(RIGHT, RIGHT, 64, major="MN")


def test_the_swizzle_of_the_tensor_map_that_fits_is_named() -> None:
    in_order = RIGHT["start"] // 4 + np.arange(ROWS * 64 * BYTES // 4).reshape(1, -1)
    box = TensorLayout(0, "bfloat16", (2048, 64), (2, ROW_BYTES), (64, 64))
    said = mistake(in_order, RIGHT, 64, tensor=box)
    assert said == "; the tensor map of A has no swizzle (CU_TENSOR_MAP_SWIZZLE_128B would fit the descriptor)"


@pytest.mark.parametrize(
    ("order", "start", "said"),
    [
        ("K", 0, "line 0 is A from (0, 0) on, fastest axis first, so line 32 needs (0, 32), and (0, 0) is there"),
        ("MN", 32, "the instruction reads a matrix that is MN-major, and A is K-major"),
    ],
)
def test_rows_that_are_copied_twice_are_no_mistake_of_the_descriptor(order: str, start: int, said: str) -> None:
    box = TensorLayout(1 << 20, "bfloat16", (2048, 64), (2, ROW_BYTES), (64, 32), 128)
    read = RIGHT | {"start": RIGHT["start"] + start}
    constant = ("imm-trans-b", "the last one")
    found = mistake(RIGHT, read, 64, box, [*range(32)] * 2, "K", major=order, constant=constant)
    assert found == f"; {said}"


def test_no_field_is_named_where_two_are_wrong() -> None:
    assert mistake(RIGHT, RIGHT | {"swizzle": 32, "stride": 512}, 64) == ""

"""The field of a wgmma descriptor that is wrong is named where its change alone gives the matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mmcore_emulator.isa.asynchronous.descriptor_changes import Matrices
from mmcore_emulator.isa.asynchronous.wgmma_operands import Descriptor, chunk_addresses
from mmcore_emulator.machine.asynchronous.events import Transfer
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


def mistake(written: dict[str, int], read: dict[str, int], k: int = K) -> str:
    """Write rows as one descriptor reads them, and return what is found wrong with another one."""
    origins, whole = Origins(1), matrices(written, k)
    chunks = np.arange(k * BYTES // 16)
    origins.land_in_bulk(words(whole), (1 << 20) + (np.arange(ROWS)[:, None] * ROW_BYTES + chunks * 16).reshape(1, -1))
    wrong = matrices(read)
    lanes = np.zeros((1, 128), np.int64)
    shape = (ROWS, K * BYTES // 16)
    return origins.mistake(
        Transfer(Instruction(("",), ()), lanes, words(wrong), False, shape=shape, changes=wrong.changes), 0
    )


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


def test_no_field_is_named_where_two_are_wrong() -> None:
    assert mistake(RIGHT, RIGHT | {"swizzle": 32, "stride": 512}, 64) == ""

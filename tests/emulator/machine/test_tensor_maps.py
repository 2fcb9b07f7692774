"""Tensor maps: the elements of boxes, the bytes of maps, and what the driver refuses."""

from __future__ import annotations

import itertools
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from numpy.typing import NDArray

from mmcore.devices.base import MatrixMap
from mmcore.kernel.arguments import TensorMap
from mmcore_emulator.adapter.conversions import tensor_layout
from mmcore_emulator.machine.asynchronous import boxes, tensor_maps
from mmcore_emulator.machine.asynchronous.tensor_maps import TensorLayout

Array = NDArray[Any]
Numbers = tuple[int, ...]


def layout_of(shape: Numbers, box: Numbers, swizzle: int = 0, steps: Numbers = ()) -> TensorLayout:
    """Return a layout of packed uint16, extents slowest first; rows are padded to 16 bytes."""
    extents = (-(-shape[-1] // 8) * 8, *shape[-2:0:-1])
    strides = tuple(itertools.accumulate(extents[: len(shape) - 1], int.__mul__, initial=2))
    return TensorLayout(1 << 20, "uint16", shape[::-1], strides, box[::-1], swizzle, steps=steps)


def box_by_elements(layout: TensorLayout, content: Array, first: Numbers, destination: int) -> dict[int, int]:
    """Return what a box holds by address in shared memory, element after element."""
    bits, found = {0: 0, 32: 1, 64: 2, 128: 3}[layout.swizzle], {}
    steps = (1, *(layout.steps or (1,) * layout.rank)[1:])
    ranges = [range(0, each, step) for each, step in zip(layout.box, steps, strict=True)]
    for number, index in enumerate(itertools.product(*ranges[::-1])):
        place = [start + each for start, each in zip(first, index[::-1], strict=True)]
        inside = all(0 <= each < extent for each, extent in zip(place, layout.extents, strict=True))
        offset = sum(each * stride for each, stride in zip(place, layout.strides, strict=True))
        row, column = divmod(number, layout.box[0])
        address = destination + row * max(2 * layout.box[0], layout.swizzle) + 2 * column
        for bit in range(bits):
            address ^= (address >> (7 + bit) & 1) << (4 + bit)
        found[address] = int(content[offset // 2]) if inside else 0
    return found


@pytest.mark.parametrize(
    ("shape", "box", "first", "swizzle", "steps"),
    [
        ((100,), (64,), (16,), 0, ()),
        ((100,), (64,), (80,), 0, ()),
        ((40, 100), (16, 64), (8, 3), 128, ()),
        ((40, 100), (16, 64), (72, 30), 128, ()),
        ((40, 100), (16, 64), (-5, -3), 128, ()),
        ((40, 40), (24, 32), (5, 7), 64, ()),
        ((40, 40), (24, 16), (30, 7), 32, ()),
        ((40, 40), (24, 32), (200, 7), 0, ()),
        ((40, 80), (8, 32), (40, 2), 128, ()),
        ((5, 9, 70), (2, 4, 64), (10, 7, 4), 128, ()),
        ((5, 9, 70), (4, 8, 16), (10, -1, 1), 32, (8, 2, 3)),
        ((3, 4, 5, 16), (2, 2, 4, 8), (0, 3, 1, 2), 0, ()),
        ((2, 3, 2, 5, 24), (1, 2, 2, 3, 16), (8, -1, 1, 2, 1), 32, ()),
    ],
)
@pytest.mark.parametrize("destination", [0, 128, 0x400 + 896])
def test_boxes_and_their_rows_hold_what_a_loop_over_their_elements_finds(
    shape: Numbers, box: Numbers, first: Numbers, swizzle: int, steps: Numbers, destination: int
) -> None:
    layout = layout_of(shape, box, swizzle, steps)
    content = np.random.default_rng(0).integers(1, 2**16, size=1 << 14, dtype=np.uint16)
    assert not layout.problems()
    offsets, inside, shared = boxes.box_elements(layout, np.array(first, np.int32), destination)
    values = np.where(inside, content[np.where(inside, offsets, 0) // 2], 0)
    expected = box_by_elements(layout, content, first, destination)
    assert dict(zip((destination + shared).tolist(), values.tolist(), strict=True)) == expected
    assert layout.nbytes == 2 * len(expected)
    begin, nbytes = boxes.box_rows(layout, np.array(first, np.int32))
    rows = zip((begin - layout.address).tolist(), nbytes.tolist(), strict=True)
    bytes_of_rows = [place for start, count in rows for place in range(start, start + count)]
    assert sorted(bytes_of_rows) == sorted(place + byte for place in offsets[inside].tolist() for byte in range(2))


def test_boxes_of_many_blocks_at_once() -> None:
    layout = layout_of((40, 100), (16, 64), 128)
    first = np.array([[[0, 0], [64, 8]], [[-1, 0], [0, 39]]], np.int32)
    destinations = np.array([[0, 128], [1024, 2048]], np.uint64)
    together = boxes.box_elements(layout, first, destinations)
    assert together.inside.shape == together.global_offsets.shape == together.shared_offsets.shape == (2, 2, 1024)
    for place in np.ndindex(2, 2):
        alone = boxes.box_elements(layout, first[place], int(destinations[place]))
        for whole, part in zip(together, alone, strict=True):
            assert (whole[place] == part).all()


@pytest.mark.parametrize(("columns", "first"), [(100, 0), (128, 3)])
def test_elements_stay_single_where_16_bytes_are_not_whole(columns: int, first: int) -> None:
    layout = layout_of((40, columns), (16, 64))
    assert boxes.widened(layout, np.array([first, 0]))[0] == layout


@pytest.mark.parametrize(
    "layout",
    [
        layout_of((100,), (64,)),
        layout_of((40, 2**32), (16, 64), 128),
        layout_of((2, 3, 2, 5, 24), (1, 2, 2, 3, 16), 32, (1, 2, 3, 4, 5)),
        TensorLayout(1 << 40, "bfloat16", (8, 8), (2, 16), (8, 8), nan=True),
    ],
)
def test_a_tensor_map_goes_through_its_bytes_and_other_bytes_are_none(layout: TensorLayout) -> None:
    content = bytearray(layout.encode())
    assert len(content) == 128
    assert tensor_maps.decode(bytes(content)) == layout
    assert tensor_maps.decode(bytes(content[:64])) is tensor_maps.decode(bytes(128)) is None
    content[20] ^= 1
    assert tensor_maps.decode(bytes(content)) is None


@pytest.mark.parametrize(
    ("dtype", "kind", "size"),
    [("bfloat16", "uint16", 2), ("tf32", "float32", 4), ("int8", "uint8", 1), ("float64", "float64", 8)],
)
def test_a_launch_binds_the_map_that_a_gpu_would_get(dtype: str, kind: str, size: int) -> None:
    buffer = cast(Any, SimpleNamespace(label="A", address=1 << 30))
    bound = MatrixMap(TensorMap("A", (16, 8), 0), buffer, (48, 64), (96, 1), dtype)
    assert tensor_layout(bound) == TensorLayout(1 << 30, kind, (64, 48), (size, 96 * size), (8, 16))


@pytest.mark.parametrize(
    ("layout", "sentence"),
    [
        (layout_of((40, 100), (16, 4)), "a row of the box has 8 bytes, no multiple of 16"),
        (layout_of((40, 100), (16, 64), 64), "a row of the box has 128 bytes, more than the swizzle's 64"),
        (layout_of((40, 100), (257, 8)), "the box's extents are not between 1 and 256"),
        (TensorLayout(8, "uint8", (64,), (1,), (16,)), "its address 0x8 is no multiple of 16"),
        (TensorLayout(0, "uint8", (60, 8), (1, 60), (16, 8)), "a stride is no multiple of 16 bytes below 2^40"),
        (TensorLayout(0, "uint8", (64,), (1,), (16,), nan=True), "uint8 has no NaN"),
        (TensorLayout(0, "uint8", (64,), (2,), (16,)), "the first stride is 2 bytes, not an element's"),
        (TensorLayout(0, "uint8", (64,), (1,), (16, 1)), "it has no box, extents and strides of as many axes"),
    ],
)
def test_maps_that_the_driver_refuses(layout: TensorLayout, sentence: str) -> None:
    assert layout.problems() == [sentence]


def test_boxes_begin_at_multiples_of_128_bytes_and_may_be_filled_with_nan() -> None:
    (problem,) = layout_of((40, 100), (16, 64)).destination_problems(np.array([0, 64, 128], np.uint64))
    assert problem.lanes.tolist() == [False, True, False]
    assert problem.clause == "its address in shared memory is no multiple of 128"
    with_nan = TensorLayout(0, "float32", (8, 8), (4, 32), (8, 8), nan=True)
    assert np.isnan(np.frombuffer(with_nan.fill, np.float32)).all()
    assert layout_of((8,), (8,)).fill == bytes(2)

"""Copies by tensor maps: elements outside a tensor, pixels in im2col mode, and maps that do not fit the instruction."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from numpy.typing import NDArray

from mmcore_emulator import TensorMap, launch
from mmcore_emulator.machine.asynchronous.boxes import box_elements, box_rows
from mmcore_emulator.machine.asynchronous.tensor_maps import TensorLayout, decode
from tests.emulation import Emulated, emulate
from tests.emulator.kernels import kernel_source

Index = tuple[int, ...]

BASE = (1 << 40) + (1 << 39)
"""Address of the first array on the emulator."""


def copied(layout: TensorLayout, memory: NDArray[np.generic], copy: str) -> Emulated:
    """Run a kernel that copies one box into shared memory and from there to its second array."""
    out = np.zeros(layout.nbytes, np.uint8)
    source = kernel_source("box_to_shared", NBYTES=layout.nbytes, COPY=copy)
    return emulate(source, memory, out, layout.encode(), architecture="90a", shared_bytes=layout.nbytes)


TILE = "2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {-2, 1}], [%2];"


@pytest.mark.parametrize(("kind", "bits"), [("float16", 0x7FF7), ("bfloat16", 0x7FF7), ("float32", 0x7FF77FF7)])
@pytest.mark.parametrize("nan", [False, True])
def test_elements_outside_a_tensor_are_zero_or_nan(kind: str, bits: int, nan: bool) -> None:
    dtype = np.dtype("u4" if kind == "float32" else "u2")
    memory = np.random.default_rng(1).integers(1, 2**15, (3, 16)).astype(dtype)
    strides = dtype.itemsize, dtype.itemsize * 16
    layout = TensorLayout(BASE, kind, (16, 3), strides, (16, 4), nan=nan)
    made = copied(layout, memory, TILE)
    assert made.violations == []
    expected = np.full((4, 16), bits if nan else 0, dtype)
    expected[:2, 2:] = memory[1:, :14]
    np.testing.assert_array_equal(made.arrays[1].view(dtype).reshape(4, 16), expected)


@pytest.mark.parametrize("axes", [1, 3])
def test_a_map_of_other_axes_is_reported(axes: int) -> None:
    extents, strides, box = (8, 4, 2)[:axes], (4, 32, 128)[:axes], (8, 2, 1)[:axes]
    layout = TensorLayout(BASE, "float32", extents, strides, box)
    made = copied(layout, np.zeros(64, np.float32), TILE)
    assert f"copies in tiled mode with 2 axes by a tensor map in tiled mode with {axes}" in " ".join(
        map(str, made.violations)
    )


def test_a_parameter_without_grid_constant_is_named_as_the_cause() -> None:
    layout = TensorLayout(BASE, "float32", (8, 4), (4, 32), (8, 2))
    text = kernel_source("box_to_shared", NBYTES=layout.nbytes, COPY=TILE).replace("__grid_constant__", "")
    arguments = np.zeros(64, np.float32), np.zeros(layout.nbytes, np.uint8), layout.encode()
    first, *rest = emulate(text, *arguments, architecture="90a", shared_bytes=layout.nbytes).violations
    assert "in local memory: without __grid_constant__, a parameter's address is that of a thread's copy" in str(first)
    assert first.hint == "const __grid_constant__ CUtensorMap as the parameter's type"
    assert [(each.kind, each.hint) for each in rest] == [("deadlock", "")], "no bytes are left to expect less"


def test_rows_narrower_than_the_swizzle_take_as_many_bytes_as_it() -> None:
    """Measured on an H100, in tiled and im2col mode."""
    memory = np.arange(90 * 4, dtype=np.float32).reshape(90, 4)
    layout = TensorLayout(BASE, "float32", (4, 90), (4, 16), (4, 9), swizzle=128)
    places = box_elements(layout, np.array([0, 0])).shared_offsets.reshape(9, 4)
    assert (places[:, 0] // 128 == np.arange(9)).all()
    assert (places[:, 0] % 128 == 16 * (np.arange(9) % 8)).all()
    made = copied(layout, memory, TILE)
    assert "bytes past the end of" in " ".join(map(str, made.violations))


# In im2col mode.


def walk(layout: TensorLayout, start: Index, offsets: Index) -> Iterator[Index]:
    """Yield the channel-less index of each pixel, W first, one step after the other."""
    assert layout.corners is not None
    position, steps = [*start[1:]], layout.steps or (1,) * layout.rank
    for _ in range(layout.box[1]):
        yield (*(each + more for each, more in zip(position, (*offsets, 0), strict=True)),)
        for axis in range(layout.rank - 2):
            position[axis] += steps[axis + 1]
            if position[axis] <= layout.extents[axis + 1] - 1 + layout.corners[1][axis]:
                break
            position[axis] = layout.corners[0][axis]
        else:
            position[-1] += steps[-1]


def column(layout: TensorLayout, tensor: NDArray[np.uint16], start: Index, offsets: Index) -> NDArray[np.uint16]:
    """Return the expected result of a copy, pixel by pixel; the tensor's axes are N, D, H, W and C."""
    fill = np.frombuffer(layout.fill, np.uint16)[0]
    found = np.full(layout.box[::-1], fill, np.uint16)
    for row, pixel in enumerate(walk(layout, start, offsets)):
        for channel in range(layout.box[0]):
            index = (*pixel[::-1], start[0] + channel)
            if all(0 <= each < size for each, size in zip(index, tensor.shape, strict=True)):
                found[row, channel] = tensor[index]
    return found


def drawn(rng: np.random.Generator, rank: int) -> tuple[TensorLayout, NDArray[np.uint16], Index, Index]:
    """Draw a tensor of halves, its map, the coordinates of a copy and its offsets."""
    shape = *rng.integers(2, 7, rank - 1), 8 * int(rng.integers(1, 4))
    tensor = rng.integers(1, 2**15, shape, np.uint16)
    extents = tuple(map(int, shape[::-1]))
    lower = rng.integers(-3, 2, rank - 2)
    upper = np.maximum(rng.integers(-3, 3, rank - 2), lower - np.array(extents[1:-1]) + 1)
    steps = tuple(map(int, rng.integers(1, 4, rank))) if rng.integers(2) else ()
    layout = TensorLayout(
        BASE,
        "float16",
        extents,
        tensor.strides[::-1],
        (8 * int(rng.integers(1, 3)), int(rng.integers(1, 40))),
        int(rng.choice((0, 32, 64, 128))),
        steps,
        bool(rng.integers(2)),
        (tuple(map(int, lower)), tuple(map(int, upper))),
    )
    inside = (int(rng.integers(low, high + 1)) for low, high in layout.pixel_bounds)
    start = 8 * int(rng.integers(-1, extents[0] // 8)), *inside, int(rng.integers(-1, extents[-1] + 1))
    return layout, tensor, start, tuple(map(int, rng.integers(0, 4, rank - 2)))


@pytest.mark.parametrize("rank", [3, 4, 5])
@pytest.mark.parametrize("seed", range(40))
def test_pixels_are_those_of_a_walk_through_the_bounding_box(rank: int, seed: int) -> None:
    layout, tensor, start, offsets = drawn(np.random.default_rng(100 * rank + seed), rank)
    assert layout.problems() == []
    assert decode(layout.encode()) == layout
    place, inside, shared = box_elements(layout, np.array([*start, *offsets]), 1024)
    assert len({*shared.tolist()}) == len(shared) == layout.nbytes // 2
    fill = np.frombuffer(layout.fill, np.uint16)
    brought = np.where(inside, tensor.reshape(-1)[np.where(inside, place, 0) // 2], fill)
    expected = column(layout, tensor, start, offsets)
    np.testing.assert_array_equal(brought.reshape(expected.shape), expected)
    _, lengths = box_rows(layout, np.array([*start, *offsets]))
    assert (lengths == 2 * inside.reshape(expected.shape).sum(1)).all()


def load_of(start: Index, offsets: Index) -> str:
    coordinates, moved = (", ".join(map(str, each)) for each in (start, offsets))
    done = "mbarrier::complete_tx::bytes"
    return f"{len(start)}d.shared::cluster.global.im2col.{done} [%0], [%1, {{{coordinates}}}], [%2], {{{moved}}};"


@pytest.mark.parametrize("rank", [3, 4, 5])
@pytest.mark.parametrize("seed", range(4))
def test_a_kernel_loads_a_column_of_pixels(rank: int, seed: int) -> None:
    layout, tensor, start, offsets = drawn(np.random.default_rng(900 * rank + seed), rank)
    layout = TensorLayout(**{**vars(layout), "swizzle": 0})
    made = copied(layout, tensor, load_of(start, offsets))
    assert made.violations == []
    brought = made.arrays[1].view(np.uint16).reshape(layout.box[::-1])
    np.testing.assert_array_equal(brought, column(layout, tensor, start, offsets))


IMAGES = np.random.default_rng(3).integers(1, 999, (2, 4, 5, 8)).astype(np.uint32)
BOUNDS = ((1, 0), (-1, -1))


def images(box: tuple[int, int] = (4, 11), kind: str = "uint32") -> TensorLayout:
    """Return a map of two images of 4×5 pixels of 8 channels, without the first and last columns and the last row."""
    return TensorLayout(BASE, kind, IMAGES.shape[::-1], IMAGES.strides[::-1], box, corners=BOUNDS)


def test_the_api_takes_axes_in_the_order_of_the_array() -> None:
    out = np.zeros((11, 4), np.uint32)
    arguments = IMAGES, out, TensorMap(IMAGES, (11, 4), corners=(BOUNDS[0][::-1], BOUNDS[1][::-1]))
    source = kernel_source("box_to_shared", NBYTES=176, COPY=load_of((4, 2, 1, 0), (0, 1)))
    assert launch(source, "f", grid=1, block=32, args=arguments, shared_bytes=176).ok
    assert out[0].tolist() == IMAGES[0, 2, 2, 4:].tolist()


@pytest.mark.parametrize(
    ("copy", "adds"),
    [
        ("cp.async.bulk.tensor.4d.global.shared::cta.im2col_no_offs.bulk_group", False),
        ("cp.reduce.async.bulk.tensor.4d.global.shared::cta.add.im2col_no_offs.bulk_group", True),
    ],
)
def test_a_column_is_stored_pixel_by_pixel(copy: str, adds: bool) -> None:
    made = emulate(
        kernel_source("column_from_shared", COPY=copy), IMAGES, images().encode(), architecture="90a", shared_bytes=176
    )
    assert made.violations == []
    expected = IMAGES.copy()
    for row, (w, h, n) in enumerate(walk(images(), (4, 2, 1, 0), (0, 0))):
        if n < 2:
            expected[n, h, w, 4:] = expected[n, h, w, 4:] * adds + 1000 + 4 * row + np.arange(4)
    np.testing.assert_array_equal(made.arrays[0], expected)


def test_a_column_goes_to_several_blocks_of_a_cluster() -> None:
    out = np.zeros((2, 11, 4), np.uint32)
    arguments = IMAGES, out, images().encode()
    made = emulate(
        kernel_source("multicast_of_a_column"),
        *arguments,
        grid=(2,),
        cluster=(2, 1, 1),
        architecture="90a",
        shared_bytes=176,
    )
    assert made.violations == []
    for block in made.arrays[1]:
        for row, (w, h, n) in enumerate(walk(images(), (4, 1, 0, 0), (1, 2))):
            inside = w < 5 and h < 4 and n < 2
            assert block[row].tolist() == (IMAGES[n, h, w, 4:].tolist() if inside else [0] * 4)


def reported(layout: TensorLayout, copy: str) -> str:
    made: Emulated = copied(layout, IMAGES, copy)
    return " ".join(map(str, made.violations))


def test_misuse_of_a_map_is_reported() -> None:
    assert "begins at a pixel outside the bounding box of its tensor map" in reported(
        images(), load_of((0, 0, 0, 0), (0, 0))
    )
    tiled = TensorLayout(BASE, "uint32", IMAGES.shape[::-1], IMAGES.strides[::-1], (4, 2, 2, 1))
    assert "copies in im2col mode with 4 axes by a tensor map in tiled mode" in reported(
        tiled, load_of((0, 1, 0, 0), (0, 0))
    )
    odd = load_of((2, 2, 1, 0), (0, 1))
    assert "begins at a channel whose place is no multiple of 16 bytes" in reported(images(), odd)
    tile = "4d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {0, 1, 0, 0}], [%2];"
    assert "copies in tiled mode with 4 axes by a tensor map in im2col mode" in reported(images(), tile)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"box": (4, 1025)}, "a column has not between 1 and 1024 pixels"),
        ({"box": (260, 8)}, "the box's extents are not between 1 and 256"),
        ({"box": (3, 8)}, "a row of the box has 12 bytes, no multiple of 16"),
        ({"corners": ((0, -129), (0, 0))}, "a corner is not between -128 and 127"),
        ({"corners": ((0,), (0,))}, "im2col is for 3 to 5 axes, with corners along all but the first and the last"),
        ({"corners": ((2, 0), (-3, 0))}, "the bounding box of its pixels is empty"),
        ({"swizzle": 32, "box": (16, 8)}, "a row of the box has 64 bytes, more than the swizzle's 32"),
    ],
)
def test_invalid_maps_are_refused_as_by_the_driver(change: dict[str, object], sentence: str) -> None:
    assert TensorLayout(**{**vars(images()), **change}).problems() == [sentence]

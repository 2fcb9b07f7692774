"""Copies by tensor maps: elements outside a tensor, and maps that do not fit the instruction."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from mmcore_emulator.machine.asynchronous.boxes import box_elements
from mmcore_emulator.machine.asynchronous.tensor_maps import TensorLayout
from tests.emulation import Emulated, emulate
from tests.emulator.kernels import kernel_source

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


def test_rows_narrower_than_the_swizzle_take_as_many_bytes_as_it() -> None:
    """Measured on an H100, in tiled and im2col mode."""
    memory = np.arange(90 * 4, dtype=np.float32).reshape(90, 4)
    layout = TensorLayout(BASE, "float32", (4, 90), (4, 16), (4, 9), swizzle=128)
    places = box_elements(layout, np.array([0, 0])).shared_offsets.reshape(9, 4)
    assert (places[:, 0] // 128 == np.arange(9)).all()
    assert (places[:, 0] % 128 == 16 * (np.arange(9) % 8)).all()
    made = copied(layout, memory, TILE)
    assert "bytes past the end of" in " ".join(map(str, made.violations))

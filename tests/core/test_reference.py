"""The kernel that computes the reference product on a GPU, run on the emulator."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import mmcore_cuda
from mmcore.kernel.problem import Problem
from mmcore.verify.comparison import verify_product
from mmcore.verify.elements import widen
from mmcore.verify.mixed_inputs import draw_mixed
from tests.conftest import DEVICES
from tests.emulation import emulate
from tests.narrowing import narrow

SOURCE = Path(mmcore_cuda.__file__).with_name("reference.cu").read_text(encoding="utf-8")
TILE = 64


TYPES = ["float16", "bfloat16", "float32", "float64", "tf32", "float8_e4m3fn", "float8_e5m2", "int8", "uint8", "int32"]


@pytest.mark.parametrize(
    ("m", "n", "k", "column_major"), [(1, 1, 1, "A"), (65, 66, 17, ""), (65, 66, 17, "A"), (64, 64, 32, "B")]
)
@pytest.mark.parametrize("dtype", TYPES)
def test_the_products_are_those_of_numpy(dtype: str, m: int, n: int, k: int, column_major: str) -> None:
    problem = Problem(m, n, k, dtype, lda=max(m, k) + 3, ldb=max(n, k) + 5, column_major=column_major)
    matrices = draw_mixed(problem, "float32", 1)
    grid = (-(-n // TILE), -(-m // TILE))
    sizes: list[np.generic] = [
        *map(np.int32, (m, n, k)),
        *map(np.int64, (*problem.strides("A"), *problem.strides("B"))),
    ]
    made = emulate(
        SOURCE,
        *(matrix.base for matrix in (matrices.a, matrices.b) if matrix.base is not None),
        np.empty((m, n)),
        np.empty((m, n)),
        *sizes,
        grid=grid,
        block=(256,),
        options=(f"-D{dtype.upper()}",),
    )
    assert made.violations == []
    a, b = widen(matrices.a, dtype), widen(matrices.b, dtype)
    np.testing.assert_allclose(made.arrays[2], a @ b, rtol=0, atol=k * 2.0**-50 * (np.abs(a) @ np.abs(b)).max())
    np.testing.assert_allclose(made.arrays[3], np.abs(a) @ np.abs(b), rtol=k * 2.0**-50)


def test_what_a_device_computed_is_the_reference() -> None:
    problem = Problem(40, 33, 50, beta=1)
    matrices = draw_mixed(problem, "float32", 1)
    a, b = widen(matrices.a, "float32"), widen(matrices.b, "float32")
    products = a @ b, np.abs(a) @ np.abs(b)
    right = narrow(products[0] + matrices.c, "float32")
    verification = verify_product(problem, "float32", matrices, right, 0, products)
    assert verification.verified
    assert verification.method.startswith("every element against float64, computed on the GPU")
    assert verification.compared == 40 * 33
    wrong = right.copy()
    wrong[39, 32] += 4 * np.abs(wrong[39, 32]) + 1
    mismatch = verify_product(problem, "float32", matrices, wrong, 0, products).mismatch
    assert mismatch is not None
    assert (mismatch.row, mismatch.column) == (39, 32)


@pytest.mark.skipif("cuda" not in DEVICES, reason="there is no GPU on this machine")
@pytest.mark.parametrize("column_major", ["", "AB"])
@pytest.mark.parametrize("dtype", TYPES)
def test_a_gpu_computes_them_in_its_own_memory(dtype: str, column_major: str) -> None:
    from mmcore.executor.choose_device import open_device

    device, problem = open_device("cuda"), Problem(200, 300, 1000, dtype, lda=1003, ldb=1005, column_major=column_major)
    matrices = draw_mixed(problem, "float32", 1)
    whole = [matrix.base.reshape(-1) for matrix in (matrices.a, matrices.b) if matrix.base is not None]
    buffers = [device.allocate(label, each.nbytes) for label, each in zip("AB", whole, strict=True)]
    for buffer, each in zip(buffers, whole, strict=True):
        buffer.upload(each)
    products = device.products(problem, *buffers)
    assert products is not None
    a, b = widen(matrices.a, dtype), widen(matrices.b, dtype)
    np.testing.assert_allclose(products[0], a @ b, rtol=0, atol=1000 * 2.0**-50 * (np.abs(a) @ np.abs(b)).max())
    np.testing.assert_allclose(products[1], np.abs(a) @ np.abs(b), rtol=1003 * 2.0**-24, atol=1000 * 2.0**-149)

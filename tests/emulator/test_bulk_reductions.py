"""Reductions by bulk copies, of bytes and of tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from mmcore_emulator.isa.asynchronous.bulk.copies import merge_of_tensor
from mmcore_emulator.machine.asynchronous.tensor_maps import TensorLayout
from tests.emulation import Emulated, UnsupportedInstruction, emulate, from_bfloat16, ptx_kernel, to_bfloat16
from tests.emulator.kernels import kernel_source

RNG = np.random.default_rng(4)
Numbers = NDArray[Any]
BYTES = 256


def reduced(operation: str, there: Numbers, coming: Numbers, wait: str = "cp.async.bulk.wait_group 0;") -> Numbers:
    """Return global memory after a reduction of 256 bytes, which threads have put into shared memory."""
    body = f"""
    mul.lo.u32 %r2, %r1, 16; mov.u32 %r3, s; add.u32 %r4, %r3, %r2; cvt.u64.u32 %d3, %r2; add.u64 %d3, %d3, %d1;
    ld.global.v4.u32 {{%r5, %r6, %r7, %r8}}, [%d3+{BYTES}]; st.shared.v4.u32 [%r4], {{%r5, %r6, %r7, %r8}};
    fence.proxy.async.shared::cta; bar.sync 0; setp.ne.u32 %p1, %r1, 0; @%p1 ret;
    cp.reduce.async.bulk.global.shared::cta.bulk_group.{operation} [%d1], [%r3], {BYTES};
    cp.async.bulk.commit_group; {wait}
    ld.global.u32 %r9, [%d1]; st.global.u32 [%d1+{2 * BYTES}], %r9;"""
    data = np.concatenate([there.view(np.uint8), coming.view(np.uint8), np.zeros(4, np.uint8)])
    text = ptx_kernel(body, module=".shared .align 128 .b8 s[256];")
    made = emulate("", data, block=(16,), text=text, architecture="90a")
    assert made.violations == []
    after: Numbers = made.arrays[0][:BYTES]
    # A thread that does not wait reads the former content.
    assert (made.arrays[0][2 * BYTES :].view(np.uint32)[0] == after.view(np.uint32)[0]) == bool(wait)
    return after.view(there.dtype)


def integers(kind: str) -> Numbers:
    return np.frombuffer(RNG.bytes(BYTES), {"u": "uint", "s": "int", "b": "uint"}[kind[0]] + kind[1:])


INTEGERS: dict[str, tuple[Callable[[Numbers, Numbers], Numbers], tuple[str, ...]]] = {
    "add": (lambda a, b: a + b, ("u32", "s32", "u64")),
    "min": (np.minimum, ("u32", "s32", "u64", "s64")),
    "max": (np.maximum, ("u32", "s32", "u64", "s64")),
    "and": (lambda a, b: a & b, ("b32", "b64")),
    "or": (lambda a, b: a | b, ("b32", "b64")),
    "xor": (lambda a, b: a ^ b, ("b32", "b64")),
    "inc": (lambda a, b: np.where(a >= b, 0, a + 1), ("u32",)),
    "dec": (lambda a, b: np.where((a == 0) | (a > b), b, a - 1), ("u32",)),
}


@pytest.mark.parametrize(("name", "kind"), [(name, kind) for name, (_, kinds) in INTEGERS.items() for kind in kinds])
def test_integers_are_reduced_in_global_memory(name: str, kind: str) -> None:
    there, coming = integers(kind), integers(kind)
    found = reduced(f"{name}.{kind}", there, coming)
    np.testing.assert_array_equal(found, INTEGERS[name][0](there, coming).astype(there.dtype))


@pytest.mark.parametrize("name", ["add", "min", "max"])
def test_halves_are_reduced_in_global_memory(name: str) -> None:
    numbers = RNG.normal(size=(2, BYTES // 2))
    pick: dict[str, Any] = {"add": np.add, "min": np.minimum, "max": np.maximum}
    how = f"{name}.noftz" if name == "add" else name
    a, b = numbers.astype(np.float16)
    np.testing.assert_array_equal(reduced(f"{how}.f16", a, b), pick[name](a, b))
    c, d = (to_bfloat16(each.astype(np.float32)) for each in numbers)
    expected = to_bfloat16(pick[name](from_bfloat16(c), from_bfloat16(d)))
    np.testing.assert_array_equal(reduced(f"{how}.bf16", c, d), expected)


@pytest.mark.parametrize(
    ("kind", "dtype", "number", "total"),
    [
        ("noftz.f16", np.float16, 2.0**-20, 2.0**-19),
        ("f32", np.float32, 2.0**-140, 0),  # flushed
        ("f32", np.float32, 1.1, 2.2),
        ("f64", np.float64, 1.1, 2.2),
    ],
)
def test_floats_are_added_in_global_memory(kind: str, dtype: Any, number: float, total: float) -> None:
    operand = np.full(BYTES // np.dtype(dtype).itemsize, number, dtype)
    np.testing.assert_array_equal(reduced(f"add.{kind}", operand, operand), np.full_like(operand, total))


def test_a_thread_that_does_not_wait_reads_the_former_content() -> None:
    there, coming = integers("u32"), integers("u32") | np.uint32(1)
    np.testing.assert_array_equal(reduced("add.u32", there, coming, wait=""), there + coming)


# Tensors.

TENSOR = kernel_source("tensor_reduction")


def into_tensor(kind: str, c_type: str, reduction: str, there: Numbers, column: int, columns: int) -> Emulated:
    """Return a matrix of 10 rows after a box of 8 rows came to row 3; elements outside are unchanged."""
    address = (1 << 40) + (1 << 39)  # of the first array on the emulator
    size = there.itemsize
    layout = TensorLayout(address, kind, (there.shape[1], 10), (size, size * there.shape[1]), (columns, 8))
    options = (f"-DTYPE={c_type}", f"-DREDUCTION={reduction}", f"-DCOLUMN={column}", f"-DCOLUMNS={columns}")
    source = TENSOR.replace("REDUCTION", reduction)
    return emulate(source, there, layout.encode(), options=options, architecture="90a")


@pytest.mark.parametrize(
    ("kind", "c_type", "reduction", "column"),
    [
        ("float32", "float", "add", 8),
        ("float32", "float", "add", 13),
        ("int32", "int", "min", -3),
        ("uint32", "unsigned", "inc", 16),
        ("uint32", "unsigned", "xor", 8),
        ("float64", "double", "add", 0),
        ("uint64", "unsigned long long", "max", 4),
        ("int64", "long long", "or", 4),
    ],
)
def test_boxes_are_reduced_element_by_element(kind: str, c_type: str, reduction: str, column: int) -> None:
    there = RNG.integers(0, 100, (10, 24)).astype(kind)
    made = into_tensor(kind, c_type, reduction, there, column, 8)
    assert made.violations == []
    box = (np.arange(64) + 1).astype(kind).reshape(8, 8)
    expected = there.copy()
    rows, columns = slice(3, 10), slice(max(column, 0), min(column + 8, 24))
    part = box[:7, columns.start - column : columns.stop - column]
    expected[rows, columns] = INTEGERS[reduction][0](there[rows, columns], part)
    np.testing.assert_array_equal(made.arrays[0], expected)


def test_a_reduction_that_a_type_does_not_have_is_refused() -> None:
    assert merge_of_tensor("add", "bfloat16") is not None
    assert merge_of_tensor("min", "float64") is None
    with pytest.raises(
        UnsupportedInstruction, match=r"cp\.reduce\.async\.bulk\.tensor\.\S* of elements of type float32"
    ):
        into_tensor("float32", "float", "max", np.zeros((10, 24), np.float32), 0, 8)

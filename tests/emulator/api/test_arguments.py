"""Arguments of a launch: arrays, numbers, structures, variables and tensor maps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mmcore_emulator import LaunchError, TensorMap, launch
from mmcore_emulator.api.arguments import Argument
from tests.emulator.api.launching import COPY, one, refusal, refusals

COPIES = {
    "bool": "bool",
    "uint8": "unsigned char",
    "float16": "unsigned short",
    "int64": "long long",
    "complex128": "double2",
}
SCALARS = """
struct Pair { int first; float second; };
extern "C" __global__ void scalars(
    double* out, signed char a, unsigned short b, int c, unsigned long long d, float e, double f, bool g, Pair h,
    int* i)
{
    out[0] = a; out[1] = b; out[2] = c; out[3] = d; out[4] = e; out[5] = f; out[6] = g; out[7] = h.first;
    out[8] = h.second; out[9] = i == nullptr;
}
"""


@pytest.mark.parametrize("dtype", COPIES)
def test_arrays_of_any_type_go_there_and_back(dtype: str) -> None:
    x = np.arange(6).astype(dtype)
    y = np.zeros_like(x)
    assert one(COPY.replace("TYPE", COPIES[dtype]), "copy", x, y, 6, block=32).ok
    assert (x == y).all()


def test_arrays_of_any_shape_have_a_place() -> None:
    source = 'extern "C" __global__ void f(int* scalar, int* grid, int* empty) { *scalar += 2; grid[5] = 7; }'
    scalar, grid = np.array(3, np.int32), np.zeros((2, 3), np.int32)
    assert one(source, "f", scalar, grid, np.zeros(0, np.int32)).ok
    assert (int(scalar), int(grid[1, 2])) == (5, 7)


@pytest.mark.parametrize("dtype", ["V3", "i4,i1,i8", "V0", "m8[s]"])
def test_elements_of_any_size_have_shadows(dtype: str) -> None:
    source = 'extern "C" __global__ void f(unsigned char* x) { x[0] = 1; }'
    x = np.zeros(4, dtype)
    report = one(source, "f", x)
    assert [each.kind for each in report.hazards] == ["out-of-bounds-write"] * (x.nbytes == 0)


def test_a_masked_array_changes_in_place() -> None:
    x = np.ma.masked_array(np.zeros(4, np.int32), [True, False, False, False])
    assert one('extern "C" __global__ void f(int* x) { x[0] = 1; }', "f", x).ok
    assert x.data.tolist() == [1, 0, 0, 0]


def test_an_array_that_is_passed_twice_is_one_in_device_memory() -> None:
    x = np.arange(4, dtype=np.int32)
    source = 'extern "C" __global__ void f(int* a, int* b) { a[0] = 8; b[1] = a == b; }'
    assert one(source, "f", x, x.view(np.uint32)).ok
    assert x.tolist() == [8, 1, 2, 3]


@pytest.mark.parametrize("check", [True, False])
def test_a_read_only_array_is_an_input(check: bool) -> None:
    x, y = np.arange(4, dtype=np.int32), np.zeros(4, np.int32)
    x.flags.writeable = False
    source = COPY.replace("TYPE", "int")
    assert one(source, "copy", x, y, 4, block=32, check=check).ok
    assert y.tolist() == [0, 1, 2, 3]
    y[:] = 9
    report = one(source, "copy", y, x, 2, block=32, check=check)
    assert [(each.kind, each.array) for each in report.hazards] == [("input-overwritten", "to")]
    assert x.tolist() == [0, 1, 2, 3]


def test_numbers_take_the_sizes_of_the_parameters() -> None:
    out = np.zeros(10)
    pair = np.array((-3, 0.5), np.dtype([("first", np.int32), ("second", np.float32)]))[()]
    arguments: tuple[Argument, ...] = (out, -128, 65535, -(2**31), 2**63, 3, 0.1, True, pair, None)
    assert one(SCALARS, "scalars", *arguments).ok
    assert out.tolist() == [-128, 65535, -(2**31), 2.0**63, 3, 0.1, 1, -3, 0.5, 1]
    typed = (np.int8(5), np.uint16(6), np.int32(7), np.uint64(8), np.float32(0.1), np.float64(9), np.bool_(0))
    assert one(SCALARS, "scalars", out, *typed, pair.tobytes(), np.uint64(0)).ok
    assert out.tolist() == [5, 6, 7, 8, float(np.float32(0.1)), 9, 0, -3, 0.5, 1]


@refusals("refused_arguments")
def test_an_argument_that_does_not_fit_is_refused(changed: dict[str, Any], sentence: str) -> None:
    pair = np.zeros(1, np.dtype([("first", np.int32), ("second", np.float32)]))[0]
    usual = {"out": np.zeros(10), **dict.fromkeys("abcd", 1), "e": 1.0, "f": 1.0, "g": True, "h": pair, "i": None}
    assert refusal(LaunchError, SCALARS, "scalars", args=[*(usual | changed).values()]) == sentence


def test_too_few_and_too_many_arguments_are_refused() -> None:
    copy = COPY.replace("TYPE", "int")
    for arguments in ((), (1, 2, 3, 4)):
        sentence = f"the kernel takes 3 arguments (from, to, n), not {len(arguments)}"
        assert refusal(LaunchError, copy, "copy", args=arguments) == sentence
    assert refusal(LaunchError, args=()) == "the kernel takes 1 argument, not 0"


def test_arrays_that_overlap_in_part_are_refused() -> None:
    x = np.zeros(9, np.int32)
    text = refusal(LaunchError, COPY.replace("TYPE", "int"), "copy", args=(x, x[1:], 8))
    assert text == "argument 1 (to) overlaps argument 0 (from) in part; pass the whole array, and an offset"


def test_variables_are_set_and_those_in_device_memory_copied_back() -> None:
    source = """
__constant__ int table[2];
namespace a { __device__ float total = 1.5f; }
extern "C" __global__ void f(int* x) { x[0] = table[1]; a::total += table[0]; }
"""
    x, table, total = np.zeros(1, np.int32), np.array([3, 4], np.int32), np.zeros(1, np.float32)
    assert launch(source, "f", grid=1, block=1, args=(x,), variables={"table": table, "a::total": total}).ok
    assert (x.tolist(), total.tolist()) == ([4], [3.0])
    text = refusal(LaunchError, source, args=(x,), variables={"table": x})
    assert text == "variable table has 8 bytes, and its array 4"
    text = refusal(LaunchError, source, args=(x,), variables={"absent": x})
    assert text.startswith("the kernel uses no variable absent; it uses ")


@pytest.mark.parametrize(
    ("tensor_map", "sentence"),
    [
        (TensorMap(np.zeros((8, 3), np.float32), (8, 4)), "the tensor map cannot be made: a stride is no multiple of"),
        (TensorMap(np.zeros((8, 8), np.float32), (8,)), "the tensor map cannot be made: it has no box, extents and"),
        (
            TensorMap(np.zeros((8, 8), np.float32), (8, 8), swizzle=16),
            "a tensor map's swizzle is 0, 32, 64 or 128 byte",
        ),
        (TensorMap(np.zeros((8, 8), np.complex64), (8, 8)), "a tensor map cannot be made of complex64 as complex64; "),
    ],
)
def test_a_tensor_map_that_cannot_be_made_is_refused(tensor_map: TensorMap, sentence: str) -> None:
    source = '#include <cuda.h>\nextern "C" __global__ void f(const __grid_constant__ CUtensorMap map) {}'
    assert refusal(LaunchError, source, args=(tensor_map,)).startswith(sentence)

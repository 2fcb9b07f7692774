"""A module's variables: their values, how long these last, and the reports of wrong accesses."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import mmcore_emulator
from mmcore import Cell
from mmcore.devices.base import Device
from mmcore.devices.loaded_kernel import LoadedKernel
from mmcore.devices.violations import Violation
from mmcore.errors import DeviceError
from mmcore.planning.plan import plan
from mmcore_emulator.adapter.device import Emulator
from mmcore_emulator.adapter.profile import over_read_elements
from tests.emulator.loaded import Loaded, kernel_of
from tests.own_kernel import FIRST_LINE, own

# How long a value lasts.

COUNTER = kernel_of(
    "__device__ int launches; __device__ int cache[32] = {5};",
    "static __device__ int own = 100; if (threadIdx.x == 0) { ++launches; ++own; } __syncthreads();"
    "cache[threadIdx.x] += threadIdx.x + n; out[threadIdx.x] = cache[threadIdx.x]; out[31] = launches * 1000 + own;",
)


def test_a_value_lasts_from_launch_to_launch_of_its_program_alone() -> None:
    run = Loaded(COUNTER)
    assert run.launch(1) == run.launch(1) == []
    assert run.out.tolist() == [7, *(2 * i + 2 for i in range(1, 31)), 2102]
    other = Loaded(COUNTER, run.emulator)
    assert other.launch() == []
    assert other.out[31] == 1101


def test_the_variables_of_a_closed_program_are_freed() -> None:
    emulator = Emulator()
    array = emulator.allocate("before", 4).array
    run = Loaded(COUNTER, emulator)
    assert run.launch() == []
    run.program.close()
    after = emulator.allocate("after", 4)
    # Arrays follow one another: "before", "out", and the next one.
    assert after.address - array.base == 2 * (run.buffer.address - array.base)


def test_every_device_keeps_a_variable_from_launch_to_launch_and_drops_it_with_the_program(
    device: Device, cu_file: Path
) -> None:
    declarations = (
        "__device__ float launches = 10; __device__ const float table[4] = {1, 2}; __constant__ float c[2] = {100};"
    )
    body = "if (threadIdx.x == 0) launches += table[n]; __syncthreads(); C[threadIdx.x] = launches + c[threadIdx.x];"
    kernel = own(cu_file, body, declarations=declarations, block=(1,))
    planned = plan(kernel, kernel.problem(1, 1, 1), kernel.usual_configs[0], device.properties)
    for _ in range(2):
        with LoadedKernel(planned, device) as loaded:
            out = np.zeros((1, 1), np.float32)
            for expected in (112, 114):
                assert loaded.run() == []
                loaded.buffers["C"].download(out)
                assert out[0, 0] == expected


def test_the_functions_of_a_program_share_its_variables() -> None:
    """A function with a variable that is not supported does not harm the others."""
    source = """
    __device__ int x = 5;
    __device__ int* pointer = &x;
    extern "C" __global__ void other(int* out) { out[0] = *pointer; }
    extern "C" __global__ void put(int* out, int n) { x = n; }
    extern "C" __global__ void f(int* out, int n) { out[threadIdx.x] = x + n; }"""
    run = Loaded(source)
    assert run.launch(40, block=(1,), function="put") == []
    assert run.launch(2) == []
    assert run.out.tolist() == [42] * 32


def test_a_variable_beyond_all_memory_is_refused() -> None:
    with pytest.raises(DeviceError, match=r"x has 2199023255552 bytes; the emulator has addresses for \d+ in an array"):
        Loaded(kernel_of("__device__ float x[1ull << 39];", "out[0] = x[n];")).launch()


def test_a_variable_that_is_called_like_an_array_is_named_apart() -> None:
    (violation,) = Loaded(kernel_of("__device__ int out[8];", "::out[n] = 1;")).launch(8, block=(1,))
    assert (violation.kind, violation.array) == ("out-of-bounds-write", "out (__device__)")


# Profiles and checks.

TABLE = "__device__ const float table[64] = {1.5f}; __constant__ float c[64] = {2.5f};"


@pytest.mark.parametrize(
    ("body", "declarations", "expected"),
    [
        (  # from element 1 of a table that begins on a sector
            "C[threadIdx.x] = table[n + threadIdx.x - 31];",
            TABLE,
            {"global_loads": 32, "global_load_requests": 1, "global_load_bytes": 128, "global_load_sectors": 5},
        ),
        (
            "cache[threadIdx.x] = n; atomicAdd(&cache[n], 1.0f); C[threadIdx.x] = n;",
            "__device__ float cache[64];",
            {"global_stores": 64, "global_store_sectors": 8, "global_atomics": 32, "global_atomic_requests": 1},
        ),
        (  # constants have a cache of their own
            "C[threadIdx.x] = c[threadIdx.x % 3];",
            TABLE,
            {"global_loads": 0, "global_load_requests": 0, "global_stores": 32},
        ),
    ],
)
def test_accesses_to_a_variable_are_counted(
    cu_file: Path, body: str, declarations: str, expected: dict[str, int]
) -> None:
    profile = mmcore_emulator.profile(own(cu_file, body, declarations=declarations), 32, device="emulator")
    assert profile.violations == ()
    assert {name: getattr(profile.counters, name) for name in expected} == expected


def violations(path: Path, body: str, declarations: str, *, grid: int = 1) -> list[Violation]:
    kernel = own(path, body, declarations=declarations, grid=(grid,))
    found = mmcore_emulator.check(kernel, 32, device="emulator").violations
    return [violation for violation in found if violation.kind != "unwritten-output"]


def test_tables_and_elements_of_one_thread_are_no_hazards(cu_file: Path) -> None:
    place = "const int i = blockIdx.x * blockDim.x + threadIdx.x;"
    body = f"{place} own_[i] += table[i] + c[n]; C[i] = own_[i] + first;"
    declarations = f"{TABLE} __device__ float own_[64]; __device__ double first;"
    assert violations(cu_file, body, declarations, grid=2) == []


def test_threads_that_write_one_variable_race(cu_file: Path) -> None:
    (violation,) = violations(cu_file, "last = threadIdx.x;", "__device__ int last;", grid=2)
    assert (violation.kind, violation.array, violation.line, violation.count) == ("global-race", "last", FIRST_LINE, 64)
    assert "writes element 0 of last, as other threads do at once" in violation.message
    body = "if (threadIdx.x == 0) ++launches;\nC[threadIdx.x] = A[threadIdx.x];"
    (violation, *_) = violations(cu_file, body, "__device__ volatile int launches;", grid=2)
    assert (violation.kind, violation.array, violation.line) == ("global-race", "launches", FIRST_LINE)


def test_a_check_reports_accesses_outside_a_variable(cu_file: Path) -> None:
    kinds = {(each.kind, each.array) for each in violations(cu_file, "C[0] = table[n + 32]; C[1] = c[n + 32];", TABLE)}
    assert {("out-of-bounds-read", "table"), ("out-of-bounds-read", "c")} <= kinds


def test_a_variable_is_no_over_read_of_a_matrix(cu_file: Path) -> None:
    kernel = own(cu_file, "C[threadIdx.x] = A[n * n + 1] + table[63] + c[n];", declarations=TABLE, over_read={"A": 5})
    assert over_read_elements(Cell(kernel.name, 32, 32, 32), Emulator(), kernel) == {"A": 2, "B": 0, "C": 0}

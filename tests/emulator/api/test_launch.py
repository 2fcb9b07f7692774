"""``mmcore_emulator.launch``: geometry, hazards, time limits and reports."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import mmcore_emulator
from mmcore_emulator import LaunchError, launch
from tests.emulator.api.launching import PTX, refusal, refusals


@refusals("refused_launches")
def test_a_launch_that_cannot_be_made_is_refused(changed: dict[str, Any], sentence: str) -> None:
    assert refusal(LaunchError, **changed) == sentence


def test_the_bounds_of_a_source_are_those_of_its_launches() -> None:
    source = 'extern "C" __global__ void __launch_bounds__(64) f(int* x) {}'
    text = refusal(LaunchError, source, block=65, args=(None,))
    assert text == "f is made for blocks of at most 64 threads by __launch_bounds__; a 65×1 block has 65"
    source = 'extern "C" __global__ void __cluster_dims__(2) f(int* x) {}'
    assert refusal(LaunchError, source, grid=4, cluster=4, args=(None,)) == "f is made for clusters of 2×1, not of 4×1"
    text = refusal(LaunchError, 'extern "C" __global__ void f() {}', grid=2, cluster=2, args=(), architecture="sm_80")
    assert text == "compute capability 8.0 has no clusters; 9.0 has"


def test_a_launch_that_takes_too_long_is_stopped_and_reported() -> None:
    source = """
extern "C" __global__ void f(int* x)
{
    x[0] = 5;
    for (int i = 0; i >= 0; i = (i + 1) % 1000)
        x[1] = i;
}
"""
    x = np.zeros(2, np.int32)
    report = launch(source, "f", grid=1, block=1, args=(x,), timeout=0.5)
    assert report.timed_out
    assert not report.ok
    (hazard,) = (each for each in report.hazards if each.kind == "timeout")
    assert hazard.fatal
    assert hazard.line in (4, 5, 6)
    assert x[0] == 5


def test_without_the_sanitizer_only_out_of_bounds_accesses_are_reported() -> None:
    source = """
extern "C" __global__ void f(int* x)
{
    __shared__ int own[32];
    own[threadIdx.x] = 1;
    x[threadIdx.x] = own[31 - threadIdx.x];
    x[32 + threadIdx.x] = 1;
}
"""
    x = np.zeros(32, np.int32)
    checked, unchecked = (launch(source, "f", grid=1, block=32, args=(x,), check=each) for each in (True, False))
    assert [(each.kind, each.line) for each in checked.hazards] == [("shared-race", 6), ("out-of-bounds-write", 7)]
    assert [(each.kind, each.line) for each in unchecked.hazards] == [("out-of-bounds-write", 7)]
    assert "were not looked for" in str(unchecked)


def test_a_deadlock_ends_the_launch_and_is_reported() -> None:
    source = 'extern "C" __global__ void f(volatile int* x) { while (*x == 0) {} x[1] = 1; }'
    x = np.zeros(2, np.int32)
    report = launch(source, "f", grid=1, block=32, args=(x,))
    assert [each.kind for each in report.hazards] == ["deadlock"]
    assert x[1] == 0


def test_blocks_of_a_cooperative_launch_wait_for_each_other() -> None:
    source = """
#include <cooperative_groups.h>
extern "C" __global__ void f(int* x)
{
    x[blockIdx.x] = blockIdx.x + 1;
    cooperative_groups::this_grid().sync();
    x[4 + blockIdx.x] = x[3 - blockIdx.x];
}
"""
    x = np.zeros(8, np.int32)
    report = launch(source, "f", grid=4, block=1, args=(x,), cooperative=True)
    assert report.ok, report
    assert x.tolist() == [1, 2, 3, 4, 4, 3, 2, 1]


def test_the_report_is_short_and_readable() -> None:
    source = """
#include <cstdio>
__global__ void hello(float* x, int n)
{
    if (threadIdx.x <= n)
        x[threadIdx.x] *= 2;
    if (threadIdx.x == 3)
        printf("block %d says %g\\n", blockIdx.x, x[3]);
}
"""
    report = launch(source, "hello", grid=1, block=32, args=(np.ones(8, np.float32), 8))
    lines = str(report).splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[:2] == ["hello: grid 1×1, block 32×1, sm_90", "2 hazards"]
    assert lines[-2:] == ["printed:", "  block 0 says 2"]
    assert report.printed == "block 0 says 2\n"
    assert str(launch(PTX, "f", grid=1, block=32, args=(np.zeros(32, np.uint32),))).splitlines() == [
        "f: grid 1×1, block 32×1, sm_90",
        "no hazards",
        "  thread instructions                                      192",
        "  warp instructions                                          6",
        "  global stores (bytes)                                    128",
        "  sectors of global stores                                   4",
    ]


def test_importing_and_launching_loads_nothing_of_mmcore() -> None:
    program = f"""
import sys
import numpy as np
from mmcore_emulator import launch
x = np.zeros(32, np.uint32)
report = launch({PTX!r}, "f", grid=1, block=32, args=(x,))
assert report.ok and x[31] == 31
print(sorted(name for name in sys.modules if name.startswith("mmcore") and not name.startswith("mmcore_emulator")))
print("cuda" in sys.modules)
"""
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=True)
    assert result.stdout.split("\n") == ["[]", "False", ""]


def test_every_public_name_exists() -> None:
    for name in mmcore_emulator.__all__:
        assert getattr(mmcore_emulator, name).__name__ == name
    with pytest.raises(AttributeError):
        _ = mmcore_emulator.absent  # type: ignore[attr-defined]

"""Emulated devices: memory that outlives a launch, blocks that a kernel is made for, kernels of every architecture."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest

from mmcore.cell import Cell
from mmcore.errors import DeviceError
from mmcore.measure import measure
from mmcore.verify.elements import is_poison
from mmcore_emulator.adapter.device import Emulator
from mmcore_emulator.executor import kernel_launch
from mmcore_emulator.machine import lanes
from tests.emulation import emulate, ptx_kernel
from tests.emulator.kernels import kernel_source
from tests.emulator.loaded import Loaded, content
from tests.emulator.oracles import zeros
from tests.lectures import lecture_kernels

COPY = 'extern "C" __global__ void f(const float* a, float* c) { c[threadIdx.x] = a[threadIdx.x]; }'


def test_the_over_read_area_after_a_matrix_is_nan_and_may_be_read_but_not_written() -> None:
    emulator = Emulator()
    a, c = emulator.allocate("A", 32, over_read_bytes=16), emulator.allocate("C", 64)
    a.upload(np.arange(8, dtype=np.float32))
    copy = Loaded(COPY, emulator)
    assert copy.launch(arguments=(a, c), block=(12,)) == []
    np.testing.assert_array_equal(content(c, 16)[:12], [*range(8), *[np.nan] * 4])
    (violation,) = copy.launch(arguments=(a, c), block=(13,))
    assert (violation.kind, violation.array, violation.thread) == ("out-of-bounds-read", "A", (12, 0, 0))
    assert "16 bytes past the end of A" in violation.message
    write = Loaded('extern "C" __global__ void f(float* a) { a[8] = 1; }', emulator)
    (violation,) = write.launch(arguments=(a,), block=(1,))
    assert (violation.kind, violation.array) == ("out-of-bounds-write", "A")


def test_freed_memory_belongs_to_no_array() -> None:
    emulator = Emulator()
    copy = Loaded(COPY, emulator)
    gone, kept = emulator.allocate("A", 32), emulator.allocate("C", 32)
    gone.close()
    (violation,) = copy.launch(arguments=(gone, kept), block=(1,))
    assert (violation.kind, violation.array) == ("out-of-bounds-read", None)
    again = emulator.allocate("B", 32)
    again.upload(np.full(8, 7, np.float32))
    assert copy.launch(arguments=(again, kept), block=(1,)) == []
    assert content(kept, 1)[0] == 7


def test_arithmetic_on_a_nan_that_was_read_out_of_bounds_is_not_poison() -> None:
    """Otherwise an element computed from an over-read would be taken for one that the kernel never wrote."""
    source = """
    extern "C" __global__ void f(float* c) {
        c[0] = c[8] + 1; c[1] = c[9] * c[1]; c[2] = fmaf(c[8], c[8], 1.0f); c[3] = c[4] / 3; c[5] = sqrtf(c[5]);
    }"""
    loaded = Loaded(source)
    c = loaded.emulator.allocate("C", 32)
    assert {violation.kind for violation in loaded.launch(arguments=(c,), block=(1,))} == {"out-of-bounds-read"}
    assert is_poison(content(c, 8)).tolist() == [False] * 4 + [True, False, True, True]


@pytest.mark.parametrize(
    ("directives", "reason"),
    [
        *((runs, "") for runs in ("", ".maxntid 64, 1, 1", ".maxntid 64\n.reqntid 8, 8", ".minnctapersm 2")),
        (".maxntid 63, 1, 1", "at most 63 threads by __launch_bounds__; a 8×8 block has 64"),
        (".reqntid 16, 8", "exactly 128 threads; a 8×8 block has 64"),
    ],
)
def test_a_kernel_runs_in_the_blocks_that_it_is_made_for(directives: str, reason: str) -> None:
    loaded = Loaded(text=ptx_kernel("st.global.u32 [%d1], %r1;", directives=directives))
    with pytest.raises(DeviceError, match=f"f is made for blocks of {reason}") if reason else nullcontext():
        assert loaded.launch(arguments=(loaded.buffer,), block=(8, 8)) == []


@pytest.mark.parametrize("number", range(6))
def test_the_lectures_kernels_run_from_every_architectures_ptx(number: int) -> None:
    """Each runs from the PTX of two architectures."""
    emulator = Emulator()
    emulator.architecture = ["75", "80", "86", "90", "100", "120"][number]
    for place, kernel in enumerate(lecture_kernels().values()):
        if number in (place % 6, (5 * place + 2) % 6):
            config = kernel.usual_configs[0]
            n = kernel.square_problem(17, config).n
            assert measure(Cell(kernel.name, n, n, n, config=config.to_json()), emulator).verified, kernel.name


# Batches of blocks.


def test_fewer_threads_with_much_local_memory_run_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lanes, "COPIED_BYTES_PER_BATCH", 100_000)
    run = emulate(kernel_source("much_local_memory"), zeros(1024), grid=(16,), block=(64,))
    assert run.violations == []
    mine = [i + next(j for j in range(64) if (j * 7 + i) % 64 == i % 64) for i in range(1024)]
    assert run.arrays[0].tolist() == [mine[i ^ 1] for i in range(1024)]


WAITING = kernel_source("waiting_blocks")


def test_a_block_may_wait_for_a_later_one_as_long_as_both_are_resident(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks wait for those of higher numbers, which begin when there is room for them."""
    monkeypatch.setattr(kernel_launch, "LANES_PER_BATCH", 512)
    launch: dict[str, Any] = {"grid": (4,), "block": (512,)}
    run = emulate(WAITING, zeros(2048), **launch, resident_blocks=4)
    assert run.violations == []
    assert run.arrays[0].reshape(4, 512)[:, 0].tolist() == [10, 9, 8, 7]
    run = emulate(WAITING, zeros(2048), **launch, resident_blocks=3)
    found = [violation for violation in run.violations if "no thread is left to write" in violation.message]
    assert {violation.kind for violation in run.violations} == {"deadlock"}
    assert [(violation.line, violation.thread) for violation in found] == [(5, (0, 0, 0))]

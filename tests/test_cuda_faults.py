"""A kernel that violations on a GPU, or never ends, is reported, and the next one finds the GPU as it should be."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import mmcore
from mmcore import Dim3, Kernel, Launch
from mmcore.api import device
from mmcore.devices.base import Device
from mmcore.outcome import Outcome
from mmcore.runner import run_kernel
from tests.conftest import DEVICES

pytestmark = pytest.mark.skipif("cuda" not in DEVICES, reason="there is no GPU on this machine")


@pytest.fixture
def gpu() -> Iterator[Device]:
    yield device("cuda")
    device("cuda").deadline.set(None)


def run(cu_file: Path, gpu: Device, statement: str) -> Outcome:
    cu_file.write_text(f'extern "C" __global__ void f(float* A, float* B, float* C, int n) {{ {statement} }}\n')
    kernel = Kernel(
        name="test.f",
        title="violations",
        lecture="none",
        source=cu_file,
        entry="f",
        blocks=((1,),),
        arguments=("A", "B", "C", "n"),
        launch=lambda problem, block, limits: Launch(grid=(1,), block=block),
    )
    return run_kernel(kernel, kernel.problem(64, 64, 64), Dim3(1), gpu)


@pytest.mark.parametrize(
    ("statement", "kind", "message"),
    [
        ("C[(long long)n << 34] = 1;", "illegal-address", "the kernel accessed memory that is not there"),
        ("*(float*)((char*)C + 2) = 1;", "misaligned", "the kernel accessed memory at a misaligned address"),
        ("__trap();", "launch-failure", "the kernel "),
    ],
)
def test_a_fault_is_reported_and_the_next_kernel_is_measured(
    cu_file: Path, gpu: Device, statement: str, kind: str, message: str
) -> None:
    outcome = run(cu_file, gpu, statement)
    assert not outcome.verified
    assert outcome.verification is None
    (violation,) = outcome.violations
    assert violation.kind == kind
    assert violation.message.startswith(message)
    after = mmcore.run("upc.kernel01", 64, device="cuda")
    assert after.verified
    assert after.kernel_seconds


def test_a_kernel_that_never_ends_is_stopped(cu_file: Path, gpu: Device) -> None:
    begin = time.monotonic()
    gpu.deadline.set(3)
    outcome = run(cu_file, gpu, "volatile float* c = C; c[0] = 1; while (c[0] == 1) {}")
    gpu.deadline.set(None)
    assert [str(violation) for violation in outcome.violations] == ["timeout: the kernel had not ended after 3 s"]
    assert mmcore.run("upc.kernel01", 64, device="cuda").verified
    assert time.monotonic() - begin < 30


def test_a_write_into_the_guard_zones_costs_only_its_own_run(cu_file: Path, gpu: Device) -> None:
    outcome = run(cu_file, gpu, "C[-3] = 1; C[n * n + 5] = 2; for (int i = 0; i < n * n; ++i) C[i] = 0;")
    messages = [violation.message for violation in outcome.violations]
    assert "memory 12 bytes before the start of C was overwritten" in messages
    assert "memory 20 bytes behind the last element of C was overwritten" in messages
    assert mmcore.run("upc.kernel01", 64, device="cuda").verified


def test_work_that_is_left_out_when_it_is_repeated_has_no_time(cu_file: Path, gpu: Device) -> None:
    """The kernel computes only where C holds no number yet."""
    outcome = run(
        cu_file,
        gpu,
        "for (int i = 0; i < n * n; ++i) if (C[i] != C[i]) { float s = 0; "
        "for (int p = 0; p < n; ++p) s += A[i / n * n + p] * B[p * n + i % n]; C[i] = s; }",
    )
    assert outcome.verification is not None
    assert outcome.verification.verified
    assert outcome.kernel_seconds is None
    assert "repeated launches do not do the whole work" in str(outcome.violations[0])

"""A kernel that fails on a GPU, or never ends, is reported, and the next one finds the GPU as it should be."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

import mmcore
from mmcore.cell import BRIEFLY, Timing
from mmcore.executor import IN_PROCESS, measure_cell
from mmcore.verify.verify_launches import UNREPEATABLE
from tests.conftest import DEVICES

pytestmark = pytest.mark.skipif("cuda" not in DEVICES, reason="there is no GPU on this machine")


@pytest.fixture(autouse=True)
def _in_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(IN_PROCESS)


def run(cu_file: Path, statement: str, **asked: Any) -> mmcore.Result:
    cu_file.write_text(f'extern "C" __global__ void f(float* A, float* B, float* C, int n) {{ {statement} }}\n')
    kernel = {"file": str(cu_file), "configs": [{"block": [1]}]}
    timings = (Timing(**BRIEFLY),)
    return measure_cell(mmcore.Cell(kernel, 64, 64, 64, device="cuda", timings=timings, **asked))


@pytest.mark.parametrize(
    ("statement", "kind", "message"),
    [
        ("C[(long long)n << 34] = 1;", "illegal-address", "the kernel accessed memory that is not there"),
        ("*(float*)((char*)C + 2) = 1;", "misaligned", "the kernel accessed memory at a misaligned address"),
        ("__trap();", "launch-failure", "the kernel "),
    ],
)
def test_the_kernel_after_a_violation_is_measured(cu_file: Path, statement: str, kind: str, message: str) -> None:
    result = run(cu_file, statement)
    assert not result.verified
    assert result.verification is None
    (violation,) = result.violations
    assert violation.kind == kind
    assert violation.message.startswith(message)
    after = mmcore.run("upc.kernel01", 64, device="cuda")
    assert after.verified
    assert after.kernel_seconds


def test_a_kernel_that_never_ends_is_stopped(cu_file: Path) -> None:
    begin = time.monotonic()
    result = run(cu_file, "volatile float* c = C; c[0] = 1; while (c[0] == 1) {}", timeout=3)
    assert result.timed_out
    assert [str(violation) for violation in result.violations] == ["timeout: the kernel had not ended after 3 s"]
    assert mmcore.run("upc.kernel01", 64, device="cuda").verified
    assert time.monotonic() - begin < 30


def test_a_write_into_the_guard_zones_costs_only_its_own_run(cu_file: Path) -> None:
    result = run(cu_file, "C[-3] = 1; C[n * n + 5] = 2; for (int i = 0; i < n * n; ++i) C[i] = 0;")
    messages = [violation.message for violation in result.violations]
    assert "memory 12 bytes before the start of C was overwritten" in messages
    assert "memory 20 bytes behind the last element of C was overwritten" in messages
    assert mmcore.run("upc.kernel01", 64, device="cuda").verified


def test_work_that_is_left_out_when_it_is_repeated_has_no_time(cu_file: Path) -> None:
    """The kernel computes only where C holds no number yet: it repeats too fast, and is wrong on other inputs."""
    result = run(
        cu_file,
        "for (int i = 0; i < n * n; ++i) if (C[i] != C[i]) { float s = 0; "
        "for (int p = 0; p < n; ++p) s += A[i / n * n + p] * B[p * n + i % n]; C[i] = s; }",
    )
    assert result.kernel_seconds is None
    assert result.violations[0].kind == UNREPEATABLE

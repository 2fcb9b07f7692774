"""A kernel that faults on a GPU is reported, and what it leaves unusable says so. Each in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import DEVICES

pytestmark = pytest.mark.skipif("cuda" not in DEVICES, reason="there is no GPU on this machine")

SCRIPT = """
import sys
from pathlib import Path
import mmcore
from mmcore import Dim3, Kernel, Launch
from mmcore.api import device
from mmcore.runner import run_kernel

kernel = Kernel(
    name="test.f", title="faults", lecture="none", source=Path(sys.argv[1]), entry="f", blocks=((1,),),
    arguments=("A", "B", "C", "n"), launch=lambda problem, block, limits: Launch(grid=(1,), block=block),
)
outcome = run_kernel(kernel, kernel.problem(64, 64, 64), Dim3(1), device("cuda"))
print(outcome.verified, outcome.verdict, [(fault.kind, fault.message) for fault in outcome.faults])
try:
    print(mmcore.run("upc.kernel01", 64, device="cuda").verified)
except mmcore.DeviceLost as lost:
    print(lost)
print(mmcore.run("upc.kernel01", 64, device="emulator").verified)
"""


def run(cu_file: Path, statement: str) -> tuple[str, str, str]:
    cu_file.write_text(f'extern "C" __global__ void f(float* A, float* B, float* C, int n) {{ {statement} }}\n')
    result = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(cu_file)], capture_output=True, text=True, check=False, timeout=120
    )
    assert result.returncode == 0, result.stdout + result.stderr
    # cuda.core itself says on stderr that it cannot free memory in a context that is gone.
    assert all(line.startswith("Warning: cuMemFree") for line in result.stderr.splitlines()), result.stderr
    first, second, third = result.stdout.splitlines()
    return first, second, third


@pytest.mark.parametrize(
    ("statement", "fault"),
    [
        ("C[(long long)n << 34] = 1;", "('illegal-address', 'the kernel accessed memory that is not there"),
        ("*(float*)((char*)C + 2) = 1;", "('misaligned', 'the kernel accessed memory at a misaligned address"),
        ("__trap();", "('launch-failure', 'the kernel "),
    ],
)
def test_a_fault_is_reported_and_the_gpu_is_lost_to_the_process(cu_file: Path, statement: str, fault: str) -> None:
    outcome, after, emulated = run(cu_file, statement)
    assert outcome.startswith("False None [")
    assert fault in outcome
    assert after.startswith("cuda:0 cannot be used in this process any more: the kernel ")
    assert emulated == "True"


def test_a_write_into_the_guard_zones_costs_only_its_own_run(cu_file: Path) -> None:
    outcome, after, _ = run(cu_file, "C[-3] = 1; C[n * n + 5] = 2; for (int i = 0; i < n * n; ++i) C[i] = 0;")
    assert "memory 12 bytes before the start of C was overwritten" in outcome
    assert "memory 20 bytes behind the last element of C was overwritten" in outcome
    assert after == "True"

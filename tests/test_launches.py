"""What is noticed of a kernel's launches besides a wrong product, and when they are made again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from mmcore import Kernel
from mmcore.devices.loaded_kernel import LoadedKernel
from mmcore.kernel.problem import Problem
from mmcore.planning.plan import plan
from mmcore.verify.verify_launches import Verified, mixed_inputs, verify_again, verify_launches
from mmcore_emulator.device import Emulator

SOURCE = """
__device__ int launched;
extern "C" __global__ void own(float* A, float* B, float* C, int n, int ldc) {
    const int row = threadIdx.x / 8, column = threadIdx.x % 8, number = launched;
    __syncthreads();
    if (threadIdx.x == 0)
        ++launched;
    float sum = 0.0f;
    for (int p = 0; p < n; ++p)
        sum += A[row * n + p] * B[p * n + column];
    C[row * ldc + column] = SUM;
    if (threadIdx.x == 0) { MORE; }
}
"""


@contextmanager
def loaded(path: Path, total: str = "sum", more: str = "", **declared: Any) -> Iterator[tuple[LoadedKernel, Problem]]:
    """A kernel of 8×8×8 that stores ``total`` and then does ``more``; ``number`` counts its launches from 0."""
    path.write_text(SOURCE.replace("SUM", total).replace("MORE", more))
    kernel = Kernel(name="tests.own", source=path, configs=[{"block": (64,)}], grid=lambda *_: (1,), **declared)
    problem = kernel.problem(8, 8, 8, ldc=12)
    device = Emulator()
    with LoadedKernel(plan(kernel, problem, kernel.usual_configs[0], device.properties), device) as found:
        yield found, problem


def messages(verified: Verified) -> list[str]:
    return [str(violation) for violation in verified.violations]


def test_a_right_kernel_is_right_again_and_again(cu_file: Path) -> None:
    with loaded(cu_file) as (kernel, problem):
        first = verify_launches(kernel, problem, mixed_inputs(kernel, problem, 1))
        assert first.right
        assert first.host_seconds > 0
        assert verify_again(kernel, problem, 1).right


@pytest.mark.parametrize(
    ("more", "violation"),
    [
        ("A[5] = -A[5]", "input-overwritten: element 5 of A, which the kernel may only read, was changed"),
        ("B[63] = 2.0f", "input-overwritten: element 63 of B, which the kernel may only read, was changed"),
        ("C[11] = 0.0f", "out-of-bounds-write: row 0, column 11 of C, which lies between its rows, was written"),
        (
            "C[3 * ldc + 8] = 0.0f",
            "out-of-bounds-write: row 3, column 8 of C, which lies between its rows, was written",
        ),
    ],
)
def test_what_a_kernel_must_not_touch_is_compared(cu_file: Path, more: str, violation: str) -> None:
    with loaded(cu_file, more=more) as (kernel, problem):
        verified = verify_launches(kernel, problem, mixed_inputs(kernel, problem, 1))
    assert messages(verified) == [violation]
    assert verified.verification is not None
    assert verified.verification.verified
    assert not verified.right


def test_a_write_out_of_bounds_is_told(cu_file: Path) -> None:
    with loaded(cu_file, more="A[1 << 20] = 0.0f") as (kernel, problem):
        verified = verify_launches(kernel, problem, mixed_inputs(kernel, problem, 1))
    assert not verified.right
    assert messages(verified)[0].startswith("out-of-bounds-write")


@pytest.mark.parametrize("wrong_in", ["number == 1", "number == 2", "number > 0"])
def test_a_kernel_that_is_wrong_in_a_later_launch_is_unrepeatable(cu_file: Path, wrong_in: str) -> None:
    with loaded(cu_file, total=f"{wrong_in} ? 0.0f : sum") as (kernel, problem):
        assert verify_launches(kernel, problem, mixed_inputs(kernel, problem, 1)).right
        again = verify_again(kernel, problem, 1)
    assert messages(again) == ["unrepeatable: it was verified at first, and run again on other inputs it is wrong"]
    assert again.verification is not None
    assert not again.verification.verified


def test_a_kernel_that_remembers_its_first_product_is_unrepeatable(cu_file: Path) -> None:
    with loaded(cu_file, total="number ? C[row * ldc + column] : sum") as (kernel, problem):
        assert verify_launches(kernel, problem, mixed_inputs(kernel, problem, 1)).right
        assert messages(verify_again(kernel, problem, 1))[0].startswith("unrepeatable")


def test_a_violation_in_a_later_launch_is_told_with_the_first_being_right(cu_file: Path) -> None:
    with loaded(cu_file, more="if (number > 1) A[0] = 0.0f") as (kernel, problem):
        assert verify_launches(kernel, problem, mixed_inputs(kernel, problem, 1)).right
        again = messages(verify_again(kernel, problem, 1))
    assert [message.partition(":")[0] for message in again] == ["unrepeatable", "input-overwritten"]


def test_a_time_limit_says_nothing_of_the_kernel(cu_file: Path) -> None:
    with loaded(cu_file, more="for (volatile int i = 0; number > 0; ++i);") as (kernel, problem):
        assert verify_launches(kernel, problem, mixed_inputs(kernel, problem, 1)).right
        with kernel.module._deadline.within(0.3):  # type: ignore[attr-defined]
            again = verify_again(kernel, problem, 1)
    assert [violation.kind for violation in again.violations] == ["timeout"]
    assert again.verification is None

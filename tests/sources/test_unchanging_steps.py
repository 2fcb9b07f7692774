"""A step that sets a loop's variable to the same value in each turn is named."""

from __future__ import annotations

import pytest

from mmcore_sources.cuda_file.host_bugs.unchanging_steps import unchanging_steps

KERNEL = """__global__ void mm(const float *A, const float *B, float *C, int n) {
    int step = gridDim.x * blockDim.x;
    for (int at = blockIdx.x * blockDim.x + threadIdx.x; at < n * n; STEP) {
        int next = at + step;
        float sum = 0;
        for (int k = 0; k < n; k++) sum += A[at / n * n + k] * B[k * n + at % n];
        C[at] = sum;
        BODY
    }
}
"""


@pytest.mark.parametrize("step", ["at = gridDim.x * blockDim.x", "at = step", "at = 128", "at = n + step"])
def test_a_step_without_the_loops_variable_is_named(step: str) -> None:
    (bug,) = unchanging_steps(KERNEL.replace("STEP", step).replace("BODY", ""), "mm")
    assert (bug.kind, bug.line) == ("unchanging-step", 3)
    assert bug.message.startswith(f"{step} sets at to the same value in each turn")


@pytest.mark.parametrize(
    ("step", "body"),
    [
        ("at = at + step", ""),
        ("at += step", ""),
        ("at = next", ""),
        ("at = atomicAdd(C, 1)", ""),
        ("at = A[0]", ""),
        ("at = step", "step += 128;"),
        ("at = step", "at++;"),
        ("step = 0", ""),
    ],
)
def test_other_steps_are_not(step: str, body: str) -> None:
    assert not [*unchanging_steps(KERNEL.replace("STEP", step).replace("BODY", body), "mm")]

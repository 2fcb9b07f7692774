"""Batches of products that a loop of launches computes: the steps from one matrix to the next."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.command_line import mmcore as command
from tests.sources.test_source_file import inferred

PRODUCT = """
__global__ void mul(const float *A, const float *B, float *C, int m, int n, int k)
{
    int i = blockIdx.y * 16 + threadIdx.y, j = blockIdx.x * 16 + threadIdx.x;
    if (i >= m || j >= n) return;
    float sum = 0;
    for (int p = 0; p < k; p++) sum += A[i * k + p] * B[p * n + j];
    C[i * n + j] = sum;
}
void run(float *A, float *B, float *C, int m, int n, int k)
{
    dim3 block(16, 16), grid((n + 15) / 16, (m + 15) / 16);
    size_t area = (size_t)m * n;
    HEAD {
        float *out = C + i * area;
        mul<<<grid, block>>>(POINTERS, m, n, k);
    }
}
"""
UNIT = "for (int i = 0; i < 10; ++i)"
NOT_RUN = "not run: all products of the batch but the first"


def looped(pointers: str, head: str = UNIT) -> str:
    return PRODUCT.replace("HEAD", head).replace("POINTERS", pointers)


@pytest.mark.parametrize(
    ("pointers", "faults"),
    [
        ("A + i * m * k, B + i * k * n, C + i * m * n", []),
        ("&A[i * m * k], B, out", []),
        ("A + i * k, B + i * k * n, C + i * m * n", ["k elements from one A of the loop's products to the next"]),
        ("&A[i * m * n], B, out", ["m·n elements from one A of the loop's products to the next; a matrix A has k·m"]),
        ("A, B + i * n, &C[i * n]", ["n elements from one B", "n elements from one C"]),
        ("A + i * 64, B, out", []),  # not a product of sizes
    ],
)
def test_a_step_that_is_no_matrix_is_a_fault(pointers: str, faults: list[str]) -> None:
    found = inferred(looped(pointers))
    assert NOT_RUN in found.warnings
    assert len(found.batch_faults) == len(faults)
    assert all(words in sentence for (_, sentence), words in zip(found.batch_faults, faults, strict=True))
    assert {line for line, _ in found.batch_faults} <= {16}


@pytest.mark.parametrize(
    ("pointers", "head"),
    [
        ("A, B, C", UNIT),  # as for a time
        ("A + i * n, B + i * n, C", UNIT),  # parts of k
        ("A + i * k, B, C + i * n", "for (int i = 0; i < m; i += 16)"),  # parts of m
    ],
)
def test_other_loops_are_no_batch(pointers: str, head: str) -> None:
    found = inferred(looped(pointers, head))
    assert not found.batch_faults
    assert NOT_RUN not in found.warnings


@pytest.mark.usefixtures("folder")
def test_a_wrong_step_fails_the_test_with_its_line(folder: Path) -> None:
    (folder / "my.cu").write_text(looped("A + i * k, B + i * k * n, out"))
    result = command("run", "my.cu", "--device", "emulator")
    assert result.exit_code == 1
    assert "batch-step at my.cu:16: goes k elements from one A" in result.output

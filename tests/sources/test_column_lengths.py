"""Matrices stored by columns, as the lengths of their columns show, with a wrong index of one of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.command_line import mmcore as command
from tests.sources.test_source_file import inferred

pytestmark = pytest.mark.usefixtures("folder")

LEADING = """
#define AT(r, c, ld) (((c) * (ld)) + (r))
__global__ void gemm(int m, int n, int k, const float *A, int lda, const float *B, int ldb, float *C, int ldc)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= m || j >= n) return;
    float sum = 0;
    for (int l = 0; l < k; ++l) sum += A[AT(i, l, lda)] * B[AT(l, j, ldb)];
    C[AT(i, j, ldc)] = sum;
}
int main()
{
    float *A, *B, *C;
    int m = 300, n = 200, k = 150;
    gemm<<<dim3((m + 15) / 16, (n + 15) / 16), dim3(16, 16)>>>(m, n, k, A, m, B, k, C, m);
}
"""
ALONE = (
    LEADING.replace(", int lda", "").replace(", int ldb", "").replace(", int ldc", "")
    .replace(", lda", ", m").replace(", ldb", ", k").replace(", ldc", ", m").replace("A, m, B, k, C, m", "A, B, C")
)  # fmt: skip
EXCHANGED = [("AT(i, l, ", "AT(l, i, "), ("AT(l, j, ", "AT(j, l, "), ("AT(i, j, ", "AT(j, i, "), ("", "")]


@pytest.mark.parametrize("text", [LEADING, ALONE])
@pytest.mark.parametrize(("index", "other"), EXCHANGED)
def test_the_lengths_of_columns_show_the_storage(text: str, index: str, other: str) -> None:
    found = inferred(text.replace(index, other))
    assert found.attributes["column_major"] == "ABC"
    assert found.shows_storage


def test_lengths_of_rows_show_no_storage_by_columns() -> None:
    assert not inferred(LEADING.replace("A, m, B, k, C, m", "A, k, B, n, C, n")).shows_storage


def test_a_wrong_index_is_no_other_storage(folder: Path) -> None:
    (folder / "my.cu").write_text(LEADING.replace(*EXCHANGED[1]))
    output = command("run", "my.cu", "--device", "emulator", "--size", "32").output
    assert "with B[AT(l, j, ldb)] instead of B[AT(j, l, ldb)]" in output
    assert "--column-major" not in output.partition("TEST")[0].partition("verification")[2]
    assert "wrong-leading-dimension" not in output


def test_rows_that_overlap_are_a_fault(folder: Path) -> None:
    (folder / "my.cu").write_text(LEADING.replace("C, m);", "C, n);"))
    result = command("run", "my.cu", "--device", "emulator")
    assert result.exit_code == 1
    assert "is passed n as the leading dimension of C, whose columns have m elements" in result.output

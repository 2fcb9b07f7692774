"""Kernels that take elements of eight bits in words of 32."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.command_line import mmcore as command
from tests.sources.test_source_file import block_and_grid, kernel

PACKED = """
#include <cstdint>
__global__ void mul(const uint32_t *A, const uint32_t *B, uint32_t *C, int m, int n, int k)
{
    int row = blockIdx.y * 16 + threadIdx.y, col = (blockIdx.x * 16 + threadIdx.x) * 4;
    uint8_t a[4], b[4], c[4];
    uint32_t sum[4] = {0, 0, 0, 0};
    for (int i = 0; i < k; i += 4) {
        *(uint32_t *)a = A[(row * k + i) / 4];
        for (int j = 0; j < 4; j++) {
            *(uint32_t *)b = B[((i + j) * n + col) / 4];
            for (int l = 0; l < 4; l++)
                sum[l] += a[j] * b[l];
        }
    }
    for (int l = 0; l < 4; l++)
        c[l] = sum[l];
    C[(row * n + col) / 4] = *(uint32_t *)c;
}
void call(uint32_t *A, uint32_t *B, uint32_t *C, int m, int n, int k)
{
    mul<<<dim3((n + 63) / 64, (m + 15) / 16), dim3(16, 16)>>>(A, B, C, m, n, k);
}
"""
SUMS = PACKED.replace("uint32_t *C", "int *C").replace(
    "C[(row * n + col) / 4] = *(uint32_t *)c", "C[row * n + col] = *c"
)


@pytest.mark.parametrize(
    ("text", "dtype", "output"),
    [
        (PACKED, "uint8", "uint8"),
        (PACKED.replace("uint8_t", "int8_t"), "int8", "int8"),
        (SUMS, "uint8", "int32"),
        (PACKED.replace("uint8_t a[4], b[4], c[4]", "uint32_t a[4], b[4], c[4]"), "int32", "int32"),
    ],
)
def test_elements_are_the_bytes_that_a_kernel_unpacks_from_words(text: str, dtype: str, output: str) -> None:
    found = kernel(text)
    assert (found.dtype, found.output) == (dtype, output)


def test_an_index_of_words_shows_the_tile_of_elements() -> None:
    found = block_and_grid(kernel(PACKED.partition("void call")[0]))
    assert found == ("b16", "ceil(n / (16 * 4)), ceil(m / 16)")


@pytest.mark.parametrize(("text", "answer"), [(PACKED, "TEST PASS"), (PACKED.replace("a[j] *", "a[0] *"), "TEST FAIL")])
def test_a_product_of_packed_elements_is_run(text: str, answer: str) -> None:
    Path("my.cu").write_text(text)
    output = command("run", "my.cu", "--device", "emulator", "-q", "-m", "32", "-n", "64", "-k", "32", "--no-hazards")
    assert output.stdout.splitlines()[-1] == answer, output.stdout

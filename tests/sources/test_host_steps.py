"""Programs whose host does more for a product than a run of the kernel repeats."""

from __future__ import annotations

from pathlib import Path

import pytest

from mmcore import InvalidKernel
from mmcore_sources.cuda_file.inference.infer import infer

LOOPED = """
__global__ void steps(const float *a, const float *b, float *c, int n, int begun)
{
    int j = blockIdx.x * 16 + threadIdx.x, i = blockIdx.y * 16 + threadIdx.y;
    for (int p = begun; p < begun + 8; p++) c[i * n + j] += a[i * n + p] * b[p * n + j];
}
void multiply(float *a, float *b, float *c, int n)
{
    for (int PLACE = 0; PLACE < n; PLACE += 8) steps<<<dim3(n / 16, n / 16), dim3(16, 16)>>>(a, b, c, n, ARGUMENT);
}
"""
SET = """
SPACE int edge;
__global__ void product(const float *a, const float *b, float *c)
{
    int j = blockIdx.x * 16 + threadIdx.x, i = blockIdx.y * 16 + threadIdx.y;
    float sum = 0;
    for (int p = 0; p < edge; p++) sum += a[i * edge + p] * b[p * edge + j];
    c[i * edge + j] = sum;
}
void multiply(float *a, float *b, float *c, int n)
{
    cudaMemcpyToSymbol(SET, &n, sizeof(int));
    product<<<dim3(n / 16, n / 16), dim3(16, 16)>>>(a, b, c);
}
"""


def refusal(text: str) -> str:
    with pytest.raises(InvalidKernel) as refused:
        infer(Path("/folder/my.cu"), text, {})
    return str(refused.value)


@pytest.mark.parametrize("space", ["__constant__", "__device__"])
def test_a_variable_that_the_host_sets_is_named_by_its_line(space: str) -> None:
    text = SET.replace("SPACE", space).replace("SET", "edge")
    assert refusal(text).startswith("line 12 sets edge, which product reads: a run only passes arguments")


def test_a_launch_for_each_step_of_a_loop_is_named_by_its_line() -> None:
    text = LOOPED.replace("PLACE", "at")
    said = refusal(text.replace("ARGUMENT", "at"))
    assert said.startswith("line 9 launches steps for each at of a loop, and begun changes")


def test_a_loop_that_repeats_one_launch_is_none() -> None:
    text = LOOPED.replace("PLACE", "turn")
    infer(Path("/folder/my.cu"), text.replace("ARGUMENT", "0"), {})


@pytest.mark.parametrize("element", ["cuFloatComplex", "thrust::complex<float>", "cuDoubleComplex"])
def test_products_of_complex_numbers_are_refused_without_another_type_to_try(element: str) -> None:
    text = LOOPED.replace("float *", f"{element} *").replace("ARGUMENT", "0").replace("PLACE", "turn")
    assert "products of complex numbers are not run" in refusal(text)

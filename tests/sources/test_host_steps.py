"""Programs whose host does more for a product than a run of the kernel repeats."""

from __future__ import annotations

from pathlib import Path

import pytest

from mmcore import InvalidKernel
from mmcore_sources.cuda_file.inference.infer import infer
from tests.command_line import mmcore as command

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


COUNTING = """
__device__ int next_tile;
__global__ void product(const float *a, const float *b, float *c, COUNTER int m, int n, int k)
{
    __shared__ int tile;
    for (;;) {
        if (threadIdx.x == 0) tile = atomicAdd(NEXT, 1);
        __syncthreads();
        int i = tile * 256 + threadIdx.x;
        __syncthreads();
        if (i - threadIdx.x >= m * n) break;
        float sum = 0;
        for (int at = 0; i < m * n && at < k; at++)
            sum += a[i / n * k + at] * b[at * n + i % n];
        if (i < m * n) c[i] = sum;
    }
    AFTER
}
void multiply(float *a, float *b, float *c, int *next, int zero, int m, int n, int k)
{
    BEFORE
    product<<<8, 256>>>(a, b, c, ARGUMENT m, n, k);
}
"""


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("next", {"COUNTER": "int *next,", "NEXT": "next", "ARGUMENT": "next,", "BEFORE": "cudaMemset(next, 0, 4);"}),
        ("next_tile", {"NEXT": "&next_tile", "BEFORE": "cudaMemcpyToSymbol(next_tile, &zero, 4);"}),
    ],
)
def test_a_counter_that_the_host_resets_is_refused_with_the_way_out(name: str, values: dict[str, str]) -> None:
    text = COUNTING
    for word in ("COUNTER", "NEXT", "ARGUMENT", "BEFORE", "AFTER"):
        text = text.replace(word, values.get(word, ""), 1)
    said = refusal(text)
    assert said.startswith(f"blocks of product count with {name}, which must be 0 at each launch: ")
    assert said.endswith(f"a plugin declares {name} as a Workspace, and a launch that resets it")


def test_a_counter_that_its_kernel_resets_is_no_matrix() -> None:
    text = (
        COUNTING.replace("COUNTER", "int *next,")
        .replace("NEXT", "next")
        .replace("ARGUMENT", "next,")
        .replace("BEFORE", "")
    )
    reset = "if (blockIdx.x == 0 && threadIdx.x == 0) *next = 0;"
    found = infer(Path("/folder/my.cu"), text.replace("AFTER", reset), {}).attributes["arguments"]
    assert [getattr(each, "name", each) for each in found] == ["A", "B", "C", "next", "m", "n", "k"]


def test_parts_of_sums_that_the_last_block_adds_are_no_c(folder: Path) -> None:
    (folder / "my.cu").write_text("""
__device__ unsigned done;
__global__ void splits(const float *A, const float *B, float *part, float *C, int m, int n, int k)
{
    int row = blockIdx.y * 8 + threadIdx.y, col = blockIdx.x * 8 + threadIdx.x, first = blockIdx.z * ((k + 1) / 2);
    float sum = 0;
    for (int p = first; row < m && col < n && p < min(k, first + (k + 1) / 2); p++)
        sum += A[row * k + p] * B[p * n + col];
    if (row < m && col < n) part[(blockIdx.z * m + row) * n + col] = sum;
    __threadfence();
    __syncthreads();
    __shared__ bool last;
    if (threadIdx.x + threadIdx.y == 0) last = atomicAdd(&done, 1) == gridDim.x * gridDim.y * 2 - 1;
    __syncthreads();
    if (!last) return;
    __threadfence();
    for (int i = threadIdx.y * 8 + threadIdx.x; i < m * n; i += 64) C[i] = part[i] + part[m * n + i];
    if (threadIdx.x + threadIdx.y == 0) done = 0;
}
void f(int m, int n, int k) { splits<<<dim3((n + 7) / 8, (m + 7) / 8, 2), dim3(8, 8)>>>(a, b, p, c, m, n, k); }
""")
    result = command("run", "my.cu", "--device", "emulator")
    assert "arguments A, B, part=zeros, C, m, n, k" in result.stderr
    assert result.stdout.splitlines()[-1] == "TEST PASS"


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


PARTS = """
__global__ void partial(const float *A, const float *B, float *P, int M, int N, int K, int chunk)
{
    int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    int begin = blockIdx.z * chunk, end = min(K, begin + chunk);
    float sum = 0;
    for (int t = begin; t < end; ++t) sum += A[row * K + t] * B[t * N + column];
    P[(blockIdx.z * M + row) * N + column] = sum;
}
"""
REDUCE = """
__global__ void reduce(const float *P, float *C, int M, int N, int parts)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int z = 0; z < parts; ++z) sum += P[z * M * N + i];
    if (i < M * N) C[i] = sum;
}
"""


@pytest.mark.parametrize(("other", "why"), [(REDUCE, "which reduce reads"), ("", "one for each block along z")])
def test_parts_of_sums_without_a_launch_need_a_plugin(other: str, why: str) -> None:
    with pytest.raises(InvalidKernel, match=f"partial stores parts of its sums in P, {why}: .* with a Workspace"):
        infer(Path("/folder/my.cu"), PARTS + other, {"entry": "partial"})


def test_a_product_for_each_block_along_z_is_no_part() -> None:
    whole = PARTS.replace("blockIdx.z * chunk, end = min(K, begin + chunk)", "0, end = K").replace(", int chunk", "")
    infer(Path("/folder/my.cu"), whole, {})

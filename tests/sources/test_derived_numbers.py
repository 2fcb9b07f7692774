"""Numbers that a launch derives from the sizes that it passes."""

from __future__ import annotations

from pathlib import Path

import pytest

from mmcore import Scalar
from tests.command_line import mmcore
from tests.sources.test_source_file import block_and_grid, inferred, kernel

TILED = """
#define TILE 16
__global__ void tiled(const float *A, const float *B, float *C, int M, int N, int K, int steps)
{
    __shared__ float a[TILE][TILE], b[TILE][TILE];
    int row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
    float sum = 0;
    for (int t = 0; t < steps; t++) {
        int p = t * TILE + threadIdx.x, q = t * TILE + threadIdx.y;
        a[threadIdx.y][threadIdx.x] = row < M && p < K ? A[row * K + p] : 0;
        b[threadIdx.y][threadIdx.x] = column < N && q < K ? B[q * N + column] : 0;
        __syncthreads();
        for (int e = 0; e < TILE; e++) sum += a[threadIdx.y][e] * b[e][threadIdx.x];
        __syncthreads();
    }
    if (row < M && column < N) C[row * N + column] = sum;
}
"""
GRID = "dim3((N + TILE - 1) / TILE, (M + TILE - 1) / TILE), dim3(TILE, TILE)"
LAUNCH = f"tiled<<<{GRID}>>>(A, B, C, M, N, K, {{}});"
POINTERS = "const float *A, const float *B, float *C"

HOSTS = {
    "a call": f"void go({POINTERS}, int M, int N, int K) {{ {LAUNCH.format('(K + TILE - 1) / TILE')} }}",
    "a variable": f"void go({POINTERS}, int M, int N, int K) {{ int s = (K + 15) / 16; {LAUNCH.format('s')} }}",
    "constants": f"int main() {{ {POINTERS.replace(',', ';')}; int M = 200, N = 300, K = 400; "
    f"{LAUNCH.format('(K + TILE - 1) / TILE')} }}",
}


def steps(text: str) -> str:
    """Return what the last parameter gets, as an expression."""
    last = kernel(text).arguments[-1]
    assert isinstance(last, Scalar)
    return str(last.value)


@pytest.mark.parametrize("host", HOSTS)
def test_a_number_of_steps_follows_k(host: str) -> None:
    assert steps(TILED + HOSTS[host]) == "ceil(k / 16)"


def test_a_kernel_with_a_number_of_steps_is_right_at_every_size(folder: Path) -> None:
    (folder / "my.cu").write_text(TILED + HOSTS["constants"])
    shown = mmcore("run", "my.cu", "--device", "emulator")
    assert (shown.exit_code, shown.stdout.splitlines()[-1]) == (0, "TEST PASS")
    assert "proof            proved" in shown.stdout


def test_a_number_of_steps_that_is_rounded_down_is_wrong_at_remainders(folder: Path) -> None:
    (folder / "my.cu").write_text(TILED + HOSTS["a call"].replace("(K + TILE - 1) / TILE)", "K / TILE)"))
    shown = mmcore("run", "my.cu", "--size", "20x30x40", "--device", "emulator", "--quiet")
    assert (shown.exit_code, shown.stdout.splitlines()[-1]) == (1, "TEST FAIL")


def test_args_takes_arithmetic(folder: Path) -> None:
    (folder / "my.cu").write_text(TILED)
    for last, code in (("ceil(k/16)", 0), ("(k + 15) // 16", 0), ("k // 16", 1), ("steps", 2), ("k // 0", 2)):
        command = ["run", "my.cu", "--size", "20x30x40", "--device", "emulator", "--quiet", "--block", "16x16"]
        assert mmcore(*command, "--args", f"A,B,C,m,n,k,{last}").exit_code == code


def test_the_depth_of_a_slice_follows_k() -> None:
    text = f"""
    __global__ void split({POINTERS}, int M, int N, int K, int depth)
    {{
        int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
        int first = blockIdx.z * depth, end = min(K, first + depth);
        if (row >= M || column >= N) return;
        float sum = 0;
        for (int p = first; p < end; p++) sum += A[row * K + p] * B[p * N + column];
        atomicAdd(&C[row * N + column], sum);
    }}
    int main()
    {{
        {POINTERS.replace(",", ";")}; int M = 256, N = 256, K = 1024, slices = 4, depth = (K + slices - 1) / slices;
        split<<<dim3((N + 15) / 16, (M + 15) / 16, slices), dim3(16, 16)>>>(A, B, C, M, N, K, depth);
    }}"""
    assert steps(text) == "ceil(k / 4)"


def test_a_length_of_rows_is_no_derived_number() -> None:
    text = f"""
    __global__ void f({POINTERS}, int M, int N, int K, int w)
    {{
        int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
        if (row >= M || column >= N) return;
        float sum = 0;
        for (int p = 0; p < K; p++) sum += A[row * w + p] * B[p * N + column];
        C[row * N + column] = sum;
    }}
    void go({POINTERS}, int M, int N, int K)
    {{ f<<<dim3((N + 15) / 16, (M + 15) / 16), dim3(16, 16)>>>(A, B, C, M, N, K, (K + 31) / 32 * 32); }}"""
    assert kernel(text).arguments[-1] == "lda"


def test_a_batch_of_unknown_length_leaves_the_other_extents_of_its_grid() -> None:
    text = f"""
    __global__ void bmm({POINTERS}, int M, int N, int K, long sa, long sb, long sc)
    {{
        A += blockIdx.z * sa; B += blockIdx.z * sb; C += blockIdx.z * sc;
        int row = blockIdx.y * 8 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
        if (row >= M || column >= N) return;
        float sum = 0;
        for (int p = 0; p < K; p++) sum += A[row * K + p] * B[p * N + column];
        C[row * N + column] = sum;
    }}
    void go({POINTERS}, int count, int M, int N, int K)
    {{
        dim3 grid((N + 15) / 16, (M + 7) / 8, count), block(16, 8);
        bmm<<<grid, block>>>(A, B, C, M, N, K, (long)M * K, (long)K * N, (long)M * N);
    }}"""
    found = inferred(text).attributes
    assert block_and_grid(kernel(text)) == ("b16x8", "ceil(n / 16), ceil(m / 8)")
    assert [str(each.value) for each in found["arguments"][-3:]] == ["m * k", "k * n", "m * n"]


PARTS = """
__global__ void part(const float *A, const float *B, float *C, int rows, int n, int k)
{
    int i = blockIdx.y * blockDim.y + threadIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int p = 0; i < rows && j < n && p < k; p++) sum += A[i * k + p] * B[p * n + j];
    if (i < rows && j < n) C[i * n + j] = sum;
}
int main()
{
    const int n = 512, parts = 4;
    float *A, *B, *C;
    cudaStream_t streams[parts];
    %s
    for (int i = 0; i < parts; i++) {
        int from = i * (n / parts) * n;
        part<<<dim3(n / 16, %s), dim3(16, 16), 0, streams[i]>>>(A + from, B, &C[from], %s, n, n);
    }
}
"""


@pytest.mark.parametrize(
    ("before", "blocks", "passed", "rows"),
    [
        ("int height = n / parts;", "(height + 15) / 16", "height", "ceil(m / 16)"),
        ("", "n / parts / 16", "n / parts", "m // 16"),
    ],
)
def test_a_launch_in_a_loop_over_parts_of_c_computes_a_product(
    before: str, blocks: str, passed: str, rows: str, folder: Path
) -> None:
    (folder / "my.cu").write_text(PARTS % (before, blocks, passed))
    shown = mmcore("run", "my.cu", "--device", "emulator")
    assert f"grid n // 16, {rows} (as launched in line 17)" in shown.stderr
    assert (shown.exit_code, shown.stdout.splitlines()[-1][:9]) == (0, "TEST PASS")

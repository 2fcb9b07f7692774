"""Kernels whose blocks along z sum parts of k: the multiples that their program's sizes are."""

from __future__ import annotations

from pathlib import Path

import pytest

from mmcore_sources.cuda_file.inference.infer import infer
from tests.command_line import mmcore as command

KERNEL = """
#define T 16
#define SLICE 512
#define SPLIT 4
__global__ void product(const float *A, const float *B, float *C, int M, int N, int K)
{
    __shared__ float a[T][T], b[T][T];
    int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * T + y, column = blockIdx.x * T + x;
    int first = blockIdx.z * SLICE, end = first + SLICE;
    float sum = 0;
    for (int t = first; t < end; t += T) {
        a[y][x] = A[row * K + t + x];
        b[y][x] = B[(t + y) * N + column];
        __syncthreads();
        for (int k = 0; k < T; k++) sum += a[y][k] * b[k][x];
        __syncthreads();
    }
    atomicAdd(&C[row * N + column], sum);
}
int main()
{
    int M = 256, N = 512, K = 6144;
    float *A, *B, *C;
    cudaMemset(C, 0, M * N * sizeof(float));
    product<<<dim3(N / T, M / T, K / SLICE), dim3(T, T)>>>(A, B, C, M, N, K);
}
"""
SLICES = "first = blockIdx.z * SLICE, end = first + SLICE"
PARTS = "length = K / gridDim.z, first = blockIdx.z * length, end = first + length"
GUARDED = """
__global__ void product(const float *A, const float *B, float *C, int M, int N, int K)
{
    int row = blockIdx.y * T + threadIdx.y, column = blockIdx.x * T + threadIdx.x;
    if (row >= M || column >= N) return;
    int first = blockIdx.z * SLICE, end = min(first + SLICE, K);
    float sum = 0;
    for (int k = first; k < end; k++) sum += A[row * K + k] * B[k * N + column];
    atomicAdd(&C[row * N + column], sum);
}
"""


def in_parts(parts: str = "gridDim.z", kernel: str = KERNEL) -> str:
    return kernel.replace(SLICES, PARTS.replace("gridDim.z", parts)).replace("K / SLICE", "SPLIT")


def rounded_up(size: str, step: str, text: str = KERNEL) -> str:
    return text.replace(f"{size} / {step}", f"({size} + {step} - 1) / {step}")


def guarded(text: str) -> str:
    begin, end = text.index("__global__"), text.index("int main")
    return text[:begin] + GUARDED.strip() + "\n" + text[end:]


def conditions(text: str) -> list[str]:
    return [each.description for each in infer(Path("my.cu"), text, {}).attributes["program_sizes"]]


OF_C = "m and n are multiples of 16"


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        (KERNEL, [OF_C, "k is a multiple of 512"]),
        (KERNEL.replace("SLICE 512", "SLICE 96"), [OF_C, "k is a multiple of 96"]),
        (KERNEL.replace("SLICE 512", "SLICE 2048"), [OF_C, "k is a multiple of 2048"]),
        (rounded_up("K", "SLICE"), [OF_C, "k is a multiple of 512"]),
        (
            rounded_up("K", "SLICE").replace("end = first + SLICE", "end = min(first + SLICE, K)"),
            ["m, n and k are multiples of 16"],
        ),
        (guarded(rounded_up("M", "T", rounded_up("N", "T"))), ["k is a multiple of 512"]),
        (guarded(rounded_up("M", "T", rounded_up("N", "T", rounded_up("K", "SLICE")))), []),
        (in_parts(), [OF_C, "k is a multiple of 64"]),
        (in_parts("SPLIT"), [OF_C, "k is a multiple of 64"]),
        (in_parts("parts").replace("int K)", "int K, int parts)").replace("N, K);", "N, K, SPLIT);"),
         [OF_C, "k is a multiple of 64"]),
        (in_parts().replace("length = K / gridDim.z, ", "").replace("int K)", "int K, int length)")
         .replace("N, K);", "N, K, K / SPLIT);"), [OF_C, "k is a multiple of 64"]),
    ],
    ids=[
        "slices", "short slices", "long slices", "slices rounded up", "slices up to k", "guarded", "guarded up to k",
        "parts", "a macro's parts", "a parameter's parts", "the host's parts",
    ],
)  # fmt: skip
def test_k_is_a_multiple_of_the_parts_that_blocks_along_z_sum(text: str, asked: list[str]) -> None:
    assert conditions(text) == asked


def test_parts_that_are_counted_in_steps_need_no_further_steps() -> None:
    steps = "tiles = K / T, length = tiles / gridDim.z, first = blockIdx.z * length * T, end = first + length * T"
    assert conditions(in_parts().replace(PARTS, steps))[1] == "k is a multiple of 64"


def test_a_guarded_kernel_that_leaves_out_the_rest_of_its_parts_has_no_condition() -> None:
    text = in_parts("SPLIT", guarded(rounded_up("M", "T", rounded_up("N", "T"))).replace("min(first + SLICE, K)", "0"))
    assert conditions(text.replace("first = blockIdx.z * SLICE, end = 0", PARTS.replace("gridDim.z", "SPLIT"))) == []


@pytest.mark.parametrize(("text", "k"), [(KERNEL, 512), (in_parts(), 64)], ids=["slices", "parts"])
def test_a_kernel_of_parts_is_right_at_its_programs_sizes(text: str, k: int) -> None:
    Path("my.cu").write_text(text)
    shown = command("run", "my.cu", "--device", "emulator").stdout
    assert shown.splitlines()[-1] == f"TEST PASS if {OF_C} and k is a multiple of {k}", shown
    assert "wrong at sizes that its program does not use" in shown
    assert command("run", "my.cu", "--device", "emulator", "--size", f"16x16x{k + 16}", "-q").exit_code == 1

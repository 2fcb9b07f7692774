"""Kernels that are right at few sizes: a loop with a fixed number of steps, a block that divides no usual size."""

from __future__ import annotations

import re
import shlex
from dataclasses import replace
from pathlib import Path

import pytest

from mmcore_sources.cuda_file.hints.counted_steps import CountedLoop, counted_loop
from tests.command_line import mmcore as command
from tests.sources.test_source_file import NAIVE, changed, kernel

STEPS = """
#define EDGE 16
__global__ void steps(const float *A, const float *B, float *C, int n)
{
    __shared__ float a[EDGE][EDGE], b[EDGE][EDGE];
    int row = blockIdx.y * EDGE + threadIdx.y, col = blockIdx.x * EDGE + threadIdx.x;
    float sum = 0;
    for (int t = 0; t < 6; t++) {
        a[threadIdx.y][threadIdx.x] = A[row * n + t * blockDim.x + threadIdx.x];
        b[threadIdx.y][threadIdx.x] = B[(t * EDGE + threadIdx.y) * n + col];
        __syncthreads();
        for (int k = 0; k < EDGE; k++)
            sum += a[threadIdx.y][k] * b[k][threadIdx.x];
        __syncthreads();
    }
    C[row * n + col] = sum;
}
"""
LAST_BARRIER = "        __syncthreads();\n    }"


CAPPED = """
__global__ void product(const float *A, const float *B, float *C, int m, int n, int k)
{
    int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    __shared__ float a[16][16], b[16][16];
    float sum = 0;
    for (int p = 0; p < min(k, 200) / 16; p++) {
        a[threadIdx.y][threadIdx.x] = row < m ? A[row * k + p * 16 + threadIdx.x] : 0;
        b[threadIdx.y][threadIdx.x] = column < n ? B[(p * 16 + threadIdx.y) * n + column] : 0;
        __syncthreads();
        for (int q = 0; q < 16; q++) sum += a[threadIdx.y][q] * b[q][threadIdx.x];
        __syncthreads();
    }
    if (row < m && column < n) C[row * n + column] = sum;
}
void f(float *A, float *B, float *C, int m, int n, int k)
{
    product<<<dim3((n + 15) / 16, (m + 15) / 16), dim3(16, 16)>>>(A, B, C, m, n, k);
}
"""


@pytest.mark.parametrize(("size", "right"), [("100", True), ("250", False), ("30x40x237", False)])
def test_whole_tiles_are_named_only_if_those_that_hold_the_wrong_product_are_right(
    size: str, right: bool, folder: Path
) -> None:
    (folder / "capped.cu").write_text(CAPPED)
    shown = command("run", "capped.cu", "--device", "emulator", "--seed", "1", "--size", size, "--quiet")
    assert shown.exit_code == 1
    assert ("hint: without a remainder" in shown.stdout) == right


@pytest.mark.usefixtures("folder")
def test_the_size_that_a_loop_of_fixed_steps_covers_is_tried(folder: Path) -> None:
    (folder / "my.cu").write_text(STEPS)
    first = command("run", "my.cu", "--device", "emulator")
    assert first.exit_code == 1
    assert "hint: line 8 covers k = 96 alone: at 96×96×96 the product is right\n" in first.stdout
    (again,) = re.findall(r"mmcore (run .* -k 96.*)", first.stdout)
    second = command(*shlex.split(again))
    assert second.exit_code == 0
    assert second.stdout.splitlines()[-1].startswith("TEST PASS at 96×96×96; wrong at ")
    assert "none at 96×96×96 on the emulator" in second.stdout
    (folder / "my.cu").write_text(STEPS.replace(LAST_BARRIER, "    }"))  # a race at every size
    assert command(*shlex.split(again)).exit_code == 1


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({}, CountedLoop(8, 96)),
        ({"t < 6; t++": "t < 96; t += EDGE", "t * blockDim.x": "t", "t * EDGE": "t"}, CountedLoop(8, 96)),
        ({"t < 6": "t < n / EDGE"}, None),
        ({"t = 0": "t = 1"}, None),
        ({"t * EDGE": "t * 8"}, None),
        ({"t * blockDim.x": "t * EDGE * n"}, None),  # along m in A
    ],
)
def test_a_loop_of_fixed_steps_covers_one_k(changes: dict[str, str], found: CountedLoop | None) -> None:
    text = changed(STEPS, changes)
    declared = replace(kernel(text), text=text)
    assert counted_loop(declared, declared.usual_configs[0]) == found


@pytest.mark.usefixtures("folder")
def test_whole_blocks_are_tried_where_the_block_divides_no_usual_size(folder: Path) -> None:
    text = changed(
        NAIVE, {"if (row >= N || col >= N) return;": "int limit = row < N && col < N ? N : 0;", "i < N": "i < limit"}
    )
    host = "void run(float *a) { mul<<<dim3(1, 1), dim3(3, 3)>>>(a, a, a, 3); }\n"
    (folder / "my.cu").write_text(text + host)
    first = command("run", "my.cu", "--device", "emulator")
    (again,) = re.findall(
        r"hint: without a remainder, at 66×66×66, the product is right\n  mmcore (run .*)", first.stdout
    )
    second = command(*shlex.split(again))
    assert (second.exit_code, "TEST PASS at 66×66×66; wrong at " in second.stdout) == (0, True)

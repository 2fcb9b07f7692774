"""The lines of headers: those of a kernel's project are shown, and those of libraries hidden."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from mmcore_emulator.ptx.project_headers import is_of_project
from tests.command_line import mmcore as command

KERNEL = """#include "HEADER"
__global__ void product(const float *A, const float *B, float *C, int n)
{
    int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < n; k++)
        sum += at(A, row, k, n) * B[k * n + column];
    C[row * n + column] = sum;
}
"""
HEADER = """#pragma once

__device__ inline float at(const float *A, int row, int column, int n)
{
    return A[row * n + column + n];
}
"""


@pytest.mark.parametrize(
    ("header", "place"),
    [
        ("parts.cuh", "parts.cuh:5, called at my.cu:7"),
        ("include/parts.cuh", "parts.cuh:5, called at my.cu:7"),
        ("third_party/more/parts.cuh", "my.cu:7"),
    ],
)
def test_a_fault_in_a_header_of_the_project_names_its_line_and_the_call(
    header: str, place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / header).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / header).write_text(HEADER)
    (tmp_path / "my.cu").write_text(KERNEL.replace("HEADER", header))
    output = command(*shlex.split("run my.cu --block 16x16 --device emulator --size 64 -q")).output
    assert f"out-of-bounds-read at {place}: thread" in output


@pytest.mark.parametrize(
    ("header", "is_own"),
    [
        ("home/project/include/parts.cuh", True),
        ("home/project/src/deep/parts.cuh", True),
        ("home/project/.venv/lib/parts.cuh", False),
        ("home/project/site-packages/nvidia/include/cuda_fp16.hpp", False),
        ("home/project/cutlass/include/cute/tensor.hpp", False),
        ("home/project/licensed/parts.cuh", False),
    ],
)
def test_a_library_has_a_folder_of_its_own_or_a_licence(header: str, is_own: bool, tmp_path: Path) -> None:
    path, source = tmp_path / header, tmp_path / "home/project/src/my.cu"
    path.parent.mkdir(parents=True)
    path.touch()
    (tmp_path / "home/project/LICENSE").touch()
    if "licensed" in header:
        (path.parent / "LICENSE").touch()
    assert is_of_project(str(path), str(source)) == is_own
    assert not is_of_project(str(path.with_name("absent.cuh")), str(source))

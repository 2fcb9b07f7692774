"""Wrong kernels whose blocks do not use their index."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from mmcore_sources.cuda_file.hints.equal_blocks import equal_blocks
from tests.command_line import mmcore
from tests.sources.test_source_file import NAIVE
from tests.sources.test_suggestions import WMMA

ROW = "(blockIdx.y * 4 + threadIdx.y) * 16"
GRID = {"x": 4, "y": 4, "z": 1}


@pytest.mark.parametrize(
    ("text", "entry", "blocks", "ends"),
    [
        (WMMA.replace(ROW, "blockDim.y * 16"), "whole", GRID, "blockDim.y in line 6 may have to be blockIdx.y"),
        (WMMA.replace(ROW, "threadIdx.y * 16"), "whole", GRID, "since the source does not use blockIdx.y"),
        (NAIVE.replace("blockIdx.", "blockDim."), "mul", GRID, "use blockIdx.x and blockIdx.y"),
        (NAIVE + WMMA.replace(ROW, "blockDim.y * 16"), "whole", GRID, "may have to be blockIdx.y"),
    ],
)
def test_equal_blocks_are_named_with_their_line(text: str, entry: str, blocks: dict[str, int], ends: str) -> None:
    assert equal_blocks(text, entry, blocks).endswith(ends)


@pytest.mark.parametrize(
    ("text", "blocks"),
    [
        (WMMA, GRID),
        (WMMA.replace(ROW, "blockDim.y * 16"), {**GRID, "y": 1}),
        ("__global__ void whole(float *a, float *b, float *c, int n)\n{\n    float s = 0;\n    s = a[0];\n}\n", GRID),
        ("#define BY blockIdx.y\n" + WMMA.replace("blockIdx.y", "BY"), GRID),
        (WMMA.replace(ROW, "blockDim.y * 16 * row_of(gridDim)"), GRID),
        ('#include "places.h"\n' + WMMA.replace(ROW, "blockDim.y * 16"), GRID),
    ],
)
def test_blocks_that_may_use_their_index_are_not(text: str, blocks: dict[str, int]) -> None:
    assert equal_blocks(text, "whole", blocks) == ""


def test_a_wrong_kernel_gets_the_hint(tmp_path: Path) -> None:
    wrong = {ROW: "blockDim.y * 16", "(blockIdx.x * blockDim.x + threadIdx.x) / 32 * 16": "blockDim.x * 16"}
    text = WMMA
    for right, other in wrong.items():
        text = text.replace(right, other)
    (tmp_path / "my.cu").write_text(text)
    output = mmcore(*shlex.split("run my.cu --device emulator --size 128 --no-hazards")).output
    assert "hint: blocks that differ in blockIdx.x and blockIdx.y compute the same elements" in output
    assert "blockDim.x in line 6 may have to be blockIdx.x" in output

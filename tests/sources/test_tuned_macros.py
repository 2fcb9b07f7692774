"""Kernels with macros that a build or a tuner defines: the suggested values compile, fit, and are right."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from mmcore_cuda.cuda_source.program import read_program
from mmcore_sources.cuda_file.inference.tuned_macros import undefined_macros
from tests.command_line import mmcore
from tests.sources.test_source_file import guesses
from tests.sources.test_suggestions import pasted, ran

pytestmark = pytest.mark.usefixtures("folder")

TUNED = """
#define STEP EDGE
__global__ void tuned(const float *A, const float *B, float *C, int n)
{
    __shared__ float left[TALL][EDGE + 1], right[STEP][WIDE];
    const int i = blockIdx.y * TALL + threadIdx.y, j = blockIdx.x * WIDE + threadIdx.x;
    float sum[PER_Y][PER_X] = {};
    for (int first = 0; first < n; first += STEP) {
        for (int y = threadIdx.y; y < TALL; y += HEIGHT)
            for (int x = threadIdx.x; x < EDGE; x += WIDTH)
                left[y][x] = A[(blockIdx.y * TALL + y) * n + first + x];
        for (int y = threadIdx.y; y < STEP; y += HEIGHT)
            for (int x = threadIdx.x; x < WIDE; x += WIDTH)
                right[y][x] = B[(first + y) * n + blockIdx.x * WIDE + x];
        __syncthreads();
        for (int p = 0; p < STEP; ++p)
            for (int y = 0; y < PER_Y; ++y)
                for (int x = 0; x < PER_X; ++x)
                    sum[y][x] += left[threadIdx.y + y * HEIGHT][p] * right[p][threadIdx.x + x * WIDTH];
        __syncthreads();
    }
    for (int y = 0; y < PER_Y; ++y)
        for (int x = 0; x < PER_X; ++x)
            C[(i + y * HEIGHT) * n + j + x * WIDTH] = sum[y][x];
}
"""


def tuned(width: str, height: str, per_x: str, per_y: str, edge: str) -> str:
    """Return the kernel with these names of its block's extents, of a thread's elements, and of the step along k."""
    sides = {"TALL": f"({height} * {per_y})", "WIDE": f"({width} * {per_x})", "PER_X": per_x, "PER_Y": per_y}
    text = TUNED
    for name, value in {**sides, "WIDTH": width, "HEIGHT": height, "EDGE": edge}.items():
        text = text.replace(name, value)
    return text


@pytest.mark.parametrize(
    "names",
    [
        ("block_size_x", "block_size_y", "tile_size_x", "tile_size_y", "block_size_x"),
        ("BLOCK_SIZE_X", "BLOCK_SIZE_Y", "TILE_SIZE_X", "TILE_SIZE_Y", "TILE_SIZE_K"),
        ("block_size_x", "block_size_y", "work_per_thread_x", "work_per_thread_y", "tile_k"),
        ("block_size_x", "block_size_y", "1", "1", "16"),
    ],
)
def test_values_are_suggested_that_compile_and_fit(names: tuple[str, str, str, str, str], folder: Path) -> None:
    (folder / "my.cu").write_text(tuned(*names))
    output = ran()
    assert all(f"{name}=" in output for name in names if not name.isdecimal()), output
    assert "TEST PASS" in pasted(output), pasted(output)


def test_arrays_that_one_loop_indexes_have_one_extent_there(folder: Path) -> None:
    text = tuned("block_size_x", "block_size_y", "tile_x", "tile_y", "block_size_x")
    text = text.replace("#define STEP block_size_x", "#define STEP (block_size_y * tile_y)")
    (folder / "my.cu").write_text(text.replace("p < STEP", "p < block_size_x").replace("first += STEP", "first += 32"))
    (suggested,) = (each for each in ran().splitlines() if "--config" in each and "mmcore" in each)
    values = dict(each.split("=") for each in shlex.split(suggested)[-1].split(","))
    assert int(values["block_size_x"]) == int(values["block_size_y"]) * int(values["tile_y"])


@pytest.mark.parametrize("name", ["WARPS", "BS", "rows_of_block"])
def test_the_default_of_a_macro_may_need_a_value(name: str, folder: Path) -> None:
    launch = "tuned<<<dim3(n / TILE, n / TILE), dim3(TILE, TILE)>>>(A, B, C, n);"
    text = tuned("TILE", "TILE", "1", "1", "TILE") + f"void run(float *A, float *B, float *C, int n) {{ {launch} }}"
    (folder / "my.cu").write_text(f"#ifndef TILE\n#define TILE ({name} * 4)\n#endif\n{text}\n")
    output = ran()
    assert f"--config {name}=" in output
    assert "TEST PASS" in pasted(output), pasted(output)


def test_given_values_are_kept(folder: Path) -> None:
    (folder / "my.cu").write_text(tuned("block_size_x", "block_size_y", "tile_x", "tile_y", "16"))
    output = mmcore(*shlex.split("run my.cu --device emulator --config block_size_x=8")).output
    assert "block_size_x=8," in output
    assert "TEST PASS" in pasted(output)


@pytest.mark.parametrize("use", ["warpSize * 2", "threadIdx.x + 1", "(x + CHAR_BIT)", "min(x, n)", "n * summ"])
def test_names_of_cuda_and_misspelt_ones_are_no_macros(use: str) -> None:
    (function,) = (program := read_program(f"__global__ void f(int *x, int n) {{ x[0] = {use}; }}")).functions
    assert undefined_macros(program, function) == []


def test_the_edge_of_a_tile_alone_is_still_guessed() -> None:
    assert "TILE" in guesses(tuned("TILE", "TILE", "1", "1", "TILE"))


def test_the_value_of_another_file_of_the_project_is_suggested(folder: Path) -> None:
    (folder / "my.cu").write_text(tuned("EDGE", "EDGE", "1", "1", "EDGE").replace("EDGE", "BLOCK_EDGE"))
    assert "the value suggested for BLOCK_EDGE is only an example" in ran()
    for definition in ("#define BLOCK_EDGE (2 * 4)\n", "constexpr int BLOCK_EDGE = 8;\n"):
        (folder / "other.h").write_text(definition)
        output = ran()
        assert "other.h has BLOCK_EDGE = 8" in output
        assert "--config BLOCK_EDGE=8" in output
        assert "example" not in output

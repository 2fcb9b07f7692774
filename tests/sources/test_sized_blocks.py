"""Blocks that depend on the sizes, and sides of C that the threads of one block cover."""

from __future__ import annotations

from pathlib import Path

import pytest

from mmcore.kernel.configs import Config
from mmcore.kernel.problem import Problem
from mmcore_sources.cuda_file.inference.infer import Inferred, infer
from tests.command_line import mmcore as command

SUM = "float s = 0; for (int i = 0; i < n; i++) s += A[row * n + i] * B[i * n + col];"
STORE = f"{SUM} C[row * n + col] = s;"
THREADS = f"int row = threadIdx.y, col = threadIdx.x; {STORE}"
GUARDED = f"int row = threadIdx.y, col = threadIdx.x; if (row < n && col < n) {{ {STORE} }}"
STRIDED = "for (int row = threadIdx.y; row < n; row += blockDim.y) for (int col = threadIdx.x; col < n; "
STRIDED += f"col += blockDim.x) {{ {STORE} }}"
ROW = f"int row = blockIdx.x, col = threadIdx.x; {STORE}"
GUARDED_ROW = f"int row = blockIdx.x, col = threadIdx.x; if (row < n && col < n) {{ {STORE} }}"
OF_ROWS = f"int row = threadIdx.x; for (int col = 0; col < n; col++) {{ {STORE} }}"
FLAT = f"int id = threadIdx.x, row = id / n, col = id % n; {SUM} C[id] = s;"
TILES = "int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x; "
TILES += f"if (row >= n || col >= n) return; {STORE}"
USER = "int n = atoi(argv[1]);"
SQUARES = {*range(1, 41), 64, 512, 1024, 1025}
LARGER = "not run: sizes for which the block {} has more than 1,024 threads"


def program(body: str, statements: str) -> str:
    """Return a program with a kernel and the statements of its main function."""
    kernel = f"__global__ void mul(const float *A, const float *B, float *C, int n) {{ {body} }}"
    return f"{kernel}\nint main(int argc, char **argv) {{ float *a, *b, *c; {statements} }}\n"


def inferred(body: str, statements: str, **given: str) -> Inferred:
    return infer(Path("/folder/my.cu"), program(body, statements), given)


def sides(found: Inferred) -> set[int]:
    """Return the sides of ``SQUARES`` that a kernel's constraints allow."""
    config = Config(found.attributes["configs"][0])
    several = (*found.attributes["constraints"], *found.attributes["program_sizes"])
    return {side for side in SQUARES if not any(each.violation(Problem(side, side, side), config) for each in several)}


@pytest.mark.parametrize(
    ("body", "statements", "block", "allowed"),
    [
        (THREADS, "int n = 16; mul<<<1, dim3(n, n)>>>(a, b, c, n);", "n, n", {*range(1, 33)}),
        (THREADS, "int n = 16; dim3 t(n, n, 1); mul<<<dim3(1, 1), t>>>(a, b, c, n);", "n, n", {*range(1, 33)}),
        (THREADS, "int n = 64; mul<<<1, dim3(n, n)>>>(a, b, c, n);", "n, n", {*range(1, 33)}),
        (FLAT, "int n = 16; mul<<<1, n * n>>>(a, b, c, n);", "n * n", {*range(1, 33)}),
        (ROW, "int n = 64; mul<<<n, n>>>(a, b, c, n);", "n", SQUARES - {1025}),
        (
            GUARDED_ROW,
            "int n = 64, t = std::min(n, 512); mul<<<n, t>>>(a, b, c, n);",
            "min(n, 512)",
            SQUARES - {1024, 1025},
        ),
        (TILES, "int n = 64; dim3 t(n / 8, n / 8); mul<<<dim3(8, 8), t>>>(a, b, c, n);", "n // 8, n // 8",
         {8, 16, 24, 32, 40, 64}),
        (TILES, "int n = 64, t = n < 16 ? n : 16, g = (n + t - 1) / t; mul<<<dim3(g, g), dim3(t, t)>>>(a, b, c, n);",
         "min(n, 16), min(n, 16)", SQUARES),
    ],
)  # fmt: skip
def test_a_block_follows_from_the_sizes(body: str, statements: str, block: str, allowed: set[int]) -> None:
    found = inferred(body, statements)
    assert (found.attributes["launch"].block, sides(found)) == (block, allowed)
    assert not [each for each in found.warnings if each.startswith("not run")]


def test_a_block_that_the_user_gives_depends_on_no_sizes() -> None:
    found = inferred(ROW, "int n = 64; mul<<<n, n>>>(a, b, c, n);", block="32")
    assert (found.attributes["launch"].block, sides(found)) == ("", {32})


@pytest.mark.parametrize(("block", "warns"), [("dim3(n, n)", True), ("dim3(16, std::min(n, 16))", False)])
def test_sizes_of_the_user_that_no_block_fits_are_not_run(block: str, warns: bool) -> None:
    found = inferred(TILES, f"{USER} mul<<<1, {block}>>>(a, b, c, n);")
    assert [*found.warnings] == [LARGER.format("n, n")] * warns


@pytest.mark.parametrize(
    ("body", "block", "allowed"),
    [
        (THREADS, "dim3(16, 16)", {16}),
        (THREADS, "dim3(3, 3)", {16}),  # a small example
        (THREADS, "dim3(8, 16)", {16}),  # which fits no square
        (GUARDED, "dim3(16, 16)", {*range(1, 17)}),
        (STRIDED, "dim3(16, 16)", SQUARES),
        (ROW, "32", {32}),
        (GUARDED_ROW, "32", {*range(1, 33)}),
        (OF_ROWS, "32", {32}),
        (FLAT, "256", {16}),
    ],
)
def test_one_block_covers_the_sides_of_c_that_have_no_index_of_a_block(
    body: str, block: str, allowed: set[int]
) -> None:
    grid = "n" if body in (ROW, GUARDED_ROW) else "1"
    assert sides(inferred(body, f"int n = 16; mul<<<{grid}, {block}>>>(a, b, c, n);")) == allowed


@pytest.mark.parametrize(("body", "allowed"), [(THREADS, 16), (ROW, 64), (OF_ROWS, 64), (FLAT, 16)])
def test_a_kernel_without_a_launch_gets_a_usual_block(body: str, allowed: int) -> None:
    text = program(body, "").partition("int main")[0]
    assert sides(infer(Path("/folder/my.cu"), text, {})) == {allowed}


@pytest.mark.parametrize(
    ("half", "size", "allowed"),
    [
        ("blockDim.x / 2", 64, {1, 2, 4, 8, 16, 32, 64, 512, 1024}),
        ("blockDim.x >> 1", 64, {1, 2, 4, 8, 16, 32, 64, 512, 1024}),
        ("blockDim.x / 2", 40, SQUARES - {1025}),  # which the sum leaves threads out of
        ("32", 64, SQUARES - {1025}),
    ],
)
def test_a_block_that_a_sum_halves_in_turns_has_powers_of_two(half: str, size: int, allowed: set[int]) -> None:
    body = "extern __shared__ float s[]; int t = threadIdx.x, row = blockIdx.y, col = blockIdx.x; "
    body += f"s[t] = A[row * n + t] * B[t * n + col]; for (int h = {half}; h > 0; h /= 2) {{ __syncthreads(); "
    body += "if (t < h) s[t] += s[t + h]; } if (t == 0) C[row * n + col] = s[0];"
    found = inferred(body, f"int n = {size}; mul<<<dim3(n, n), n, n * sizeof(float)>>>(a, b, c, n);")
    assert sides(found) == allowed


COVERED = "No thread computes {}: the index into C uses no blockIdx for them"


@pytest.mark.parametrize(
    ("body", "statements", "fault"),
    [
        (THREADS, "int n = 16; mul<<<1, dim3(n, n)>>>(a, b, c, n);", ""),
        (THREADS, "int n = 64; mul<<<1, dim3(n, n)>>>(a, b, c, n);", "a block of 64×64 = 4096 threads is launched"),
        (THREADS, "int n = 64; mul<<<1, dim3(16, 16)>>>(a, b, c, n);", "rows from 16 on, and columns from 16 on"),
        (GUARDED, f"{USER} mul<<<1, dim3(32, 32)>>>(a, b, c, n);", "the block is 32×32 whatever the size"),
        (ROW, "int n = 64; mul<<<n, n / 2>>>(a, b, c, n);", "expected"),
        (GUARDED_ROW, "int n = 64; mul<<<n, 32>>>(a, b, c, n);", COVERED.format("columns from 32 on")),
        (OF_ROWS, "int n = 64; mul<<<1, 32>>>(a, b, c, n);", "and C is 64×64"),
        (TILES, "int n = 64; dim3 t(n / 8, n / 8); mul<<<dim3(8, 8), t>>>(a, b, c, n);", ""),
    ],
)
def test_a_program_fails_whose_block_leaves_a_part_of_c_out(
    body: str, statements: str, fault: str, folder: Path
) -> None:
    (folder / "my.cu").write_text(program(body, statements))
    result = command("run", "my.cu", "--no-hazards", "--device", "emulator", "--seed", "1")
    assert (result.exit_code, fault in result.stdout) == (bool(fault), True)
    assert "hint: with the grid" not in result.stdout

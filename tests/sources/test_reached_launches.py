"""The launches that a program reaches by its constants, and the instances of a template that are not run."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.command_line import mmcore as command
from tests.sources.test_source_file import inferred

KERNEL = """
template <int BLOCK_SIZE> __global__ void mul(float *C, float *A, float *B, int wA, int wB)
{
    __shared__ float As[BLOCK_SIZE][BLOCK_SIZE], Bs[16][BLOCK_SIZE];
    int row = blockIdx.y * BLOCK_SIZE + threadIdx.y, col = blockIdx.x * BLOCK_SIZE + threadIdx.x;
    float sum = 0;
    for (int t = 0; t < wA; t += BLOCK_SIZE) {
        As[threadIdx.y][threadIdx.x] = A[row * wA + t + threadIdx.x];
        Bs[threadIdx.y][threadIdx.x] = B[(t + threadIdx.y) * wB + col];
        __syncthreads();
        for (int k = 0; k < BLOCK_SIZE; ++k) sum += As[threadIdx.y][k] * Bs[k][threadIdx.x];
        __syncthreads();
    }
    C[row * wB + col] = sum;
}
"""
LAUNCH = "mul<{}><<<dim3(n / block_size, n / block_size), dim3(block_size, block_size)>>>(c, a, b, n, n);"
SMALL, LARGE = LAUNCH.format(16), LAUNCH.format(32)
RUN = "void run(float *a, float *b, float *c, int n, int block_size)\n{{\n    {}\n}}\n"
MAIN = "int main(int argc, char **argv)\n{{\n    float *a, *b, *c;\n    {}\n}}\n"
BRANCH = RUN.format(f"if (block_size == 16)\n        {SMALL}\n    else\n        {LARGE}")
CALL = "run(a, b, c, 320, block_size);"


def program(host: str, main: str) -> str:
    return KERNEL + host + MAIN.format(main)


@pytest.mark.parametrize(
    "text",
    [
        program(BRANCH, f"int block_size = 32;\n    {CALL}"),
        program(BRANCH.replace("== 16", "< 32"), "const int edge = 16 * 2;\n    run(a, b, c, 320, edge);"),
        program(
            "",
            "int block_size = 32, n = 320;\n    auto chosen = block_size == 32 ? mul<32> : mul<16>;\n    "
            + LARGE.replace("mul<32>", "chosen"),
        ),
        program(
            "", f"int block_size = 32, n = 320;\n    if (block_size == 16) {{\n{SMALL}\n    return 0; }}\n    {LARGE}"
        ),
        program(
            RUN.format(f"switch (block_size) {{\n case 16: {SMALL}\n break;\n default: {LARGE}\n }}"),
            "run(a, b, c, 320, 32);",
        ),
        program(
            RUN.format(f"switch (block_size) {{\n default: {SMALL}\n break;\n case 32: {LARGE}\n }}"),
            "run(a, b, c, 320, 32);",
        ),
    ],
)
def test_the_instance_that_the_constants_reach_is_run(text: str) -> None:
    found = inferred(text)
    assert found.attributes["configs"][0]["BLOCK_SIZE"] == 32
    assert not found.warnings


@pytest.mark.parametrize(
    ("main", "size"),
    [
        (f"int block_size = 32;\n    if (argc > 1) block_size = atoi(argv[1]);\n    {CALL}", 16),
        (f"int block_size = argc > 1 ? atoi(argv[1]) : 32;\n    {CALL}", 32),
        (f"for (int block_size = 16; block_size <= 32; block_size *= 2)\n        {CALL}", 16),
        ("run(a, b, c, 320, 32);\n    run(a, b, c, 320, 16);", 16),
    ],
)
def test_other_instances_that_may_be_launched_are_named(main: str, size: int) -> None:
    found = inferred(program(BRANCH, main))
    assert found.attributes["configs"][0]["BLOCK_SIZE"] == size
    other = f"mul<{48 - size}>"
    (warning,) = found.warnings
    assert f"launches {other}, which is not run; --entry '{other}' runs it" in warning


DISPATCH = """
void run(int n, float *a, float *b, float *c) {
    if (n >= 128) {
        const int EDGE = 32;
        mul<EDGE><<<dim3(n / EDGE, n / EDGE), dim3(EDGE, EDGE)>>>(c, a, b, n, n);
    } else {
        const int EDGE = 16;
        mul<EDGE><<<dim3(n / EDGE, n / EDGE), dim3(EDGE, EDGE)>>>(c, a, b, n, n);
    }
}"""


@pytest.mark.parametrize(("entry", "other"), [("", 16), ("mul<32>", 16), ("mul<16>", 32)])
def test_another_instance_has_the_constants_of_its_launch(entry: str, other: int) -> None:
    found = inferred(KERNEL + DISPATCH, **({"entry": entry} if entry else {}))
    (warning,) = found.warnings
    assert f"launches mul<{other}>, which is not run; --entry 'mul<{other}>' runs it" in warning
    inferred_other = inferred(KERNEL + DISPATCH, entry=f"mul<{other}>")
    assert inferred_other.attributes["configs"][0]["BLOCK_SIZE"] == other


def test_an_instance_of_an_unknown_number_has_no_hint() -> None:
    host = "void run(int n, float *a, float *b, float *c) {{\n    {}\n    {}\n}}"
    launch = "mul<{}><<<dim3(n / 16, n / 16), dim3(16, 16)>>>(c, a, b, n, n);"
    text = KERNEL.replace("<int BLOCK_SIZE>", "<int BLOCK_SIZE, int KIND>")
    found = inferred(text + host.format(launch.format("16, 0"), launch.format("32, Kind::slow")))
    (warning,) = found.warnings
    assert warning.endswith("launches mul<32, Kind::slow>, which is not run")


@pytest.mark.parametrize("arguments", [("check", "-q"), ("check", "--json"), ("conform", "-q")])
def test_every_verdict_names_the_instances_that_are_not_run(folder: Path, arguments: tuple[str, ...]) -> None:
    (folder / "mul.cu").write_text(KERNEL + DISPATCH)
    result = command(arguments[0], "mul.cu", "--entry", "mul<16>", *arguments[1:], "--device", "emulator")
    assert result.stdout.count("line 20 launches mul<32>, which is not run") == 1


def test_a_branch_that_may_go_on_excludes_no_launch() -> None:
    branch = "if (block_size == 32) {\n    if (argc > 1) return 1;\n    n = 640; }"
    main = f"int block_size = 32, n = 320;\n    {branch}\n    {LARGE}\n    if (n == 7) {SMALL}"
    found = inferred(program("", main))
    assert found.attributes["configs"][0]["BLOCK_SIZE"] == 32


def test_a_given_instance_is_that_of_its_launch() -> None:
    text = program(BRANCH, f"int block_size = 32;\n    {CALL}")
    for given in ({"parameters": {"BLOCK_SIZE": 16}}, {"entry": "mul<16>"}):
        assert "in line 19" in next(each.why for each in inferred(text, **given).notes if each.what == "block")


def test_a_block_of_the_template_s_edge_follows_the_config(folder: Path) -> None:
    (folder / "mul.cu").write_text(program(BRANCH, f"int block_size = 32;\n    {CALL}"))
    run = ("run", "mul.cu", "--device", "emulator", "--size", "32")
    assert command(*run).exit_code == 1
    result = command(*run, "--config", "BLOCK_SIZE=8")
    assert (result.exit_code, "block            8×8 (64 threads)" in result.stdout) == (0, True)

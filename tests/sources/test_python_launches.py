"""Mistakes in the launches of Python programs: grids that leave a part of C out, and arrays that nothing fills."""

from __future__ import annotations

from pathlib import Path

import pytest

from mmcore_sources.cuda_file.files import file_kernel, inferred_of
from tests.command_line import mmcore as command
from tests.sources.test_python_file import notebook, written
from tests.tables import cases, section_of

pytestmark = pytest.mark.usefixtures("folder")

PROGRAMS = section_of(__file__, "programs")


@cases(__file__, "bugs", "program, launch, expected")
def test_a_bug_of_a_launch_is_found_with_its_line(program: str, launch: str, expected: tuple[str, ...]) -> None:
    bugs = file_kernel({"file": written(PROGRAMS[program].replace("{}", launch.removeprefix("\n")))}, {}).bugs
    found = [f"{bug.kind} {bug.line}: {bug.message}" for bug in bugs]
    assert len(found) == len(expected), found
    assert all(each.startswith(begin) for each, begin in zip(found, expected, strict=True)), found


def test_a_bug_in_a_notebook_is_at_the_line_of_its_cell() -> None:
    before, after = PROGRAMS["cupy"].split("m, n, k = 96")
    path = notebook(
        (before, f"m, n, k = 96{after.replace('{}', 'multiply((n // 16, 6), (16, 16), (a, b, c, m, n, k))')}")
    )
    (bug,) = file_kernel({"file": Path(path).absolute()}, {}).bugs
    assert (bug.source, bug.line) == ("my.ipynb[cell 2]", 4)


HOST = """
__global__ void multiply(const float *a, const float *b, float *c, int n) {
    int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
    float sum = 0;
    for (int p = 0; p < n; p++) sum += a[row * n + p] * b[p * n + col];
    c[row * n + col] = sum;
}
void product(float *a, float *b, float *c) {
    const int n = 100;
    multiply<<<dim3(n / 16, n / 16), dim3(16, 16)>>>(a, b, c, n);
}
"""


def test_a_bug_of_host_code_in_a_cell_or_a_string_is_found() -> None:
    cell = notebook(("n = 3", f"%%cu{HOST}"))
    string = written(f"import e\ne.load_inline('x', cuda_sources='''{HOST}''')\n")
    for path, source, line in ((cell, "my.ipynb[cell 2]", 10), (string, "my.py", 11)):
        (bug,) = file_kernel({"file": Path(path).absolute()}, {}).bugs
        assert (bug.kind, bug.source, bug.line) == ("rounded-down-grid", source, line)


@pytest.mark.parametrize(
    ("array", "types"),
    [
        ("half()", ("float16", "float32")),
        ("to(torch.int8)", ("int8", "int32")),
        ("to(torch.float8_e5m2)", ("float8_e5m2", "float22")),
    ],
)
def test_the_type_of_sums_of_triton_follows_that_of_the_arrays(array: str, types: tuple[str, str]) -> None:
    program = PROGRAMS["triton"].replace("{}", "multiply[(2, 4)](a, b, c, M, N, K, BM=64, BN=32, BK=32)")
    program = program.replace("half()", array).replace(
        "dtype=torch.float32", f"dtype=torch.{'int32' * ('int' in array) or 'float32'}"
    )
    kernel = file_kernel({"file": written(program)}, {}).kernel
    assert (kernel.dtype, kernel.accumulator) == types


def test_a_grid_that_rounds_up_is_tried() -> None:
    launch = "blocks = (n // 16, (m + 15) // 16)\nmultiply(blocks, (16, 16), (a, b, c, m, n, k))"
    result = command("run", written(PROGRAMS["cupy"].replace("{}", launch)), "--device", "emulator", "--seed", "1")
    assert result.exit_code == 1
    assert "\nrounded-down-grid" in result.stdout
    hint = result.stdout.split("\nhint: the product is right at ")[1]
    change = "(n + 15) // 16 instead of n // 16 in line 15:\n    blocks = ((n + 15) // 16, (m + 15) // 16)"
    assert f" with {change}\n" in hint


@cases(__file__, "fills", "statement, array, evidence")
def test_an_array_that_the_program_fills_may_be_added_to(statement: str, array: str, evidence: str) -> None:
    program = PROGRAMS["numba"].replace("C[row, col] = total", "C[row, col] += total")
    launch = f"{statement}\nmultiply[(63, 63), (16, 16)](A, B, {array})"
    (unusual,) = inferred_of({"file": written(program.replace("{}", launch))}).unusual
    assert unusual.evidence == evidence
    assert bool(unusual.lacks) == (not evidence)


def test_what_an_array_of_pycuda_held_is_not_copied_with_out() -> None:
    for word, filled in (("InOut", True), ("Out", False)):
        launch = (
            f"multiply(driver.In(a), driver.In(b), driver.{word}(c), numpy.int32(n), block=(16, 16, 1), grid=(7, 7))"
        )
        program = PROGRAMS["pycuda"].replace("c[row * n + col] =", "c[row * n + col] +=").replace("{}", launch)
        (unusual,) = inferred_of({"file": Path(written(program)).absolute()}).unusual
        assert bool(unusual.evidence) == filled


@pytest.mark.parametrize(("sides", "evidence"), [("01", "n = B.size(0) in the host code"), ("10", "")])
def test_a_tensor_of_n_rows_supports_b_by_columns(sides: str, evidence: str) -> None:
    source = """
__global__ void multiply(const float *a, const float *b, float *c, int m, int n, int k) {
    int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
    if (row >= m || col >= n) return;
    float sum = 0;
    for (int p = 0; p < k; p++) sum += a[row * k + p] * b[col * k + p];
    c[row * n + col] = sum;
}
torch::Tensor product(torch::Tensor A, torch::Tensor B) {
    int m = A.size(0), n = B.size(0), k = B.size(1);
    auto C = torch::empty({m, n}, A.options());
    dim3 blocks((n + 15) / 16, (m + 15) / 16), threads(16, 16);
    multiply<<<blocks, threads>>>(A.data_ptr<float>(), B.data_ptr<float>(), C.data_ptr<float>(), m, n, k);
    return C;
}
"""
    for number, side in enumerate(sides):
        source = source.replace("nk"[number] + f" = B.size({number})", "nk"[number] + f" = B.size({side}) ")
    path = written(f"import e\ne.load_inline('x', cuda_sources='''{source}''')\n")
    (unusual,) = inferred_of({"file": path}).unusual
    assert unusual.evidence == evidence

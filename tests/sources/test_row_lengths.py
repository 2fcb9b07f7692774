"""Lengths of rows by any name, in elements and bytes, beside one size or all three."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mmcore.kernel.constraints import Square
from tests.command_line import mmcore as command
from tests.sources.test_source_file import kernel

PARAMETERS = "const float *A, {t} pa, const float *B, {t} pb, float *C, {t} pc, int n"
BODY = """{
    int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= n || col >= n) return;
    float sum = 0;
    for (int k = 0; k < n; k++) sum += A[row * pa + k] * B[k * pb + col];
    C[row * pc + col] = sum;
}"""
BYTES = """{
    int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= n || col >= n) return;
    float sum = 0;
    for (int k = 0; k < n; k++) {
        const float *ra = (const float *)((const char *)A + row * pa);
        const float *rb = (const float *)((const char *)B + k * pb);
        sum += ra[k] * rb[col];
    }
    ((float *)((char *)C + row * pc))[col] = sum;
}"""


def source(body: str, kind: str = "size_t") -> str:
    return f"__global__ void mul({PARAMETERS.format(t=kind)})\n{body}\n"


def roles(text: str) -> list[str]:
    return [str(getattr(each, "value", each)) for each in kernel(text).arguments]


def renamed(text: str, names: str) -> str:
    for old, new in zip(("pa", "pb", "pc", "n"), names.split(), strict=True):
        text = re.sub(rf"\b{old}\b", new, text)
    return text


@pytest.mark.parametrize("names", ["lda ldb ldc n", "pitchA pitchB pitchC n", "pa pb pc width"])
def test_one_size_beside_lengths_of_rows_is_that_of_squares(names: str) -> None:
    text = renamed(source(BODY, "int"), names)
    assert roles(text) == ["A", "lda", "B", "ldb", "C", "ldc", "n"]
    assert Square() in kernel(text).constraints


def test_a_length_that_limits_a_loop_is_a_size() -> None:
    text = renamed(source(BODY.replace("k < n", "k < pa"), "int"), "lda ldb ldc n")
    assert Square() not in kernel(text).constraints


def test_lengths_of_any_name_may_count_bytes() -> None:
    assert roles(source(BYTES)) == ["A", "bytes(lda)", "B", "bytes(ldb)", "C", "bytes(ldc)", "n"]
    of_rows = BYTES.replace("row >= n", "row >= m").replace("k < n", "k < depth")
    all_sizes = roles(source(of_rows).replace("int n", "int m, int n, int depth"))
    assert all_sizes == ["A", "bytes(lda)", "B", "bytes(ldb)", "C", "bytes(ldc)", "m", "n", "k"]


@pytest.mark.parametrize(("body", "status"), [(BYTES, 0), (BODY, 0), (BODY.replace("k * pb", "k * pa"), 1)])
def test_squares_are_tried_with_different_gaps_between_rows(folder: Path, body: str, status: int) -> None:
    (folder / "mul.cu").write_text(renamed(source(body), "lda ldb ldc n"))
    result = command("run", "mul.cu", "--device", "emulator")
    assert result.exit_code == status
    assert "40×40×40, lda = 48, ldb = 56, ldc = 64" in result.stdout


PRODUCTS = """__global__ void mul(float *A, float *B, float *C, int {index}, int M, int N, int K)
{{
    int x = threadIdx.x + blockIdx.x * blockDim.x, y = threadIdx.y + blockIdx.y * blockDim.y;
    int of_a = {z} * M * N, of_b = {z} * N * K, of_c = {z} * M * K;
    float sum = 0;
    if (y < M && x < K) {{
        for (int i = 0; i < N; i++) sum += A[of_a + y * N + i] * B[of_b + i * K + x];
        C[of_c + y * K + x] = sum;
    }}
}}
"""


@pytest.mark.parametrize(("index", "z"), [("batch", "batch"), ("p", "p"), ("batch", "blockIdx.z")])
@pytest.mark.parametrize("shares_b", [False, True])
def test_a_step_to_the_next_product_is_no_length_of_a_row(index: str, z: str, shares_b: bool) -> None:
    text = PRODUCTS.format(index=index, z=z)
    text = text.replace("B[of_b + ", "B[") if shares_b else text
    assert roles(text) == ["A", "B", "C", "1" if z == "blockIdx.z" else "0", "m", "k", "n"]
    assert roles(text.replace("int N, int K", "int K, int N"))[4:] == ["m", "n", "k"]


@pytest.mark.parametrize(("element", "verdict"), [("k * columns + column", 0), ("column * inner + k", 1)])
def test_a_number_of_blocks_may_be_the_length_of_the_rows(
    element: str, verdict: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = """
enum { TILE = 8 };
static const int kM = 4 * TILE, kK = 2 * TILE, kN = 6 * TILE;
__global__ void mul(const float *a, const float *b, float *c, int inner)
{
    const int columns = gridDim.x * TILE, row = blockIdx.y * TILE + threadIdx.y;
    const int column = blockIdx.x * TILE + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < inner; k++) sum += a[row * inner + k] * b[ELEMENT];
    c[row * columns + column] = sum;
}
int main()
{
    int inner = kK;
    void *passed[] = {&a, &b, &c, &inner};
    cudaLaunchKernel((const void *)mul, dim3(kN / TILE, kM / TILE), dim3(TILE, TILE), passed, 0, 0);
}
""".replace("ELEMENT", element)
    monkeypatch.chdir(tmp_path)
    Path("counted.cu").write_text(text)
    result = command("run", "counted.cu", "--device", "emulator", "--quiet")
    last = "TEST FAIL" if verdict else "TEST PASS if m and n are multiples of 8"
    assert (result.exit_code, last in result.output) == (verdict, True), result.output


@pytest.mark.parametrize("column_major", [None, "B"])
@pytest.mark.parametrize(
    "loop",
    [
        "for (int p = 0; p < K; p++) sum += A[row * K + p] * B[col * K + p];",
        "const float *a = A + row * K, *b = B + col * K; for (int p = K; p > 0; p--) sum += *a++ * *b++;",
    ],
    ids=["indexes", "pointers"],
)
@pytest.mark.parametrize(
    ("names", "local", "found"),
    [
        ("hA hB w", "hA hB w", ["m", "n", "k"]),
        ("rowsA rowsB cols", "M N K", ["m", "n", "k"]),
        ("heightA width heightB", "M K N", ["m", "k", "n"]),
    ],
)
def test_rows_of_a_transposed_b_are_the_columns_of_c(
    names: str, local: str, found: list[str], loop: str, column_major: str | None
) -> None:
    first, second, third = names.split()
    m, n, k = (local.split()[found.index(role)] for role in "mnk")
    aliases = "".join(f"int {new} = {name}; " for name, new in zip(names.split(), local.split(), strict=True))
    text = f"""__global__ void mul(const float *A, const float *B, float *C, int {first}, int {second}, int {third})
{{
    {aliases if local != names else ""}
    int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= {m} || col >= {n}) return;
    float sum = 0;
    {loop.replace("K", k)}
    C[row * {n} + col] = sum;
}}
"""
    given = {} if column_major is None else {"column_major": column_major}
    assert [str(getattr(each, "value", each)) for each in kernel(text, **given).arguments] == ["A", "B", "C", *found]

"""One hint for the races that one barrier orders, outside of branches."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mmcore_emulator.adapter.statements import Statement, c_statements, python_statements
from mmcore_sources.cuda_file.files import file_kernel
from mmcore_sources.cuda_file.repairs.edits import device_nodes
from mmcore_sources.cuda_file.repairs.operands import Operands
from mmcore_sources.cuda_file.repairs.remainder_edits import remainder_edits
from mmcore_sources.cuda_file.repairs.trial import ChangeableBuild
from tests.command_line import mmcore as command
from tests.sources.test_python_file import notebook, written
from tests.tables import section_of

pytestmark = pytest.mark.usefixtures("folder")

TILED = """\
__global__ void product(const float *a, const float *b, float *c, int n) {
    __shared__ float x[8][8], y[8][8];
    int i = threadIdx.y, j = threadIdx.x, row = blockIdx.y * 8 + i, col = blockIdx.x * 8 + j;
    float sum = 0;
    for (int t = 0; t < n; t += 8) {
        if (row < n && t + j < n) x[i][j] = a[row * n + t + j];
        else x[i][j] = 0;
        if (col < n && t + i < n) {
            y[i][j] = b[(t + i) * n + col];
        } else
            y[i][j] = 0;
        __syncthreads();  // the tiles are complete
        for (int p = 0; p < 8; p++) sum += x[i][p] * y[p][j];
        __syncthreads();
    }
    if (row < n && col < n) c[row * n + col] = sum;
}
"""
NUMBA = """\
from numba import cuda, float32
@cuda.jit
def product(A, B, C):
    x = cuda.shared.array((8, 8), float32)
    y = cuda.shared.array((8, 8), float32)
    row, col = cuda.grid(2)
    i, j = cuda.threadIdx.x, cuda.threadIdx.y
    total = float32(0)
    for t in range((A.shape[1] + 7) // 8):
        if row < A.shape[0] and j + t * 8 < A.shape[1]:
            x[i, j] = A[row, j + t * 8]
        else:
            x[i, j] = 0
        y[i, j] = B[i + t * 8, col] if i + t * 8 < B.shape[0] and col < B.shape[1] else 0
        cuda.syncthreads()
        for p in range(8):
            total += x[i, p] * y[p, j]
        cuda.syncthreads()
    if row < C.shape[0] and col < C.shape[1]:
        C[row, col] = total
product[(9, 9), (8, 8)](a, b, c)
"""


def tried(output: str) -> list[str]:
    """Return the hints of races, and the one that was tried."""
    return re.findall(r"(?<=; try ).*syncthreads.*|(?<=without a race, with ).*", output)


@pytest.mark.parametrize(("barriers", "hints"), [(0, ["line 6", "line 13"]), (1, ["line 6"]), (2, [])])
def test_the_races_of_a_missing_barrier_share_a_hint(barriers: int, hints: list[str], folder: Path) -> None:
    text = TILED if barriers == 2 else TILED.replace("        __syncthreads();\n", "")
    (folder / "my.cu").write_text(text if barriers else text.replace("__syncthreads();", ""))
    result = command("run", "my.cu", "--block", "8x8", "--device", "emulator", "--seed", "1")
    assert result.exit_code == bool(hints)
    places = [f"before {each}" for each in hints]
    expected = [f"__syncthreads() {each}" for each in places]
    assert tried(result.stdout) == expected + [f"__syncthreads() {' and '.join(places)}"] * bool(hints)
    assert "without a remainder" not in result.stdout


BUFFERS = """\
__global__ void product(const float *a, const float *b, float *c, int m, int n, int k) {
    __shared__ float x[2][8][8], y[2][8][8];
    int i = threadIdx.y, j = threadIdx.x, row = blockIdx.y * 8 + i, col = blockIdx.x * 8 + j;
    x[0][i][j] = row < m && j < k ? a[row * k + j] : 0;
    y[0][i][j] = col < n && i < k ? b[i * n + col] : 0;
    __syncthreads();
    float sum = 0;
    for (int t = 0; t < k; t += 8) {
        int now = t / 8 % 2, p = t + 8 + j, q = t + 8 + i;
        float u = row < m && p < k ? a[row * k + p] : 0, v = col < n && q < k ? b[q * n + col] : 0;
        FIRST
        SECOND
    }
    if (row < m && col < n) c[row * n + col] = sum;
}
"""
STORES = "if (t + 8 < k) x[1 - now][i][j] = u, y[1 - now][i][j] = v;"
SUMS = "for (int p = 0; p < 8; p++) sum += x[now][i][p] * y[now][p][j];"
AWAITED = """\
__global__ void product(const float *a, const float *b, float *c, int n) {
    __shared__ float x[3][8][8], y[3][8][8];
    int i = threadIdx.y, j = threadIdx.x, row = blockIdx.y * 8 + i, col = blockIdx.x * 8 + j;
    auto copy = [&](int t) {
        __pipeline_memcpy_async(&x[t % 3][i][j], a + row * n + t * 8 + j, 4);
        __pipeline_memcpy_async(&y[t % 3][i][j], b + (t * 8 + i) * n + col, 4);
    };
    for (int t = 0; t < 2; t++) {
        if (t * 8 < n) copy(t);
        __pipeline_commit();
    }
    float sum = 0;
    for (int t = 0; t * 8 < n; t++) {
        __pipeline_wait_prior(1);
        if ((t + 2) * 8 < n) copy(t + 2);
        __pipeline_commit();
        for (int p = 0; p < 8; p++) sum += x[t % 3][i][p] * y[t % 3][p][j];
    }
    c[row * n + col] = sum;
}
void f(float *a, float *b, float *c, int n) { product<<<dim3(n / 8, n / 8), dim3(8, 8)>>>(a, b, c, n); }
"""
ROWS = """\
__global__ void product(const float *a, const float *b, float *c, int m, int n, int k) {
    __shared__ float x[4][32];
    int i = threadIdx.y, j = threadIdx.x, row = blockIdx.y * 4 + i, col = blockIdx.x * 32 + j;
    float sum = 0;
    for (int t = 0; t < k; t += 32) {
        x[i][j] = row < m && t + j < k ? a[row * k + t + j] : 0;
        for (int p = 0; p < 32 && t + p < k && col < n; p++) sum += x[i][p] * b[(t + p) * n + col];
    }
    if (row < m && col < n) c[row * n + col] = sum;
}
"""


STORES_FIRST = BUFFERS.replace("FIRST", STORES).replace("SECOND", SUMS).replace("8", "32")
SUMS_FIRST = BUFFERS.replace("FIRST", SUMS).replace("SECOND", STORES)


@pytest.mark.parametrize(
    ("text", "block", "hint"),
    [
        (STORES_FIRST, "32x32", "threads() before line 9, not before line 12"),
        (SUMS_FIRST, "8x8", "threads() before line 11, not before line 12"),
        ("#include <cuda_pipeline.h>\n" + AWAITED, "8x8", "threads() before line 16, not before line 18"),
        (ROWS, "32x4", "warp() before line 6 and before line 7"),
    ],
    ids=["stores first", "sums first", "copies", "warps"],
)
def test_the_fewest_barriers_that_order_all_iterations_are_found(
    text: str, block: str, hint: str, folder: Path
) -> None:
    (folder / "my.cu").write_text(text)
    result = command("run", "my.cu", "--block", block, "--device", "emulator", "--seed", "1")
    assert tried(result.stdout)[-1] == f"__sync{hint}", result.stdout


def test_a_race_in_a_file_with_other_letters_in_its_name_has_the_same_message(folder: Path) -> None:
    outputs = []
    for name in ("my", "Jürgen Weiß", "a\\b"):
        (folder / f"{name}.cu").write_text(TILED.replace("        __syncthreads();\n", ""))
        output = command("run", f"{name}.cu", "--block", "8x8", "--device", "emulator", "--seed", "1").stdout
        outputs.append(output[output.index("shared-race") :].replace(name, "my"))
    assert tried(outputs[0])
    assert outputs[1:] == outputs[:1] * 2


def test_barriers_that_are_not_enough_are_said_to_be_so(folder: Path) -> None:
    (folder / "my.cu").write_text(TILED.replace("        __syncthreads();\n", "").replace("sum +=", "sum -="))
    output = command("run", "my.cu", "--block", "8x8", "--device", "emulator", "--seed", "1").stdout
    assert "\n__syncthreads() before line 6 is not enough at " in output, output


ROW_OF_A_BLOCK = """\
__global__ void product(const float *a, const float *b, float *c, int m, int n, int k) {
    extern __shared__ float row[];
    for (int p = threadIdx.x; p < k; p += blockDim.x) row[p] = a[blockIdx.x * k + p];
    for (int j = threadIdx.x; j < n; j += blockDim.x) {
        float sum = 0;
        for (int p = 0; p < k; p++) sum += row[p] * b[p * n + j];
        c[blockIdx.x * n + j] = sum;
    }
}
"""


def test_threads_of_several_warps_that_share_a_row_lack_a_barrier_of_the_block(folder: Path) -> None:
    (folder / "my.cu").write_text(ROW_OF_A_BLOCK)
    options = ("--block", "128", "--grid", "m", "--shared", "4 * k", "--device", "emulator", "--seed", "1")
    assert tried(command("run", "my.cu", *options).stdout) == ["__syncthreads() before line 4"] * 2


COPIED = """\
__global__ void product(const float *a, const float *b, float *c, int n) {
    __shared__ float x[8][8], y[8][8];
    int i = threadIdx.y, j = threadIdx.x, row = blockIdx.y * 8 + i, col = blockIdx.x * 8 + j;
    auto copy = [](float *to, const float *from) {
        unsigned at = __cvta_generic_to_shared(to);
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(at), "l"(from));
    };
    float sum = 0;
    for (int t = 0; t < n; t += 8) {
        copy(&x[i][j], a + row * n + t + j);
        copy(&y[i][j], b + (t + i) * n + col);
        __syncthreads();
        asm volatile("cp.async.wait_all;");
        for (int p = 0; p < 8; p++)
            sum += x[i][p] * y[p][j];
        __syncthreads();
    }
    c[row * n + col] = sum;
}
"""


def test_a_barrier_is_tried_behind_the_wait_for_a_copy(folder: Path) -> None:
    (folder / "my.cu").write_text(COPIED)
    result = command("run", "my.cu", "--block", "8x8", "--size", "32", "--device", "emulator", "--seed", "1")
    assert "called at my.cu:11, and waits for at my.cu:13, with no barrier between them" in result.stdout
    assert tried(result.stdout) == ["__syncthreads() before line 14"] * 2


IN_BRANCH = TILED.replace("    for (int t", "    if (n % 8 == 0) {\n    for (int t").replace(
    "    if (row < n && col",
    "    } else if (row < n && col < n)\n"
    "        for (int p = 0; p < n; p++) sum += a[row * n + p] * b[p * n + col];\n    if (row < n && col",
)
IN_CALL = (
    TILED.replace("__global__ void product", "__device__ void tiles")
    + """\
__global__ void product(const float *a, const float *b, float *c, int n) {
    if (n)
        tiles(a, b, c, n);
}
"""
)


@pytest.mark.parametrize(("text", "line"), [(IN_BRANCH, 7), (IN_CALL, 6)])
def test_a_barrier_of_a_loop_is_in_the_loop_also_in_a_branch_and_in_a_function(
    text: str, line: int, folder: Path
) -> None:
    (folder / "my.cu").write_text(text.replace("        __syncthreads();\n", ""))
    result = command("run", "my.cu", "--block", "8x8", "--grid", "n / 8, n / 8", "--device", "emulator", "--seed", "1")
    assert tried(result.stdout) == [f"__syncthreads() before line {line}"] * 2, result.stdout


def test_a_barrier_behind_the_initialisation_of_mbarriers_is_tried(folder: Path) -> None:
    text = section_of(f"{Path(__file__).parent}/test_repairs.py", "parity")["text"].removeprefix("\n")
    text = text.replace("    __syncthreads();\n", "")
    (folder / "my.cu").write_text(text)
    result = command("run", "my.cu", "--device", "emulator", "--seed", "1")
    line = text[: text.index("for (int step")].count("\n") + 1
    assert tried(result.stdout) == [f"__syncthreads() before line {line}"] * 2


def test_a_barrier_in_a_notebook_of_numba_is_tried() -> None:
    pytest.importorskip("numba", reason="python -m pip install 'mmcore-cuda[numba]' brings it")
    first, cell = NUMBA.split("\n", 1)
    path = notebook((first, cell.replace("*= y", "").replace("        cuda.syncthreads()\n    if", "    if")))
    result = command("run", path, "--device", "emulator", "--seed", "1")
    assert tried(result.stdout) == ["cuda.syncthreads() before line 9"] * 2


def test_a_return_that_skips_a_barrier_is_named_and_undone(folder: Path) -> None:
    text = TILED.replace("    float sum", "    if (row >= n || col >= n)\n        return;\n    float sum")
    text = text.replace(
        "if (row < n && t + j < n) x[i][j] = a[row * n + t + j];\n        else x[i][j] = 0",
        "x[i][j] = t + j < n ? a[row * n + t + j] : 0",
    )
    (folder / "my.cu").write_text(text)
    output = command("run", "my.cu", "--block", "8x8", "--device", "emulator", "--seed", "1").stdout
    assert re.search(r"skipped-barrier at my.cu:13: at 23×23×23, thread .* has ended in line 5, and does not", output)
    assert "; try guards on the loads and the store instead of the return in line 5\n" in output
    assert (
        "with guards instead of the return before a barrier:\n    4  /* if (row >= n || col >= n)\n    5  return; */\n"
        in output
    )


@pytest.mark.parametrize(
    ("rest", "advice"),
    [("else { x[i][j] = 0; }", "a barrier of the branch's threads alone, bar.sync "), ("", "guards on the loads ")],
)
def test_a_barrier_in_the_branch_of_a_role_is_one_of_its_threads(rest: str, advice: str, folder: Path) -> None:
    role = f"int role = i / 4;\n    if (role == 1) {{\n        __syncthreads();\n    }} {rest}\n"
    text = TILED.replace("    if (row < n && col < n) c", f"    {role}    if (row < n && col < n) c")
    (folder / "my.cu").write_text(text)
    line = text[: text.index("if (role")].count("\n") + 1
    output = command("run", "my.cu", "--block", "8x8", "--size", "16", "--device", "emulator", "--seed", "1").stdout
    assert f"does not take the branch of line {line}, and does not reach the barrier" in output
    assert f"; try {advice}" in output


def test_a_branch_around_a_barrier_is_named_and_removed(folder: Path) -> None:
    text = TILED.replace("    for (int t", "    if (row < n && col < n) {\n    for (int t").replace(
        "    if (row < n && col < n) c", "    c"
    )
    text = text.replace("if (row < n && t + j < n)", "if (t + j < n)").replace(
        "if (col < n && t + i < n)", "if (t + i < n)"
    )
    (folder / "my.cu").write_text(text.replace("= sum;", "= sum; }"))
    output = command("run", "my.cu", "--block", "8x8", "--device", "emulator", "--seed", "1").stdout
    assert "does not take the branch of line 5, and does not reach the barrier" in output
    assert "; try guards on the loads and the store instead of the if in line 5\n" in output
    assert "with guards instead of the if around a barrier:\n    5  {\n    7  if (t + j < n && row < n)" in output


def test_the_value_of_a_device_function_is_no_return_before_a_barrier() -> None:
    loaded = "__device__ float at(const float *p, int i) { if (i) return p[i]; return *p; }\n"
    nodes = device_nodes(loaded + TILED, "product")
    operands = Operands({"a": "A", "b": "B", "c": "C"}, {"n": "n"}, "", "0")
    assert not [each.what for each in remainder_edits(loaded + TILED, nodes, operands) if "return" in each.what]


def test_a_return_of_numba_that_skips_a_barrier_is_undone() -> None:
    text = NUMBA.replace("    total =", "    if row >= C.shape[0] or col >= C.shape[1]:\n        return\n    total =")
    path = Path(written(text)).absolute()
    kernel = file_kernel({"file": path}, {}).kernel
    assert isinstance(kernel.build, ChangeableBuild)
    what = next(what for _, what in kernel.build.changed(kernel) if what.startswith("guards on the loads"))
    assert what.splitlines()[0] == "guards on the loads and the store instead of the return in lines 9, 12 and 16:"
    assert "    if row < A.shape[0] and j + t * 8 < A.shape[1]:" in what.splitlines()


def shape(statements: tuple[Statement, ...] | list[Statement]) -> str:
    """Return the kinds of statements with bodies, and their lines, as a text."""
    return " ".join(f"{each.kind}:{each.line}-{each.last}({shape(each.body)})" for each in statements if each.kind)


def test_statements_of_c_are_read_by_their_braces() -> None:
    source = """#define BODY { x; }
void f(int n) {
    int v[2] = {0, 1};  // {
    do { n--; } while (n > 3);
    if (n) g(); else if (v[0]) { h("}"); } else { h("{"); }
    for (;;)
        for (;;) { n++; }
}
"""
    assert shape(c_statements(source)) == "block:2-8(loop:4-4() branch:5-5() loop:6-7())"
    assert [each.line for each in c_statements(source)[0].body] == [3, 4, 5, 6]


def test_statements_of_python_are_read_from_its_tree() -> None:
    source = "def f(n):\n    while n:\n        n -= 1\n    if n:\n        n = 2\n    else:\n        n = 3\n"
    assert shape(python_statements(source)) == "block:1-7(loop:2-3() branch:4-7())"

"""A made-up class: right submissions, wrong ones and hostile ones for three tasks, from a few kernels."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

TILED = """#define T 16
__global__ void mm(const float* A, const float* B, float* C, int n) {
    __shared__ float a[T][T], b[T][T];
    int row = blockIdx.y * T + threadIdx.y, column = blockIdx.x * T + threadIdx.x;
    float sum = 0;
    for (int t = 0; t < (n + T - 1) / T; ++t) {
        int k = t * T + threadIdx.x, l = t * T + threadIdx.y;
        a[threadIdx.y][threadIdx.x] = row < n && k < n ? A[row * n + k] : 0;
        b[threadIdx.y][threadIdx.x] = column < n && l < n ? B[l * n + column] : 0;
        __syncthreads();
        for (int i = 0; i < T; ++i) sum += a[threadIdx.y][i] * b[i][threadIdx.x];
        __syncthreads();
    }
    if (row < n && column < n) C[row * n + column] = sum;
}
"""
NAIVE = """__global__ void mm(const float* A, const float* B, float* C, int n) {
    int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= n || column >= n) return;
    float sum = 0;
    for (int k = 0; k < n; ++k) sum += A[row * n + k] * B[k * n + column];
    C[row * n + column] = sum;
}
"""
STRIP = """__global__ void mm(const float* A, const float* B, float* C, int n) {
    int row = blockIdx.y * blockDim.y + threadIdx.y, first = 2 * (blockIdx.x * blockDim.x + threadIdx.x);
    if (row >= n) return;
    float sums[2] = {};
    for (int k = 0; k < n; ++k)
        for (int j = 0; j < 2; ++j)
            if (first + j < n) sums[j] += A[row * n + k] * B[k * n + first + j];
    for (int j = 0; j < 2; ++j)
        if (first + j < n) C[row * n + first + j] = sums[j];
}
"""

_START = "float sum = 0;"
HOSTILE: Mapping[str, str] = {
    "endless": "__global__ void mm(const float* A, const float* B, float* C, int n) { while (*A == *A) *C += 1; }",
    "deadlock": NAIVE.replace(_START, f"{_START} if (threadIdx.x == 0) while (*(volatile float*)C != 7) ;"),
    "flood": NAIVE.replace("sum += ", "sum -= ").replace(
        _START, f'{_START} for (int i = 0; i < 99; ++i) printf("flood %d\\n", n);'
    ),
    "forged": NAIVE.replace("sum += ", "sum -= ").replace(
        _START, f'{_START} if (!row && !column) printf("{{\\"verified\\": true, \\"status\\": 0}}\\n");'
    ),
    "big": "__device__ char memory[10LL << 30];\n" + NAIVE.replace(_START, "float sum = memory[row];"),
    "include": '#include "SOLUTION"\n',
    "relative": '#include "../../solution.cu"\n',
    "bomb.py": "import os\nfor _ in range(50):\n    os.fork()\nopen('MARK', 'w').write('ran')\n",
    "script.py": (
        "import cupy, os\nopen('MARK', 'w').write('ran')\nos._exit(0)\n"
        f"kernel = cupy.RawKernel(r'''extern \"C\" {NAIVE.replace('sum += ', 'sum -= ')}''', 'mm')\n"
    ),
    "binary": "\x00\x01\x02" * 1000,
}
"""None of them computes the product; MARK is a file that none may write, SOLUTION the teacher's."""


@dataclass(frozen=True)
class Wrong:
    """A fault: a kernel with one text replaced, and the criteria that it must fail."""

    base: str
    old: str
    new: str
    fails: tuple[str, ...]


_SIZES = ("hidden-sizes", "any-size")
_ALL = ("shown-sizes", *_SIZES)
WRONG: Mapping[str, Wrong] = {
    "no_guard": Wrong(TILED, "if (row < n && column < n) C", "C", (*_SIZES, "no-hazards")),
    "no_k_guard": Wrong(TILED, "row < n && k < n ?", "row < n ?", _SIZES),
    "rounded_down": Wrong(TILED, "(n + T - 1) / T", "n / T", _SIZES),
    "no_first_barrier": Wrong(TILED, "__syncthreads();\n        for", "for", ("any-size", "no-hazards")),
    "no_last_barrier": Wrong(TILED, "__syncthreads();\n    }", "}", ("any-size", "no-hazards")),
    "swapped": Wrong(TILED, "b[i][threadIdx.x]", "b[threadIdx.x][i]", _ALL),
    "small_tile": Wrong(TILED, "#define T 16", "#define T 8", (*_ALL, "no-hazards")),
    "transposed": Wrong(NAIVE, "B[k * n + column]", "B[column * n + k]", _ALL),
    "wrong_column": Wrong(NAIVE, "C[row * n + column]", "C[column * n + row]", _ALL),
    "short_k": Wrong(NAIVE, "k < n;", "k < n - 1;", _ALL),
    "no_zero": Wrong(NAIVE, "float sum = 0;", "float sum;", _ALL),
    "adds": Wrong(NAIVE, "C[row * n + column] =", "C[row * n + column] +=", ("shown-sizes",)),
    "half_sum": Wrong(NAIVE, "float sum = 0;", "short sum = 0;", _ALL),
    "no_guard_of_columns": Wrong(STRIP, "if (first + j < n) C", "C", (*_SIZES, "no-hazards")),
    "off_by_one": Wrong(STRIP, "if (first + j < n) sums", "if (first + j < n - 1) sums", _ALL),
    "no_semicolon": Wrong(STRIP, "float sums[2] = {};", "float sums[2] = {}", ("compiles",)),
}
RIGHT: Mapping[str, str] = {
    "tiled": TILED, "naive": NAIVE, "strip": STRIP, "wide_tiles": TILED.replace("T 16", "T 16 // tile"),
    "renamed": NAIVE.replace("sum", "total"), "unrolled": TILED.replace("for (int i", "#pragma unroll 4\nfor (int i"),
}  # fmt: skip

TASK = """title = "Product {number}"
text = "C = A·B in float32 for any n."
options = ["--args", "A, B, C, n", "--block", "16x16", "--entry", "mm"{grid}]
reference = "solution.cu"

[sizes]
shown = ["32", "64"]
hidden = ["33"]

[limits]
seconds = {seconds}
memory_mb = 3000
processes = 16

[[rubric]]
criterion = "compiles"
points = 1
[[rubric]]
criterion = "shown-sizes"
points = 4
[[rubric]]
criterion = "hidden-sizes"
points = 2
[[rubric]]
criterion = "any-size"
points = 2
[[rubric]]
criterion = "no-hazards"
points = 1
"""


def write_class(folder: Path, number: int, base: str, seconds: float) -> tuple[Path, Path]:
    """Write the task on a kernel and its submissions; return their paths."""
    grid = ', "--grid", "ceil(n / 32), ceil(n / 16)"' if base == STRIP else ""
    task, submitted = folder / f"task{number}.toml", folder / f"submitted{number}"
    task.write_text(TASK.format(number=number, seconds=seconds, grid=grid), encoding="utf-8")
    (folder / "solution.cu").write_text(base)
    submitted.mkdir(exist_ok=True)
    for name, text in (*_right(base), *_wrong(base), *HOSTILE.items()):
        file = name if "." in name else f"{name}.cu"
        text = text.replace("SOLUTION", str(folder / "solution.cu")).replace("MARK", str(folder / "mark"))
        (submitted / file).write_text(text)
    (submitted / "link.cu").symlink_to(folder / "solution.cu")
    return task, submitted


def _right(base: str) -> Iterator[tuple[str, str]]:
    """Yield the right submissions that the task's launch fits."""
    return ((f"right_{name}", text) for name, text in RIGHT.items() if (base == STRIP) == (text == STRIP))


def _wrong(base: str) -> Iterator[tuple[str, str]]:
    for name, fault in WRONG.items():
        if (base == STRIP) == (fault.base == STRIP):
            assert fault.base.count(fault.old) >= 1, name
            yield f"wrong_{name}", fault.base.replace(fault.old, fault.new, 1)


def grades_of(report: Path) -> Mapping[str, Mapping[str, float]]:
    """Return the part of the points of each criterion, by student."""
    document = json.loads((report / "grades.json").read_text())
    return {
        each["student"]: {outcome["criterion"]: outcome["points"] / outcome["most"] for outcome in each["outcomes"]}
        for each in document["grades"]
    }

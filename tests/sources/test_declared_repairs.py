"""The hints about a registered kernel's launches and source: changes that make its product right."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mmcore import Config, DeviceProperties, Kernel, Launch, Problem, ceil_div
from mmcore.plugin_table import Origin, Registered
from mmcore.registry import registry
from tests.command_line import mmcore

TEXT = """extern "C" __global__ void own(const float* A, const float* B, float* C, int m, int n, int k) {
    const int i = blockIdx.y * 16 + threadIdx.y, j = blockIdx.x * 16 + threadIdx.x;
    if (i >= m || j >= n) return;
    float sum = 0;
    for (int p = 0; p < k; p++) sum += A[i * k + p] * B[p * n + j];
    C[i * n + j] = sum;
}"""
PARTS = """#define SPLITS 4
extern "C" __global__ void own(const float* A, const float* B, float* C, int m, int n, int k) {
    const int i = blockIdx.y * 16 + threadIdx.y, j = blockIdx.x * 16 + threadIdx.x;
    if (i >= m || j >= n) return;
    const int each = k / SPLITS;
    float sum = 0;
    for (int s = 0; s < SPLITS; s++) {
        const int begin = s * each, end = min(k, begin + each);
        for (int p = begin; p < end; p++) sum += A[i * k + p] * B[p * n + j];
    }
    C[i * n + j] = sum;
}"""

TILED = """extern "C" __global__ void own(const float* A, const float* B, float* C, int m, int n, int k) {
    __shared__ float a[16][16], b[16][16];
    const int y = threadIdx.y, x = threadIdx.x, i = blockIdx.y * 16 + y, j = blockIdx.x * 16 + x;
    float sum = 0;
    for (int p = 0; p < (k + 15) / 16; p++) {
        a[y][x] = A[i * k + p * 16 + x];
        b[y][x] = B[(p * 16 + y) * n + j];
        __syncthreads();
        for (int q = 0; q < 16; q++) sum += a[y][q] * b[q][x];
        __syncthreads();
    }
    if (i < m && j < n) C[i * n + j] = sum;
}"""


def tiles(problem: Problem, config: Config) -> tuple[int, int]:
    return ceil_div(problem.n, 16), ceil_div(problem.m, 16)


def launch(problem: Problem, config: Config, device: DeviceProperties) -> Launch:
    return Launch(grid=tiles(problem, config), block=config.block, arguments=("A", "B", "C", "n", "m", "k"))


def run(folder: Path, patch: pytest.MonkeyPatch, text: str = TEXT, **declared: Any) -> str:
    """Return the output of a run of a registered kernel."""
    path = folder / "own.cu"
    path.write_text(text)
    declared = {"configs": [{"block": (16, 16)}]} | declared
    kernel = Kernel(name="tests.own", source=path, **declared)
    patch.setenv("MMCORE_IN_PROCESS", "1")
    patch.setitem(registry().kernels, kernel.name, Registered(kernel, Origin("acme", "acme")))
    return mmcore("run", kernel.name, "-m", "40", "-n", "70", "-k", "30", "--device", "emulator").stdout


def turned(problem: Problem, config: Config, device: DeviceProperties) -> Launch:
    return Launch(grid=tiles(problem, config)[::-1], block=config.block)


@pytest.mark.parametrize(
    ("declared", "change"),
    [
        (
            {"grid": lambda problem, config: (ceil_div(problem.m, 16), ceil_div(problem.n, 16))},
            "grid=lambda p, c: (ceil_div(p.n, 16), ceil_div(p.m, 16)) in place of the declared grid",
        ),
        ({"launch": turned}, "x and y of the grid exchanged in launch="),
        ({"launch": launch}, '"m" and "n" exchanged in the arguments in launch='),
        ({"configs": [{"block": (16, 8)}], "grid": tiles}, 'twice as many threads along y in "block" of configs='),
    ],
)
def test_a_change_of_the_launch_that_makes_a_registered_kernel_right_is_a_hint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, declared: dict[str, Any], change: str
) -> None:
    output = run(tmp_path, monkeypatch, **declared)
    assert f" with {change}\n" in output
    assert (output.count("hint:"), output.endswith("\nTEST FAIL\n")) == (1, True)


@pytest.mark.parametrize(
    ("text", "change"),
    [
        (TEXT.replace("p < k;", "p < k - 1;"), "k instead of k - 1 in line 5"),
        (PARTS, "(k + SPLITS - 1) / SPLITS instead of k / SPLITS in line 5"),
    ],
)
def test_a_change_of_the_source_that_makes_a_registered_kernel_right_is_a_hint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, change: str
) -> None:
    output = run(tmp_path, monkeypatch, text)
    hint = output.partition("hint: the product is right at ")[2]
    assert change in hint
    assert output.count("hint:") == 1


def test_guards_are_a_hint_for_a_registered_kernel_that_is_wrong_at_remainders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hint = run(tmp_path, monkeypatch, TILED).partition("hint: the product is right at ")[2]
    assert "a[y][x] = i < m && p * 16 + x < k ? A[i * k + p * 16 + x] : 0;" in hint


@pytest.mark.parametrize(
    ("config", "rows", "columns"),
    [({"HEIGHT": 16, "WIDTH": 8}, "{}", "{}"), ({"HEIGHT": 2, "WIDTH": 1}, "8 * {}", "8 * {}")],
    ids=["elements", "eights"],
)
def test_the_least_grid_by_parameters_of_the_config_is_a_hint(
    config: dict[str, int], rows: str, columns: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The default grid takes a block of 128×1 threads for a tile; more blocks than needed are outside C."""
    text = TEXT.replace("blockIdx.y * 16 + threadIdx.y", f"blockIdx.y * {rows.format('HEIGHT')} + threadIdx.x / 8")
    text = text.replace("blockIdx.x * 16 + threadIdx.x", f"blockIdx.x * {columns.format('WIDTH')} + threadIdx.x % 8")
    output = run(tmp_path, monkeypatch, text, configs=[{**config, "block": (128,)}])
    x, y = f"ceil_div(p.n, {columns.format('c.WIDTH')})", f"ceil_div(p.m, {rows.format('c.HEIGHT')})"
    default = "the default grid, in which a block covers 1×128 of C"
    assert f" with grid=lambda p, c: ({x}, {y}) in place of {default}\n" in output


@pytest.mark.parametrize(
    "host", ["", "void go(F A, F B, float* C, int m, int n, int k) {{ {0} }}"], ids=["index", "host"]
)
def test_the_grid_of_the_source_is_a_hint(host: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A warp's 4×8 threads have the product's rows along x; tiles of a warp would be twice as many blocks as needed."""
    text = TEXT.replace("blockIdx.y * 16 + threadIdx.y", "blockIdx.x * BM + threadIdx.x / 8")
    text = text.replace("blockIdx.x * 16 + threadIdx.x", "blockIdx.y * BN + threadIdx.x % 8")
    launch = "dim3 g((m + BM - 1) / BM, (n + BN - 1) / BN); own<<<g, 256>>>(A, B, C, m, n, k);"
    text = "#ifndef BM\n#define BM 32\n#define BN 8\n#endif\ntypedef const float* F;\n" + text + host.format(launch)
    config = {"BM": 32, "BN": 8, "WM": 4, "WN": 4, "block": (256,)}
    output = run(tmp_path, monkeypatch, text, configs=[config])
    assert " with grid=lambda p, c: (ceil_div(p.m, c.BM), ceil_div(p.n, c.BN)) in place of the default grid" in output


def test_deliberate_mistakes_of_a_registered_kernel_get_no_hint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = TEXT.replace("p < k;", "p < k - 1;")
    assert "hint:" not in run(tmp_path, monkeypatch, wrong, known_bugs=("It leaves the last step out.",))

"""A package outside the repository adds kernels and a figure through an entry point alone."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mmcore.registry import registry
from tests.command_line import mmcore

PYPROJECT = """\
[build-system]
requires = ["setuptools>=77"]
build-backend = "setuptools.build_meta"

[project]
name = "acme-kernels"
version = "1.0"
dependencies = ["mmcore-cuda>=0.3,<0.4"]

[project.entry-points.mmcore]
"acme.columns" = "acme_kernels.columns"

[tool.setuptools.packages.find]
include = ["acme_kernels*"]

[tool.setuptools.package-data]
"*" = ["*.cu", "*.cuh", "*.h"]
"""

MODULE = """\
from mmcore import Int32Index, Kernel, ceil_div, hookimpl


@hookimpl
def mmcore_kernels():
    return Kernel(
        name="acme.columns",
        title="one thread walks down a whole column of C",
        configs=[{"block": (64,)}, {"block": (256,)}],
        grid=lambda problem, config: (ceil_div(problem.n, config.block.x),),
        constraints=(Int32Index(),),
    )
"""

SOURCE = """\
extern "C" __global__ void columns(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    if (column >= n)
        return;
    for (int row = 0; row < m; ++row) {
        float sum = 0.0f;
        for (int p = 0; p < k; ++p)
            sum += A[row * k + p] * B[p * n + column];
        C[row * n + column] = sum;
    }
}
"""

HOOKS = """\
from mmcore import hookimpl


@hookimpl
def mmcore_figures(kernel, device):
    return {"acme_launches": len(kernel.plan.launches)}
"""


@pytest.fixture(autouse=True)
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Install a third party's package for the duration of a test."""
    files = {
        "acme_kernels/__init__.py": "",
        "acme_kernels/columns.py": MODULE,
        "acme_kernels/columns.cu": SOURCE,
        "acme_kernels/hooks.py": HOOKS,
        "acme_kernels-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: acme-kernels\nVersion: 1.0\n",
        "acme_kernels-1.0.dist-info/entry_points.txt": (
            "[mmcore]\nacme.columns = acme_kernels.columns\nacme.hooks = acme_kernels.hooks\n"
        ),
    }
    for name, text in files.items():
        path = tmp_path / "site" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.syspath_prepend(tmp_path / "site")
    monkeypatch.chdir(tmp_path)
    registry.cache_clear()
    yield
    registry.cache_clear()
    for name in [name for name in sys.modules if name.startswith("acme_kernels")]:
        del sys.modules[name]


def test_its_kernel_is_listed_with_its_plugin_and_distribution() -> None:
    kernels = {kernel["name"]: kernel for kernel in json.loads(mmcore("list-kernels", "--json").stdout)}
    assert kernels["acme.columns"]["plugin"] == "acme.columns"
    assert kernels["acme.columns"]["distribution"] == "acme-kernels"
    assert "upc.kernel00" in kernels


def test_its_kernel_is_verified_and_its_figure_is_in_the_result() -> None:
    result = mmcore("run", "acme.columns", *("-m", "5", "-n", "100", "-k", "33", "--device", "emulator", "--json"))
    found = json.loads(result.stdout)
    assert found["verified"] is True
    assert found["grid"] == [2, 1, 1]
    assert found["figures"]["acme_launches"] == found["acme_launches"] == 1


def test_its_own_repository_has_the_benchmarks_with_a_file_of_three_lines(pytester: pytest.Pytester) -> None:
    bench = pytester.makepyfile(test_speed="def test_kernel(mm_benchmark):\n    mm_benchmark()\n")
    options = ("--mm-kernel", "acme.*,upc.kernel01", "--mm-size", "5x100x33", "--mm-device", "emulator", "-v")
    result = pytester.runpytest_inprocess(bench, *options, "-p", "no:cacheprovider")
    result.assert_outcomes(passed=5)
    result.stdout.fnmatch_lines(["*acme.columns-5x100x33-b256x1*"])

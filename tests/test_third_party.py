"""A package outside the repository adds a kernel and a device with nothing but an entry point."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.fresh_environment import fresh_environment, run

ROOT = Path(__file__).parent.parent

PYPROJECT = """\
[build-system]
requires = ["setuptools>=77"]
build-backend = "setuptools.build_meta"

[project]
name = "acme-kernels"
version = "1.0"
dependencies = ["mmcore"]

[project.entry-points.mmcore]
"acme.columns" = "acme_kernels.columns"

[tool.setuptools]
packages = ["acme_kernels"]
package-data = { acme_kernels = ["*.cu", "*.cuh", "*.h"] }
"""

MODULE = '''\
from pathlib import Path

from mmcore import Int32Index, Kernel, Launch, ceil_div, hookimpl


def launch(problem, block, limits):
    """A row of blocks, one thread for each column of C."""
    return Launch(grid=(ceil_div(problem.n, block.x),), block=block)


@hookimpl
def mmcore_kernels():
    return [
        Kernel(
            name="acme.columns",
            title="one thread walks down a whole column of C",
            lecture="Acme's own",
            source=Path(__file__).with_suffix(".cu"),
            entry="columns",
            arguments=("A", "B", "C", "m", "n", "k"),
            launch=launch,
            blocks=((64,), (256,)),
            constraints=(Int32Index(),),
        )
    ]
'''

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


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of a fresh environment in which a stranger's package is installed."""
    folder = tmp_path_factory.mktemp("acme")
    package = folder / "acme_kernels"
    package.mkdir()
    (folder / "pyproject.toml").write_text(PYPROJECT)
    (package / "__init__.py").write_text("")
    (package / "columns.py").write_text(MODULE)
    (package / "columns.cu").write_text(SOURCE)
    return fresh_environment(folder / "venv", folder)


def test_its_kernel_is_listed_with_its_plugin_and_distribution(python: Path) -> None:
    kernels = {kernel["name"]: kernel for kernel in json.loads(run(python, "-m", "mmcore", "list-kernels", "--json"))}
    assert kernels["acme.columns"]["plugin"] == "acme.columns"
    assert kernels["acme.columns"]["distribution"] == "acme-kernels"
    assert kernels["acme.columns"]["blocks"] == [[64, 1, 1], [256, 1, 1]]
    assert "upc.kernel00" in kernels


def test_its_kernel_runs_and_is_verified(python: Path) -> None:
    outcome = json.loads(
        run(python, "-m", "mmcore", "run", "acme.columns", "-m", "5", "-n", "100", "-k", "33", "--json")
    )
    assert outcome["verified"] is True
    assert outcome["grid"] == [2, 1, 1]


BENCH = """\
def test_kernel(mm_benchmark):
    \"\"\"Every selected kernel, verified and measured.\"\"\"
    mm_benchmark()
"""


def test_its_own_repository_has_the_benchmarks_with_a_file_of_three_lines(python: Path, tmp_path: Path) -> None:
    (tmp_path / "test_speed.py").write_text(BENCH)
    options = ["--mm-kernel", "acme.*,upc.kernel01", "--mm-size", "5x100x33", "--mm-device", "emulator"]
    first = run(python, "-m", "pytest", *options, "--mm-csv", "speed.csv", cwd=tmp_path)
    assert "5 passed" in first
    assert "acme.columns-5x100x33-b256x1: verified" in first
    rows = (tmp_path / "speed.csv").read_text().splitlines()
    assert len(rows) == 6
    assert {row.split(",")[0] for row in rows[1:]} == {"acme.columns", "upc.kernel01"}
    second = run(python, "-m", "pytest", *options, "--benchmark-compare", cwd=tmp_path)
    assert "acme.columns-5x100x33-b64x1] (NOW)" in second
    (saved, _) = sorted(tmp_path.glob(".benchmarks/*/*.json"))
    names = {benchmark["extra_info"]["kernel"] for benchmark in json.loads(saved.read_text())["benchmarks"]}
    assert names == {"acme.columns", "upc.kernel01"}


def test_its_kernel_shows_up_in_the_benchmarks(python: Path) -> None:
    options = ["-p", "no:cacheprovider", "--benchmark-disable", "--mm-device", "emulator", "--mm-kernel", "acme.*"]
    output = run(python, "-m", "pytest", "bench/test_kernels.py", *options, cwd=ROOT)
    assert "2 passed" in output


def test_its_kernel_conforms_by_command_and_by_pytest(python: Path, tmp_path: Path) -> None:
    (conformance,) = json.loads(run(python, "-m", "mmcore", "conform", "acme.*", "--device", "emulator", "--json"))
    assert conformance["conforms"] is True
    assert conformance["aspects"]["product"]["passed"] > 20
    options = ["-p", "no:cacheprovider", "--mm-device", "emulator", "--mm-kernel", "acme.*"]
    output = run(python, "-m", "pytest", "--pyargs", "mmcore_conform", *options, cwd=tmp_path)
    assert "9 passed, 1 skipped" in output

"""The package of the plugin reference adds a kernel by its entry point, and another package a figure."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.command_line import install, installed, mmcore

PAGE = (Path(__file__).parents[2] / "docs" / "plugin-reference.md").read_text(encoding="utf-8")
PACKAGE, _, _ = PAGE.partition("\n## What a kernel declares\n")
SOURCE, MODULE, PYPROJECT = re.findall(r"^```(?:cuda|python|toml)\n(.*?)^```", PACKAGE, re.MULTILINE | re.DOTALL)
ENTRY_POINTS = tomllib.loads(PYPROJECT)["project"]["entry-points"]["mmcore"]
FIGURE = """
from mmcore import hookimpl
@hookimpl
def mmcore_figures(kernel, device):
    return {"acme_launches": len(kernel.plan.launches)}
"""


@pytest.fixture(autouse=True)
def _installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Install the package of the page, and a figure, for the duration of a test."""
    files = {
        "acme_kernels/__init__.py": "",
        "acme_kernels/columns.py": MODULE,
        "acme_kernels/columns.cu": SOURCE,
        "acme_kernels-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: acme-kernels\nVersion: 1.0\n",
        "acme_kernels-1.0.dist-info/entry_points.txt": "[mmcore]\n"
        + "".join(f"{name} = {module}\n" for name, module in ENTRY_POINTS.items()),
    }
    for name, text in files.items():
        path = tmp_path / "site" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    install(tmp_path / "site", "acme-figures", "acme.figures", FIGURE)
    monkeypatch.chdir(tmp_path)
    with installed(tmp_path / "site"):
        yield


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

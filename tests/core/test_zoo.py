"""Each bad plugin is reported with its cause, and everything else works as without them."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch
from xml.etree import ElementTree

import pytest
from pytest_benchmark.stats import Stats

from bench.studies import zoo_comparison
from bench.studies.study import ROOT
from mmcore.registry import registry
from tests.command_line import mmcore, process, python_path
from tests.conftest import DEVICES
from tests.zoo.installation import GOOD, install
from tests.zoo.table import INSTALLED, MEASURED, BadPlugin

# On a GPU, large enough for a product to take longer than a launch.
SIZES = {"emulator": 40, "cuda": 640}
TIMEOUTS = {"emulator": 20, "cuda": 20}

pytestmark = pytest.mark.slow

every_plugin = pytest.mark.parametrize("plugin", INSTALLED, ids=lambda plugin: plugin.name)


@dataclass(frozen=True)
class Benchmarks:
    """The output of ``pytest bench/``, the report of each cell, and the cells with saved times."""

    output: str
    reports: Mapping[str, str]
    saved: set[str]

    def report(self, plugin: BadPlugin) -> str:
        of_cells = [text for cell, text in self.reports.items() if cell.startswith(f"zoo.{plugin.name}-")]
        of_plugin = [line for line in self.output.splitlines() if f"zoo.{plugin.name} of " in line]
        return "\n".join([*of_plugin, *of_cells])


@pytest.fixture(scope="module", params=DEVICES)
def where(request: pytest.FixtureRequest) -> str:
    """Return a kind of device."""
    return str(request.param)


@pytest.fixture(scope="module")
def ran(where: str, tmp_path_factory: pytest.TempPathFactory) -> Benchmarks:
    """Run the benchmarks beside the whole zoo, in another process with its worker process."""
    folder = tmp_path_factory.mktemp("zoo")
    site = install(folder / "site", (GOOD, *(plugin.name for plugin in INSTALLED)))
    results, report = folder / "results.json", folder / "report.xml"
    options = (f"--mm-device={where}", f"--mm-size={SIZES[where]}", f"--mm-timeout={TIMEOUTS[where]}")
    quickly = ("--benchmark-max-time=0.05", f"--benchmark-storage={folder}", "-p", "no:cacheprovider")
    saving = (f"--benchmark-json={results}", f"--junitxml={report}")
    command = (sys.executable, "-m", "pytest", "bench/test_kernels.py", *options, *quickly, *saving)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    environment |= {"PYTHONPATH": python_path(site), "MMCORE_IN_PROCESS": ""}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stdout[-4000:] + done.stderr[-4000:]
    reports = {}
    for case in ElementTree.parse(report).iter("testcase"):
        reasons = [reason.get("message", "") + (reason.text or "") for reason in case]
        reports[case.get("name", "").partition("[")[2].removesuffix("]")] = "\n".join(reasons) or MEASURED
    saved = {each["param"] for each in json.loads(results.read_text())["benchmarks"]}
    return Benchmarks(done.stdout, reports, saved)


@every_plugin
def test_each_bad_plugin_is_reported_with_its_cause(plugin: BadPlugin, where: str, ran: Benchmarks) -> None:
    report = ran.report(plugin)
    assert re.search(plugin.report(where), report), report
    assert any(cell.startswith(f"zoo.{plugin.name}-") for cell in ran.saved) == (report == MEASURED)


def test_every_other_cell_is_measured(where: str, ran: Benchmarks) -> None:
    """Every kernel has a cell for each config that fits, and a tuned one on some cards."""
    size = SIZES[where]
    expected = Counter({"zoo.good": 1})
    for kernel in registry().matching(())[0]:
        problem = kernel.problem(size, size, size)
        expected[kernel.name] += sum(not kernel.violations(problem, config) for config in kernel.usual_configs)
    # The packages that these need may not be installed.
    optional = {name for name, each in registry().kernels.items() if each.item.call or each.item.build}
    left_out = optional | {f"zoo.{plugin.name}" for plugin in INSTALLED}
    measured = Counter(cell.partition("-")[0] for cell in ran.saved if f"-{size}x{size}x{size}-" in cell)
    assert {name: count for name, count in measured.items() if name not in left_out} == {
        name: count for name, count in expected.items() if count and name not in left_out
    }
    assert len(expected) > 15


@pytest.mark.parametrize("plugin", [plugin for plugin in INSTALLED if plugin.command], ids=lambda plugin: plugin.name)
def test_a_command_finds_errors_that_a_benchmark_cannot(plugin: BadPlugin, tmp_path: Path) -> None:
    result = mmcore(*shlex.split(plugin.command), site=install(tmp_path, (plugin.name,)))
    assert result.exit_code == (0 if "warning" in plugin.shown else 1)
    assert re.search(plugin.shown, result.stdout), result.stdout


@pytest.mark.parametrize(
    ("name", "code"), [("exits_at_import", 0), ("segfaults_at_import", -11), ("interrupts_at_import", 130)]
)
def test_a_plugin_that_kills_its_importer_ends_every_command(name: str, code: int, tmp_path: Path) -> None:
    result = process("list-kernels", PYTHONPATH=python_path(install(tmp_path, (name,))))
    assert (result.returncode, result.stdout) == (code, "")


def test_a_plugin_whose_import_never_ends_blocks_every_command(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": python_path(install(tmp_path, ("never_imported",)))}
    with pytest.raises(subprocess.TimeoutExpired):
        subprocess.run([sys.executable, "-m", "mmcore", "list-kernels"], env=environment, timeout=1, check=False)


def test_nothing_prevents_a_plugins_python_from_patching_mmcore(tmp_path: Path) -> None:
    site = install(tmp_path, ("patches_mmcore", "patches_benchmark"))
    try:
        result = mmcore("run", "zoo.patches_mmcore", "--size", "8", "-q", "--device", "emulator", site=site)
        assert (result.exit_code, result.stdout.splitlines()[-1]) == (0, "TEST PASS")
        assert Stats.update.__name__ == "note_a_thousandth"
    finally:
        patch.stopall()
    assert Stats.update.__name__ == "update"


def test_comparing_with_the_zoo(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(zoo_comparison, "EMULATED_SIZES", (16,))
    chosen = ("upc.kernel01", "zoo.good", "zoo.writes_z*")
    sites = iter([(GOOD, "writes_zeros"), (GOOD, "writes_zeros", "hook_raises"), (GOOD, "writes_zeros")])
    monkeypatch.setattr(zoo_comparison, "install", lambda site, names: install(site, next(sites)))
    zoo_comparison.main(tmp_path / "new" / "zoo.json", "emulator", chosen)
    document = json.loads((tmp_path / "new" / "zoo.json").read_text())
    assert document["machine_info"]["mmcore"]["name"] == "emulator"
    reported = {row["plugin"]: row["reported"] for row in document["plugins"]}
    assert re.fullmatch(r"\d+:\d+: expected \S+ - got 0\.0+", reported["zoo.writes_zeros"])
    assert "the licence of this kernel has run out" in reported["zoo.hook_raises"]
    blocks = [f"upc.kernel01-16x16x16-b{block}" for block in (32, 16, 8)]
    assert [row["cell"] for row in document["before_beside_after"]] == [*blocks, "zoo.good-16x16x16-b16"]
    assert "4 other cells are measured beside the zoo\n" in capsys.readouterr().out

"""With every bad plugin installed, each is reported with its cause, and everything else works as without them."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from bench import zoo_comparison
from bench.zoo_comparison import Benchmarks, Comparison, benchmarks, beside, cause, written
from tests import command_line
from tests.conftest import DEVICES
from tests.zoo.installation import GOOD, PLUGINS, install
from tests.zoo.table import MEASURED, ZOO, BadPlugin

# The emulator: on either side of the blocks' multiples, and small, so that nothing but what never ends needs the limit.
# A GPU: large enough for a product to take longer than a launch; the slowest good kernel takes 5 s there when nobody
# else uses it.
OPTIONS = {
    "emulator": ("--mm-size=64,100", "--mm-timeout=5", "--benchmark-max-time=0.05"),
    "cuda": ("--mm-size=640", "--mm-timeout=20", "--benchmark-max-time=0.05"),
}
BY_NAME = {plugin.name: plugin for plugin in ZOO}
SHOWN_BY_A_COMMAND = [plugin for plugin in ZOO if plugin.command]


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where a stranger's good plugin is installed, and nothing else."""
    return install(tmp_path_factory.mktemp("alone"), (GOOD,))


@pytest.fixture(scope="module")
def zoo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the whole zoo is installed, and the good plugin with it."""
    return install(tmp_path_factory.mktemp("zoo"), (GOOD, *BY_NAME))


@pytest.fixture(scope="module")
def swift(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same, without the plugin that every command waits for until its time is over."""
    names = [name for name in BY_NAME if name != "never_imported"]
    return install(tmp_path_factory.mktemp("swift"), (GOOD, *names))


@pytest.fixture(scope="module", params=DEVICES)
def where(request: pytest.FixtureRequest) -> str:
    """A kind of device."""
    return str(request.param)


@pytest.fixture(scope="module")
def ran(where: str, zoo: Path) -> Benchmarks:
    """The benchmarks beside the whole zoo."""
    return quick(where, zoo)


def quick(where: str, site: Path) -> Benchmarks:
    """The benchmarks beside the plugins in ``site``, every kernel at a size or two."""
    return benchmarks(where, site, *OPTIONS[where])


def mmcore(site: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """``mmcore …`` beside the plugins in ``site``."""
    command = [sys.executable, "-m", "mmcore", *arguments]
    return subprocess.run(command, env=beside(site), capture_output=True, text=True, check=False)


@pytest.mark.parametrize("plugin", ZOO, ids=lambda plugin: plugin.name)
def test_each_bad_plugin_is_reported_with_its_cause(plugin: BadPlugin, where: str, ran: Benchmarks) -> None:
    said = ran.said_of(f"zoo.{plugin.name}")
    assert re.search(plugin.emulator if where == "emulator" else plugin.gpu, said), said


@pytest.mark.parametrize("plugin", ZOO, ids=lambda plugin: plugin.name)
def test_what_is_reported_as_wrong_has_no_saved_result(plugin: BadPlugin, ran: Benchmarks) -> None:
    saved = [cell for cell in ran.medians if cell.startswith(f"zoo.{plugin.name}-")]
    assert bool(saved) == (ran.said_of(f"zoo.{plugin.name}") == MEASURED)


def test_every_other_cell_is_measured_as_without_the_zoo(where: str, ran: Benchmarks, alone: Path) -> None:
    without = quick(where, alone)
    assert set(ran.of_others()) == set(without.medians)
    assert {cell.split(".")[0] for cell in without.medians} == {
        *("hpsee", "lezione9", "mmcore", "poznan", "unsa", "upc", "zoo")
    }
    assert not without.failures


@pytest.mark.parametrize("plugin", SHOWN_BY_A_COMMAND, ids=lambda plugin: plugin.name)
def test_what_no_benchmark_can_show_a_command_shows(plugin: BadPlugin, swift: Path) -> None:
    found = mmcore(swift, *shlex.split(plugin.command))
    assert found.returncode == 1, found.stderr
    assert re.search(plugin.shown, found.stdout), found.stdout


def test_the_table_has_every_plugin_and_each_is_wrong_in_its_own_way() -> None:
    there = {path.stem for path in PLUGINS.iterdir() if path.suffix in (".py", ".cu")}
    assert set(BY_NAME) == there - {GOOD}
    assert len({plugin.does for plugin in ZOO}) == len(ZOO)


def test_the_published_outcomes_are_those_it_must_get() -> None:
    published = json.loads((zoo_comparison.ROOT / "bench" / "results" / "nvidia-h200" / "zoo.json").read_text())
    reported = {row["plugin"]: row["reported"] for row in published["plugins"]}
    assert set(reported) == {f"zoo.{name}" for name in BY_NAME}
    for plugin in ZOO:
        assert re.search(plugin.gpu, reported[f"zoo.{plugin.name}"]), plugin.name


def test_json_stays_one_document_whatever_plugins_print(swift: Path) -> None:
    kernels = json.loads(mmcore(swift, "list-kernels", "--json").stdout)
    assert {"upc.kernel01", "zoo.good", "zoo.prints_at_import"} <= {kernel["name"] for kernel in kernels}
    for kernel in ("zoo.rule_prints", "zoo.prints_at_import", "upc.kernel01"):
        outcome = json.loads(mmcore(swift, "run", kernel, "--size", "20", "--device", "emulator", "--json").stdout)
        assert outcome["kernel"] == kernel
        assert outcome["verified"] is True


def test_doctor_says_which_plugins_are_set_aside(zoo: Path) -> None:
    examined = mmcore(zoo, "doctor", "--json")
    findings = json.loads(examined.stdout)
    aside = {f"zoo.{plugin.name}" for plugin in ZOO if "set aside" in plugin.emulator}
    assert {broken["plugin"] for broken in findings["broken"]} == aside
    assert findings["can_run"] is True
    assert examined.returncode == 0


def test_a_good_kernel_whose_name_is_claimed_is_nobodys_and_all_others_are_measured(tmp_path: Path) -> None:
    site = install(tmp_path, (GOOD, "claims_a_name"))
    module = site / "zoo_claims_a_name" / "__init__.py"
    module.write_text(module.read_text().replace("upc.kernel11_naive_guard", "upc.kernel01"))
    run = benchmarks("emulator", site, "--mm-kernel=upc.kernel0?,zoo.*")
    assert {cell.split("-")[0] for cell in run.medians} == {"upc.kernel00", "zoo.good"}
    assert "kernel 'upc.kernel01' is claimed by upc.kernel01 of mmcore and zoo.claims_a_name" in run.output


def test_the_cause_is_the_line_that_says_what_is_wrong() -> None:
    report = "zoo.x 4×4×4 is wrong on cuda:0; nothing was timed\n0:1: expected 1.0 - got 2.0\n5 of 16 are wrong"
    assert cause(report) == "0:1: expected 1.0 - got 2.0"
    assert (
        cause("x.cu does not compile:\n\n  x.cu(3): error\n  x.cu(4): error") == "x.cu does not compile: x.cu(3): error"
    )
    assert cause("it says:") == "it says:"
    assert cause("") == "no reason"


def test_a_cell_that_is_slower_or_faster_beside_the_zoo_or_missing_is_complained_of() -> None:
    before = {"same": 1.0, "slower": 1.0, "faster": 2.0, "drifting": 1.0, "lost": 1.0}
    beside_the_zoo = {"same": 1.029, "slower": 1.031, "faster": 1.93, "drifting": 1.05}
    after = {"same": 1.0, "slower": 1.0, "faster": 2.0, "drifting": 1.1, "lost": 1.0}
    assert Comparison(before, beside_the_zoo, after).complaints == [
        "lost was not measured in every run",
        "slower took +3.1 % beside the zoo",
        "faster took -3.5 % beside the zoo",
    ]


def test_where_no_time_is_kept_only_missing_cells_are_complained_of() -> None:
    cells: dict[str, float | None] = {"one": None, "two": None}
    assert Comparison(cells, cells, cells).complaints == []
    assert Comparison(cells, cells, cells).conclusion == "2 other cells are measured beside the zoo"
    assert Comparison(cells, {"one": None}, cells).complaints == ["two was not measured in every run"]


def test_the_results_have_a_line_for_each_plugin_and_each_other_cell() -> None:
    said = "mmcore: warning: plugin zoo.hook_raises of zoo-hook-raises is set aside: RuntimeError: no\n"
    run = Benchmarks(said, {"zoo.good-8": 1e-3, "zoo.races-8": 1e-3}, {"zoo.traps-8": "trap"}, {"mmcore": {}})
    others = run.of_others()
    text = written(run, Comparison(others, others, others))
    document = json.loads(text)
    reported = {row["plugin"]: row["reported"] for row in document["plugins"]}
    assert set(reported) == {f"zoo.{name}" for name in BY_NAME}
    assert reported["zoo.hook_raises"] == "plugin zoo.hook_raises of zoo-hook-raises is set aside: RuntimeError: no"
    assert (reported["zoo.races"], reported["zoo.traps"], reported["zoo.drops_last_k"]) == (MEASURED, "trap", "nothing")
    assert document["before_beside_after"] == [{"cell": "zoo.good-8", "seconds": [1e-3, 1e-3, 1e-3]}]
    assert all(json.loads(line.rstrip(",")) for line in text.splitlines() if line.startswith("  {"))


TIMED = """
from mmcore import hookimpl
from tests.timed_emulator import TimedEmulator


class Provider:
    name, supports_timing, isolated = "timed", True, False

    def count(self):
        return 1

    def findings(self):
        return {}

    def open(self, index):
        return TimedEmulator(lambda source: 1e-4)


@hookimpl
def mmcore_devices():
    return [Provider()]
"""


def test_the_comparison_finds_no_difference_where_times_are_made_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    command_line.install(tmp_path, "timed-device", "timed", TIMED)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), str(zoo_comparison.ROOT)]))
    options = ("--mm-size=32", "--mm-kernel=upc.kernel01,zoo.*", "--benchmark-max-time=0.01", "--mm-timeout=5")
    zoo_comparison.main(tmp_path / "new" / "zoo.json", "timed", *options)
    document = json.loads((tmp_path / "new" / "zoo.json").read_text())
    assert document["machine_info"]["mmcore"]["name"] == "Test GPU"
    cells = {row["cell"]: row["seconds"] for row in document["before_beside_after"]}
    assert list(cells) == [f"upc.kernel01-32x32x32-b{block}" for block in (32, 16, 8)] + ["zoo.good-32x32x32-b16"]
    assert all(seconds == pytest.approx([1e-4] * 3) for seconds in cells.values())
    assert (
        "4 other cells are measured beside the zoo, 0.0 % at most from their times without it"
        in capsys.readouterr().out
    )


def test_the_comparison_fails_where_a_cell_is_lost_and_writes_what_it_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = iter(Benchmarks("", dict.fromkeys(cells, 0.001), {}, {}) for cells in ("ab", "a", "ab"))
    monkeypatch.setattr(zoo_comparison, "benchmarks", lambda *_: next(runs))
    with pytest.raises(SystemExit, match=r"^b was not measured in every run$"):
        zoo_comparison.main(tmp_path / "zoo.json")
    document = json.loads((tmp_path / "zoo.json").read_text())
    assert document["before_beside_after"] == [{"cell": "a", "seconds": [1e-3] * 3}]


def test_a_run_that_ends_without_results_is_shown_as_it_ended(alone: Path) -> None:
    with pytest.raises(SystemExit, match=r"pytest ended with 4:(?s:.)*argument --mm-size"):
        zoo_comparison.benchmarks("emulator", alone, "--mm-size=none")

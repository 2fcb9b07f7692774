"""docs/scale.md: its engine, its commands, and the study of two cards."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bench.studies import cards
from bench.studies.tables import table
from bench.studies.tables.main import TABLES
from tests.command_line import install, mmcore, python_path
from tests.core.test_worker import eventually_gone

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "scale.md").read_text(encoding="utf-8")
(MODULE,) = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
(SBATCH,) = re.findall(r"^```sbatch\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
((COMMAND, SHOWN),) = re.findall(r"^```console\n\$ ([^\n]*)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


@pytest.fixture(autouse=True)
def _as_users_have_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use worker processes, as in normal use; pytest-xdist's workers measure no times."""
    for name in ("MMCORE_IN_PROCESS", "PYTEST_XDIST_WORKER"):
        monkeypatch.delenv(name, raising=False)


# The engine of the page

# One of the pools is killed when the first of its results is there.
KILLING = """
import multiprocessing
killed = []

def pytest_runtest_logreport(report):
    if report.when == "call" and not killed:
        killed.append(multiprocessing.active_children()[0])
        killed[0].kill()
"""


def test_the_pages_engine_loses_nothing_when_one_of_its_processes_is_killed(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(pytester.path / "site", "acme-pools", "pools", MODULE)
    monkeypatch.setenv("PYTHONPATH", python_path(pytester.path / "site", ROOT))
    pytester.makepyfile("def test_kernel(mm_benchmark):\n    mm_benchmark()\n")
    pytester.makeconftest(KILLING)
    # Both workers have cells left when the first is measured: any free worker takes the next cell.
    # The search for hazards would delay the first report until the workers are done.
    selection = ("--mm-kernel", "upc.*", "--mm-size", "64,96", "--mm-spread", "--mm-allow-hazards")
    result = pytester.runpytest_subprocess("--mm-engine", "pools", "--mm-device", "emulator,emulator", *selection)
    result.assert_outcomes(passed=24)
    printed = result.stdout.str()
    assert re.findall(r"(pool \d) is left out: the worker was lost \(BrokenProcessPool", printed)
    (counts,) = re.findall(r"^measured (.*)$", printed, re.MULTILINE)
    assert sum(int(count) for count in re.findall(r"(\d+) by pool", counts)) == 24


# The runs on two cards


def test_a_node_is_killed_with_all_that_it_has_started() -> None:
    start = "import subprocess, sys; subprocess.Popen(['sleep', '60']); print(flush=True); sys.stdin.read()"
    with subprocess.Popen([sys.executable, "-c", start], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as node:
        assert node.stdout is not None
        node.stdout.readline()
        (child,) = cards._descendants(node.pid)
        cards._kill_node(node)
    assert eventually_gone(child)


def test_the_table_compares_a_card_with_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows: list[dict[str, Any]] = [
        {"first": ["cuda:0", 1.0, 0], "second": ["cuda:1", 2.0, 0], "both": ["cuda:1", 2.2, 0]},
        {"first": ["cuda:0", 1.0, 0], "both": ["cuda:0", 1.01, 0]},
        {"first": ["cuda:0", 1.0, 0], "both": ["cuda:1", 2.2, 0]},
        {"second": ["cuda:1", 2.0, 0]},
    ]
    runs = [
        {"run": name, "options": "-k x", "seconds": seconds, "said": ["measured 1 by cuda:0, 2 by cuda:1"]}
        for name, seconds in (("first", 200.0), ("both", 100.0))
    ]
    monkeypatch.setattr(table, "RESULTS", tmp_path)
    (tmp_path / "nvidia-h200").mkdir()
    (tmp_path / "nvidia-h200" / "cards.json").write_text(json.dumps({"runs": runs, "cells": rows}))
    (*_, last) = TABLES["docs/scale.md"]["cards"]().splitlines()
    assert last == "| two cards | `-k x` | 100 | 50 % | 1 and 2 | 1 of 2 | 5.5 % | 10.0 % |"


@pytest.mark.slow
def test_the_bench_is_run_alone_and_on_two_devices(tmp_path: Path) -> None:
    saved, options = tmp_path / "cards.json", "--mm-size 16,24 --mm-kernel upc.kernel*1"
    # The second run called "first" takes the place of the one before.
    command = f"-m bench.studies cards {saved} first both first --devices emulator,emulator --options"
    subprocess.run([sys.executable, *command.split(), options], cwd=ROOT, check=True, capture_output=True)
    document = json.loads(saved.read_text(encoding="utf-8"))
    assert [(run["run"], run["results"]) for run in document["runs"]] == [("both", 12), ("first", 12)]
    cards_of = {name: {cell[name][0] for cell in document["cells"]} for name in ("first", "both")}
    assert cards_of["first"] == {"emulator"}
    assert cards_of["both"] <= {"emulator", "emulator #2"}
    assert re.fullmatch("measured .* by emulator.*", document["runs"][0]["said"][0])


# The page's commands


def test_the_run_on_two_workers_measures_what_the_page_shows(tmp_path: Path) -> None:
    arguments = [*shlex.split(COMMAND), "-o", f"cache_dir={tmp_path}"]
    run = subprocess.run([sys.executable, "-m", *arguments], cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout
    # How the workers share the cells is up to chance.
    (printed,) = re.findall(r"^measured (.*)$", run.stdout, re.MULTILINE)
    measured, shown = (
        {where: int(count) for count, where in re.findall(r"(\d+) by ([^,]+)", line)}
        for line in (printed, SHOWN.splitlines()[-1])
    )
    assert sum(measured.values()) == sum(shown.values()) == 12
    assert measured.keys() <= shown.keys()


def test_every_option_of_the_pages_commands_is_there(pytester: pytest.Pytester) -> None:
    known = pytester.runpytest_inprocess("--help").stdout.str()
    named = set(re.findall(r"--(?:mm|benchmark|cache)-[a-z-]+", PAGE))
    assert {"--mm-engine", "--mm-spread", "--cache-clear"} < named
    assert not [option for option in named if option not in known]
    tuning = mmcore("tune", "--help").stdout
    assert not [option for option in ("--size", "--device", "--engine", "--seed") if option not in tuning]


def test_the_batch_script_is_one_and_its_options_are_rays() -> None:
    subprocess.run(["bash", "-n"], input=SBATCH, text=True, check=True)
    scripts: Any = pytest.importorskip("ray.scripts.scripts", reason="the extra 'ray' is not installed")
    own, _, command = SBATCH.partition("ray symmetric-run")[2].partition(" -- ")
    options = [each for name in ("symmetric-run", "start") for each in scripts.cli.commands[name].params]
    assert set(re.findall(r"--[a-z-]+", own)) <= {name for each in options for name in each.opts}
    assert command.startswith("mmcore bench ")

"""Damaged results of earlier runs: a sentence, before anything is measured."""

from __future__ import annotations

import errno
import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import pytest_benchmark
from packaging.version import Version
from pytest_benchmark.logger import PytestBenchmarkWarning

import mmcore
from mmcore_cuda.nvrtc.bindings import nvrtc_version
from mmcore_pytest.saved_results import damage, describe, other_device

Change = Callable[[dict[str, Any]], object]

OPTIONS = (
    "--mm-kernel=upc.kernel01",
    "--mm-size=16",
    "--mm-block=8",
    "--mm-device=emulator",
    "--benchmark-max-time=0.01",
)
STRANGE: tuple[object, ...] = (None, [], "x", {}, 3, -1.5, float("nan"), float("inf"), True)
RESULTS: dict[str, Any] = {
    "machine_info": {"mmcore": {"name": "emulator"}},
    "benchmarks": [
        {
            "fullname": "test_bench.py::test_kernel",
            "stats": {
                **dict.fromkeys(("min", "max", "mean", "median", "stddev", "iqr", "rounds", "iterations", "ops"), 1.0),
                "outliers": "0;0",
            },
        }
    ],
}


def changed(change: Change) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(json.dumps(RESULTS))
    change(document)
    return document


@pytest.mark.parametrize("value", STRANGE[:5], ids=repr)
def test_results_without_machine_or_device_are_damaged(value: object) -> None:
    machine = changed(lambda document: document.update(machine_info=value))
    assert damage(machine) == ("" if value == {} else "they do not name their machine")
    device = changed(lambda document: document["machine_info"].update(mmcore=value))
    assert damage(device) == ("" if value == {} else "they do not name their device")


@pytest.mark.parametrize("value", [value for value in STRANGE if value not in (3, True)], ids=repr)
def test_a_median_that_is_no_time_is_damage(value: object) -> None:
    found = damage(changed(lambda document: document["benchmarks"][0]["stats"].update(median=value)))
    assert found == "test_bench.py::test_kernel has no median"


@pytest.mark.parametrize("name", RESULTS["benchmarks"][0]["stats"])
def test_a_missing_number_is_named_and_zero_is_no_damage(name: str) -> None:
    def damage_of(change: Change) -> str:
        return damage(changed(lambda document: change(document["benchmarks"][0]["stats"])))

    said = f"test_bench.py::test_kernel has no {name}"
    assert (
        damage_of(lambda stats: stats.pop(name)) == damage_of(lambda stats: stats.update({name: float("inf")})) == said
    )
    assert damage_of(lambda stats: stats.update({name: 0})) == (said if name == "outliers" else "")
    assert damage_of(lambda stats: None) == ""


def test_a_missing_name_is_reported() -> None:
    assert damage(changed(lambda document: document["benchmarks"][0].pop("fullname"))) == "a benchmark has no name"


def test_another_programs_results_are_left_to_pytest_benchmark() -> None:
    assert damage({"machine_info": {}, "benchmarks": [{"fullname": 3, "stats": {}}]}) == ""


REFUSED: dict[str, tuple[Change, str]] = {
    "no machine": (lambda document: document.pop("machine_info"), "damaged: they do not name their machine"),
    "no device": (lambda document: document["machine_info"].update(mmcore=3), "damaged: they do not name their device"),
    "odd device": (
        lambda document: document["machine_info"]["mmcore"].update(name=None),
        "of another device: they were measured on None, and this run is on emulator;",
    ),
    "no time": (
        lambda document: document["benchmarks"][0]["stats"].update(median=float("nan")),
        "damaged: test_bench.py::test_kernel has no median",
    ),
}


@pytest.fixture(autouse=True)
def _bench_file(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write a benchmark, and let pytest-benchmark measure in the inner runs."""
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)
    pytester.makepyfile(test_bench="def test_kernel(mm_benchmark):\n    mm_benchmark()\n")


def refusal(pytester: pytest.Pytester, *options: str) -> str:
    """Return what pytest prints when it refuses these options before it measures."""
    result = pytester.runpytest(*OPTIONS, *options)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    return result.stderr.str()


def comparison(pytester: pytest.Pytester, content: str) -> str:
    """Return what pytest prints when it refuses to compare with a file of this content."""
    (pytester.path / "old.json").write_text(content)
    return refusal(pytester, "--benchmark-compare=old.json")


@pytest.mark.parametrize(("change", "reason"), REFUSED.values(), ids=REFUSED)
def test_damaged_results_are_refused(pytester: pytest.Pytester, change: Change, reason: str) -> None:
    assert f"ERROR: the results to compare with are {reason}" in comparison(pytester, json.dumps(changed(change)))


@pytest.mark.parametrize("content", ["", "[]", json.dumps(RESULTS)[:99]], ids=range(3))
@pytest.mark.filterwarnings("ignore:Can't compare")
def test_results_that_cannot_be_read_are_refused(pytester: pytest.Pytester, content: str) -> None:
    with pytest.warns(PytestBenchmarkWarning, match="Failed to load .*old.json"):
        said = comparison(pytester, content)
    assert "ERROR: --benchmark-compare=old.json: no readable results of that name exist" in said


@pytest.mark.filterwarnings("ignore:Can't compare")
def test_missing_results_are_refused(pytester: pytest.Pytester) -> None:
    refusal(pytester, "--benchmark-compare=0007")
    said = refusal(pytester, "--benchmark-compare")
    assert re.search("ERROR: --benchmark-compare: no results are saved in .*.benchmarks.*--benchmark-json", said)
    pytester.runpytest(*OPTIONS).assert_outcomes(passed=1)
    pytester.runpytest(*OPTIONS, "--benchmark-compare").assert_outcomes(passed=1)
    said = refusal(pytester, "--benchmark-compare=/dev/zero")
    assert "ERROR: --benchmark-compare: '/dev/zero' isn't an existing file or " in said


@pytest.mark.filterwarnings("ignore:Not saving anything")
@pytest.mark.parametrize(
    ("option", "said"),
    [
        # pytest-benchmark before 5.3 reports it itself.
        ("--benchmark-json=no/results.json", r"--benchmark-json: .*no/results.json"),
        ("--benchmark-storage=test_bench.py/x", "ERROR: results cannot be saved in .*; --benchmark-storage names "),
    ],
)
def test_nothing_is_measured_that_cannot_be_saved(pytester: pytest.Pytester, option: str, said: str) -> None:
    assert re.search(said, refusal(pytester, option))


OPENED_WHEN_COMPLETE = pytest.mark.skipif(
    Version(pytest_benchmark.__version__) < Version("5.3"),
    reason="before 5.3 pytest-benchmark opens the file as it reads its options",
)


@OPENED_WHEN_COMPLETE
@pytest.mark.filterwarnings("ignore:Not saving anything", "ignore:Can't compare")
def test_a_file_for_results_is_left_as_it_was_until_there_are_some(pytester: pytest.Pytester) -> None:
    (pytester.path / "old.json").write_text("of another run")
    for name in ("new.json", "old.json"):
        refusal(pytester, f"--benchmark-json={name}", "--benchmark-compare=0007")
    assert not (pytester.path / "new.json").exists()
    assert (pytester.path / "old.json").read_text() == "of another run"


@pytest.mark.parametrize(
    ("words", "name"),
    [
        pytest.param(
            ["--benchmark-json=kept.json", "--benchmark-storage=file:///dev/null"],
            "kept.json",
            marks=OPENED_WHEN_COMPLETE,
        ),
        (["--benchmark-autosave", "--benchmark-storage=file://store"], "0001_*.json"),
        (["--benchmark-storage=file://store"], "0001_*.json"),
        (["--mm-csv=kept.csv", "--benchmark-storage=file:///dev/null"], "kept.csv"),
    ],
)
def test_a_full_disk_is_one_sentence_and_loses_no_file(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, words: list[str], name: str
) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    kept = [pytester.path / each for each in ("kept.json", "kept.csv")]
    for path in kept:
        path.write_text("of another run")
    monkeypatch.setattr(os, "fsync", full)
    result = pytester.runpytest(*OPTIONS, *words, "-p", "no:cacheprovider")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines([f"mmcore: *{name} cannot be written: No space left on device"])
    assert result.ret == 2
    assert [path.read_text() for path in kept] == ["of another run"] * 2
    assert not [*pytester.path.rglob("0001_*")]


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.symlink_to("/dev/zero")])
@pytest.mark.parametrize("compare", ["--benchmark-compare", "--benchmark-compare=0001"])
def test_a_pipe_among_results_is_refused(pytester: pytest.Pytester, compare: str, make: Callable[[Path], None]) -> None:
    (pytester.path / "store").mkdir()
    make(pytester.path / "store" / "0001_of_nothing.json")
    said = refusal(pytester, compare, "--benchmark-storage=file://store")
    assert re.search("ERROR: --benchmark-compare: .*0001_of_nothing.json is not a regular file", said)


def test_the_device_is_saved_and_the_hosts_name_is_not() -> None:
    host = ("node", "release", "cpu", "python_build", "python_compiler")
    machine: dict[str, Any] = {**dict.fromkeys(host, "of the host"), "system": "Linux", "python_version": "3.13"}
    describe(machine, {"name": "Made-up GPU", "clock_mhz": 1000})
    measured_on = machine.pop("mmcore")
    assert machine == {"system": "Linux", "python_version": "3.13"}
    assert measured_on.keys() == {"name", "clock_mhz", "nvrtc", "mmcore", "plugins"}
    assert (measured_on["name"], measured_on["clock_mhz"]) == ("Made-up GPU", 1000)
    assert measured_on["plugins"]["mmcore-cuda"] == measured_on["mmcore"] == mmcore.__version__
    assert measured_on["nvrtc"] == ".".join(map(str, nvrtc_version()))


@pytest.mark.parametrize("name", ["name", "compute_capability", "multiprocessors", "clock_mhz"])
def test_a_device_with_an_unknown_property_is_another(name: str) -> None:
    known = {"name": "GPU", "compute_capability": [9, 0], "multiprocessors": 132, "clock_mhz": 1980, "driver": "580"}
    unknown = {each: value for each, value in known.items() if each != name}
    here, there = {"mmcore": known}, {"mmcore": {**unknown, "driver": "570"}}
    assert other_device(here, {"mmcore": {**known, "driver": "570"}}) == ""
    assert other_device(here, {"mmcore": {**known, name: "another"}}).startswith("they were measured on another")
    words, value = name.replace("_", " "), known[name]
    if name == "name":
        assert other_device(here, there) == "they were measured on None, and this run is on GPU"
    else:
        begin = "they were measured on another GPU: "
        assert other_device(here, there) == f"{begin}{words} None there and {value} here"
        assert other_device(there, here) == f"{begin}{words} {value} there and None here"

"""Damaged results of earlier runs: a sentence, before anything is measured."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import pytest_benchmark
from packaging.version import Version
from pytest_benchmark.logger import PytestBenchmarkWarning

import mmcore
from mmcore_cuda.nvrtc.nvrtc import nvrtc_version
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


def test_whatever_is_missing_is_named() -> None:
    for name in RESULTS["benchmarks"][0]["stats"]:
        document = changed(lambda document: None)
        del document["benchmarks"][0]["stats"][name]
        assert damage(document) == f"test_bench.py::test_kernel has no {name}"
        document["benchmarks"][0]["stats"][name] = float("inf")
        assert damage(document) == f"test_bench.py::test_kernel has no {name}"
    assert damage(changed(lambda document: document["benchmarks"][0].pop("fullname"))) == "a benchmark has no name"


def test_another_programs_results_are_left_to_pytest_benchmark() -> None:
    assert damage({"machine_info": {}, "benchmarks": [{"fullname": 3, "stats": {}}]}) == ""


REFUSED: dict[str, tuple[Change, str]] = {
    "no machine": (lambda document: document.pop("machine_info"), "damaged: they do not name their machine"),
    "no device": (lambda document: document["machine_info"].update(mmcore=3), "damaged: they do not name their device"),
    "odd device": (
        lambda document: document["machine_info"]["mmcore"].update(name=None),
        "of another device: they were measured on None, and this run is on emulator;*",
    ),
    "no time": (
        lambda document: document["benchmarks"][0]["stats"].update(median=float("nan")),
        "damaged: test_bench.py::test_kernel has no median",
    ),
}


@pytest.fixture(autouse=True)
def _measuring(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let pytest-benchmark measure in the inner runs."""
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)


@pytest.fixture
def bench(pytester: pytest.Pytester) -> Callable[[str], pytest.RunResult]:
    """Return a function that compares a run with a file of a given content."""
    pytester.makepyfile(test_bench="def test_kernel(mm_benchmark):\n    mm_benchmark()\n")

    def run(content: str) -> pytest.RunResult:
        (pytester.path / "old.json").write_text(content)
        return pytester.runpytest(*OPTIONS, "--benchmark-compare=old.json")

    return run


@pytest.mark.parametrize(("change", "reason"), REFUSED.values(), ids=REFUSED)
def test_damaged_results_are_refused(bench: Callable[[str], pytest.RunResult], change: Change, reason: str) -> None:
    result = bench(json.dumps(changed(change)))
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: the results to compare with are {reason}"])


@pytest.mark.parametrize("content", ["", "[]", json.dumps(RESULTS)[:99]], ids=range(3))
@pytest.mark.filterwarnings("ignore:Can't compare")
def test_results_that_cannot_be_read_are_refused(bench: Callable[[str], pytest.RunResult], content: str) -> None:
    with pytest.warns(PytestBenchmarkWarning, match="Failed to load .*old.json"):
        result = bench(content)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: --benchmark-compare=old.json: no readable results of that name exist*"])


@pytest.mark.filterwarnings("ignore:Can't compare")
def test_results_that_are_not_there_are_refused_when_named(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_bench="def test_kernel(mm_benchmark):\n    mm_benchmark()\n")
    result = pytester.runpytest(*OPTIONS, "--benchmark-compare=0007")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result = pytester.runpytest(*OPTIONS, "--benchmark-compare")
    result.assert_outcomes(passed=1)


@pytest.mark.filterwarnings("ignore:Not saving anything")
@pytest.mark.parametrize(
    ("option", "said"),
    [
        # pytest-benchmark before 5.3 reports it itself.
        ("--benchmark-json=no/results.json", "*--benchmark-json: *no/results.json*"),
        ("--benchmark-storage=test_bench.py/x", "ERROR: results cannot be saved in *; --benchmark-storage names *"),
    ],
)
def test_what_could_not_be_saved_is_not_measured(pytester: pytest.Pytester, option: str, said: str) -> None:
    pytester.makepyfile(test_bench="def test_kernel(mm_benchmark):\n    mm_benchmark()\n")
    result = pytester.runpytest(*OPTIONS, option)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([said])


OPENED_WHEN_COMPLETE = pytest.mark.skipif(
    Version(pytest_benchmark.__version__) < Version("5.3"),
    reason="before 5.3 pytest-benchmark opens the file as it reads its options",
)


@OPENED_WHEN_COMPLETE
@pytest.mark.filterwarnings("ignore:Not saving anything", "ignore:Can't compare")
def test_a_file_for_results_is_left_as_it_was_until_there_are_some(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_bench="def test_kernel(mm_benchmark):\n    mm_benchmark()\n")
    (pytester.path / "old.json").write_text("of another run")
    for name in ("new.json", "old.json"):
        result = pytester.runpytest(*OPTIONS, f"--benchmark-json={name}", "--benchmark-compare=0007")
        assert result.ret == pytest.ExitCode.USAGE_ERROR
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
def test_results_that_find_no_room_are_a_sentence_and_leave_what_was_there(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, words: list[str], name: str
) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    pytester.makepyfile(test_bench="def test_kernel(mm_benchmark):\n    mm_benchmark()\n")
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
    pytester.makepyfile(test_bench="def test_kernel(mm_benchmark):\n    mm_benchmark()\n")
    (pytester.path / "store").mkdir()
    make(pytester.path / "store" / "0001_of_nothing.json")
    result = pytester.runpytest(*OPTIONS, compare, "--benchmark-storage=file://store")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: --benchmark-compare: *0001_of_nothing.json is not a regular file"])


def test_a_name_that_is_no_pattern_of_saved_results_is_refused(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest(*OPTIONS, "--benchmark-compare=/dev/zero")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: --benchmark-compare: '/dev/zero' isn't an existing file or *"])


def test_what_only_names_the_host_is_not_saved_and_what_was_measured_on_is() -> None:
    host = ("node", "release", "cpu", "python_build", "python_compiler")
    machine: dict[str, Any] = {**dict.fromkeys(host, "of the host"), "system": "Linux", "python_version": "3.13"}
    describe(machine, {"name": "Made-up GPU", "clock_mhz": 1000})
    measured_on = machine.pop("mmcore")
    assert machine == {"system": "Linux", "python_version": "3.13"}
    assert measured_on.keys() == {"name", "clock_mhz", "nvrtc", "mmcore", "plugins"}
    assert (measured_on["name"], measured_on["clock_mhz"]) == ("Made-up GPU", 1000)
    assert measured_on["plugins"]["mmcore-cuda"] == measured_on["mmcore"] == mmcore.__version__
    assert measured_on["nvrtc"] == ".".join(map(str, nvrtc_version()))


@pytest.mark.parametrize("name", ["stddev", "iqr", "min", "ops"])
def test_a_number_of_zero_is_no_damage(name: str) -> None:
    assert damage(RESULTS) == damage(changed(lambda saved: saved["benchmarks"][0]["stats"].update({name: 0}))) == ""


@pytest.mark.parametrize("name", ["name", "compute_capability", "multiprocessors", "clock_mhz"])
def test_a_device_of_which_one_run_does_not_know_something_is_another(name: str) -> None:
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

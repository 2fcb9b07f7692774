"""``mmcore experiment``: what it measures, keeps and leaves out."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from mmcore import Kernel
from mmcore.executor import worker
from mmcore.plugin_table import Origin, Registered
from mmcore.registry import registry
from mmcore_cuda.nvrtc.bindings import nvrtc_version
from mmcore_engines.file_locks import Lock
from mmcore_tools.experiments.preset import presets
from tests.command_line import install, mmcore
from tests.tables import cases, section_of
from tests.timed_emulator import TimedProvider
from tests.tools.test_presets import preset, preset_plugin

NAMES = list(presets(registry()))
TESTS = Origin("timed", "tests")


@pytest.fixture(autouse=True)
def _timed_device(monkeypatch: pytest.MonkeyPatch) -> None:
    """Register a device that supports timing."""
    monkeypatch.setattr(worker, "_devices", {})
    monkeypatch.setitem(registry().providers, "timed", Registered(TimedProvider(), TESTS))


@pytest.fixture
def declare() -> Iterator[Any]:
    """Return a function that registers a preset instead of the previous one."""

    def withdraw() -> None:
        if registry().manager.has_plugin("acme-kernels:acme"):
            registry().manager.unregister(name="acme-kernels:acme")

    def declare(**changes: Any) -> None:
        withdraw()
        declared = preset(**{"sizes": (32, 48), "blocks": (8, 16)} | changes)
        registry().add(preset_plugin([declared]), "acme", "acme-kernels")

    yield declare
    withdraw()


def results(folder: Path, name: str = "acme-sizes") -> dict[str, Any]:
    document = json.loads((folder / f"{name}.json").read_text())
    assert isinstance(document, dict)
    return document


def ids(document: dict[str, Any]) -> list[str]:
    return [each["param"] for each in document["benchmarks"]]


def seeds(document: dict[str, Any]) -> dict[str, int]:
    return {each["param"]: each["extra_info"]["seed"] for each in document["benchmarks"]}


def run(folder: Path, *options: str, device: str = "timed", name: str = "acme-sizes") -> Any:
    return mmcore("experiment", name, "--device", device, "--dir", str(folder), *options)


def measured_before(folder: Path) -> int:
    before = json.loads(run(folder, "--json").stdout)["measured_before"]
    assert isinstance(before, int)
    return before


def replace_kernel(monkeypatch: pytest.MonkeyPatch, name: str, **changes: Any) -> Kernel:
    registered = registry().kernels[name]
    changed = dataclasses.replace(registered.item, **changes)
    monkeypatch.setitem(registry().kernels, name, Registered(changed, registered.origin))
    return changed


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if name.startswith("ladder") else ()) for name in NAMES]
)
def test_the_reduced_form_runs_on_the_emulator(name: str, tmp_path: Path) -> None:
    result = run(tmp_path, "--quick", device="emulator", name=name)
    assert result.exit_code == 0, result.stderr
    document = results(tmp_path, f"{name}-quick")
    declared = presets(registry()).named(name)
    assert {each["extra_info"]["kernel"] for each in document["benchmarks"]} == set(declared.kernels)
    drawn = mmcore("plot", str(tmp_path / f"{name}-quick.json"), "-o", str(tmp_path / "out.svg"))
    assert drawn.exit_code == 0, drawn.stderr
    if name == "unsa-blocks":
        refused = {
            (each["kernel"], *each["config"]["block"][:1]): each["reason"] for each in document["mmcore"]["refused"]
        }
        assert refused["unsa.tiled", 50] == "a 50×50 block has 2500 threads; the device allows 1024"
        assert refused["unsa.tiled", 15] == "n = 100 is not a multiple of block.x = 15"
        assert [block for kernel, block in refused if kernel == "unsa.traditional"] == [35, 40, 45, 50]


def test_results_of_an_emulator_are_counts_under_their_own_heading(declare: Any, tmp_path: Path) -> None:
    declare(title="GFLOP/s at every n from 1000 to 1100", shows="The rate peaks.", quick_sizes=(32, 40), measures=(
        "kernel-warm", "end-to-end-pinned"))  # fmt: skip
    result = run(tmp_path, "--quick", device="emulator")
    assert result.exit_code == 0, result.stderr
    heading = "Counts, no times, of upc.kernel01 at n = 32 to 40 in blocks of 8, 16"
    assert result.stdout.startswith(f"acme-sizes, reduced form: {heading}\n")
    assert "GFLOP/s" not in result.stdout
    assert "The rate peaks" not in result.stdout
    document = results(tmp_path, "acme-sizes-quick")
    section = document["mmcore"]
    assert (section["quick"], section["timed"], section["title"]) == (True, False, heading)
    assert section["left_out"] == ["end-to-end-pinned: the device supports no timing"]
    infos = [each["extra_info"] for each in document["benchmarks"]]
    assert len(infos) == 4
    assert all(info["gflops"] is info["percent_of_best"] is None for info in infos)
    assert all(info["measure"] == "kernel" and info["figures"]["global_sectors"] > 0 for info in infos)


def test_the_results_are_pytest_benchmarks_with_what_was_declared(declare: Any, tmp_path: Path) -> None:
    declare(kernels=("upc.kernel01", "upc.kernel10"), sizes=(32, 44), blocks=(16,), max_time=0.1, min_rounds=7)
    result = run(tmp_path)
    assert result.exit_code == 0, result.stderr
    assert result.stdout.startswith("acme-sizes: a test's own\n\nthat it works\n")
    document = results(tmp_path)
    assert ids(document) == [
        "upc.kernel01-32x32x32-b16", "upc.kernel01-44x44x44-b16", "upc.kernel10-32x32x32-b16"
    ]  # fmt: skip
    assert document["machine_info"]["mmcore"].items() >= {"name": "Test GPU", "mmcore": "0.3.0"}.items()
    assert document["machine_info"]["mmcore"]["nvrtc"] == ".".join(map(str, nvrtc_version()))
    for each in document["benchmarks"]:
        assert 0.08 <= each["stats"]["total"] < 0.13  # seconds, in rounds of 10 ms
        assert each["stats"]["rounds"] >= 7
        assert each["extra_info"]["median_ms"] == pytest.approx(10)
        assert each["extra_info"]["percent_of_best"] == pytest.approx(100)
    section = document["mmcore"]
    assert (section["timed"], section["reference"], section["sizes"]) == (True, "none", [[32] * 3, [44] * 3])
    assert section["benchmark_options"] == {"max_time": 0.1, "min_rounds": 7}
    assert [each["reason"] for each in section["refused"]] == ["m = n = k = 44 is not a multiple of block.x = 16"]
    compared = subprocess.run(
        [sys.executable, "-m", "pytest_benchmark", "compare", str(tmp_path / "acme-sizes.json")],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "test_cell[upc.kernel10-32x32x32-b16]" in compared.stdout


def test_the_best_may_be_measured_before(declare: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    asked = ("experiment", "acme-sizes", "--device", "timed")
    declare(sizes=(32,), blocks=(16,))
    mmcore(*asked)
    opened = TimedProvider().open(0)
    opened._seconds = lambda source: 4e-2
    monkeypatch.setattr(worker, "_devices", {"timed:0": opened})
    declare(kernels=("upc.kernel01", "upc.kernel11"), sizes=(32,), blocks=(16,))
    assert mmcore(*asked).exit_code == 0
    (path,) = tmp_path.rglob("*.*")
    assert str(path.relative_to(tmp_path)) == "experiments/test-gpu/acme-sizes.json"
    percents = [each["extra_info"]["percent_of_best"] for each in results(path.parent)["benchmarks"]]
    assert percents == [pytest.approx(100), pytest.approx(25)]


def test_copies_are_measured_both_ways_where_the_device_supports_timing(declare: Any, tmp_path: Path) -> None:
    measures = ("kernel-warm", "kernel-cold", "end-to-end-pageable", "end-to-end-pinned")
    declare(measures=measures, sizes=(32,), blocks=(16,))
    assert run(tmp_path).exit_code == 0
    milliseconds = {each["param"]: each["extra_info"]["median_ms"] for each in results(tmp_path)["benchmarks"]}
    assert milliseconds == {
        f"upc.kernel01-32x32x32-b16{way}": pytest.approx(10 * factor)
        for way, factor in {"": 1, "-cold": 1.5, "-end-to-end-pageable": 5, "-end-to-end-pinned": 3}.items()
    }


def test_configs_are_asked_for_by_their_parameters(declare: Any, tmp_path: Path) -> None:
    declare(kernels=("upc.kernel11",), sizes=(32,), blocks=(), configs=({"TILE": 16}, {"block": (8, 8)}))
    assert run(tmp_path).exit_code == 0
    assert ids(results(tmp_path)) == ["upc.kernel11-32x32x32-b16", "upc.kernel11-32x32x32-b8"]
    declare(kernels=("upc.kernel11",), sizes=(32,), blocks=())
    assert json.loads(run(tmp_path, "--json").stdout)["cells"] == 3, "each in its own usual configs"


@pytest.mark.parametrize(
    ("options", "device", "quick"),
    [((), "emulator", True), (("--full",), "emulator", False), ((), "timed", False), (("--quick",), "timed", True)],
)
def test_the_reduced_form_is_the_default_where_there_are_no_times(
    options: tuple[str, ...], device: str, quick: bool, declare: Any, tmp_path: Path
) -> None:
    declare(sizes=(16,), quick_sizes=(8,), blocks=(8,))
    ran = run(tmp_path, *options, device=device)
    assert ("--full runs the whole experiment" in ran.output) is (not options and device == "emulator")
    section = results(tmp_path, "acme-sizes-quick" if quick else "acme-sizes")["mmcore"]
    assert (section["quick"], section["sizes"]) == (quick, [[8 if quick else 16] * 3])


def test_kernels_take_turns_with_the_baseline_of_their_preset(declare: Any, tmp_path: Path) -> None:
    declare(sizes=(32,), blocks=(16,))
    run(tmp_path)
    declare(sizes=(32,), blocks=(16,), baseline="upc.kernel10")
    result = run(tmp_path)
    assert "measured before" not in result.stderr, "the result without a baseline is not used"
    assert measured_before(tmp_path) == 1
    assert re.search(r"% of baseline\n.* 100\n", result.stdout)
    (info,) = [each["extra_info"] for each in results(tmp_path)["benchmarks"]]
    assert (info["baseline"], info["percent_of_baseline"]) == ("upc.kernel10", pytest.approx(100, rel=0.02))
    assert results(tmp_path)["mmcore"]["baseline"] == "upc.kernel10"


def test_errors_are_listed_beside_those_of_the_libraries(declare: Any, tmp_path: Path) -> None:
    declare(sizes=(32,), blocks=(16,), baseline="no.such,upc.kernel1[01]", figures=("error",))
    shown = run(tmp_path).stdout
    (info,) = [each["extra_info"] for each in results(tmp_path)["benchmarks"]]
    assert {each["kernel"] for each in info["compared"]} == {"upc.kernel10", "upc.kernel11"} - {info["kernel"]}
    assert "beside the libraries; errors are root mean squares" in shown
    for kernel, figures in (
        (info["kernel"], info["figures"]),
        *((each["kernel"], each["figures"]) for each in info["compared"]),
    ):
        assert re.search(rf"^32×32×32 +{kernel} +\S+ +{figures['error']:.1e}$", shown, re.MULTILINE)


def test_common_values_of_all_rows_are_above_the_table(declare: Any, tmp_path: Path) -> None:
    declare(kernels=("upc.kernel01", "upc.kernel10"), sizes=(32,), blocks=(8, 16))
    said = run(tmp_path).stdout
    assert re.search(r"^at +32×32×32$", said, re.MULTILINE)
    assert re.search(r"^kernel +config +best GFLOP/s$", said, re.MULTILINE)
    declare(kernels=("upc.kernel01", "upc.kernel10"), sizes=(32,), blocks=(8,))
    assert re.search(r"^kernel +best GFLOP/s$", run(tmp_path).stdout, re.MULTILINE)


@cases(__file__, "why_a_kernel_was_not_compared_is_said", "baseline, reason")
def test_why_a_kernel_was_not_compared_is_said(baseline: str, reason: str, declare: Any, tmp_path: Path) -> None:
    declare(sizes=(45, 46), blocks=(16,), baseline=baseline)
    result = run(tmp_path)
    assert result.exit_code == 0, result.stderr
    assert f"not compared:\n  {reason}" in result.stdout


def test_the_reason_is_printed_before_the_first_result(declare: Any, tmp_path: Path) -> None:
    declare(sizes=(45, 46), blocks=(16,), baseline="upc.kernel1*")
    before, _, first = run(tmp_path).stderr.partition("[1/")
    assert "\nnot compared: upc.kernel10: m = n = k = 45 " in before
    assert re.match(r".* GFLOP/s, \d+ % of upc\.kernel11\w*$", first, re.MULTILINE)


def test_cells_are_measured_once(declare: Any, tmp_path: Path) -> None:
    declare()
    run(tmp_path)
    first = results(tmp_path)
    assert measured_before(tmp_path) == 4
    assert seeds(results(tmp_path)) == seeds(first)
    declare(sizes=(32, 48, 64))
    assert json.loads(run(tmp_path, "--json").stdout) == {
        "experiment": "acme-sizes", "quick": False, "device": "Test GPU", "results": str(tmp_path / "acme-sizes.json"),
        "cells": 6, "measured_before": 4, "left_out": [], "refused": [], "failed": [],
    }  # fmt: skip
    assert seeds(results(tmp_path)).items() >= seeds(first).items()


def test_fresh_measures_everything_and_keeps_the_previous_results(declare: Any, tmp_path: Path) -> None:
    declare()
    run(tmp_path)
    first = results(tmp_path)
    assert json.loads(run(tmp_path, "--fresh", "--json").stdout)["measured_before"] == 0
    assert not set(seeds(results(tmp_path)).values()) & set(seeds(first).values())
    assert results(tmp_path, "acme-sizes.previous") == first


def test_other_code_is_measured_again(declare: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = tmp_path / "kernel01.cu"
    header = tmp_path / "header.cuh"
    header.write_text("\n")
    original = registry().kernels["upc.kernel01"].item.source_text()
    source.write_text(f'#include "header.cuh"\n{original}')
    declare(sizes=(32,))
    replace_kernel(monkeypatch, "upc.kernel01", source=source)
    assert [measured_before(tmp_path), measured_before(tmp_path)] == [0, 2]
    source.write_text(f"{source.read_text()}// and a remark\n")
    assert measured_before(tmp_path) == 0
    header.write_text("// a remark\n")
    assert measured_before(tmp_path) == 0
    replace_kernel(monkeypatch, "upc.kernel01", grid=lambda problem, config: (problem.n // config.block.x + 1, 4))
    assert [measured_before(tmp_path), measured_before(tmp_path)] == [0, 2]
    replace_kernel(monkeypatch, "upc.kernel01", options=("-DNOTHING",))
    assert [measured_before(tmp_path), measured_before(tmp_path)] == [0, 2]
    monkeypatch.setattr("mmcore_cuda.nvrtc.Nvrtc.version", lambda self: "99.1")
    assert measured_before(tmp_path) == 0
    declare(sizes=(32,), max_time=0.3)
    assert measured_before(tmp_path) == 0


@cases(__file__, "a_cell_that_fails_is_reported_and_tried_again", "old, new, reason")
def test_a_cell_that_fails_is_reported_and_tried_again(
    old: str, new: str, reason: str, declare: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "wrong.cu"
    source.write_text(registry().kernels["upc.kernel01"].item.source_text().replace(old, new))
    declare(kernels=("upc.kernel01", "upc.kernel10"), sizes=(32,), blocks=(16,))
    with monkeypatch.context() as patch:
        replace_kernel(patch, "upc.kernel01", source=source)
        result = run(tmp_path)
    assert result.exit_code == 1
    assert "failed:\n  upc.kernel01 32×32×32 b16: " in result.stdout
    document = results(tmp_path)
    assert ids(document) == ["upc.kernel10-32x32x32-b16"]
    (failed,) = document["mmcore"]["failed"]
    assert (failed["kernel"], failed["measure"]) == ("upc.kernel01", "kernel-warm")
    assert reason in failed["reason"]
    assert measured_before(tmp_path) == 1
    assert len(ids(results(tmp_path))) == 2


def test_results_of_another_device_stay(declare: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    declare(sizes=(32,))
    run(tmp_path)
    before = results(tmp_path)
    monkeypatch.setattr(worker, "_devices", {"timed:0": TimedProvider("Another GPU").open(0)})
    result = run(tmp_path)
    assert result.exit_code == 2
    said = "holds the results of another device: they were measured on Test GPU, and this run is on Another GPU"
    assert said in result.stderr
    assert results(tmp_path) == before


def test_a_file_that_holds_no_results_is_not_overwritten(declare: Any, tmp_path: Path) -> None:
    declare(sizes=(32,), blocks=(16,))
    for damaged in ("", "[]", "{}", '{"mmcore": 1}', "[" * 100_000):
        (tmp_path / "acme-sizes.json").write_text(damaged)
        result = run(tmp_path)
        assert result.exit_code == 2
        assert "is no result of mmcore experiment" in result.stderr.splitlines()[-1]
    assert run(tmp_path, "--fresh").exit_code == 0


def test_a_damaged_journal_costs_the_damaged_cells(declare: Any, tmp_path: Path) -> None:
    declare()
    run(tmp_path)
    lines = [json.dumps(each) for each in results(tmp_path)["benchmarks"]]
    (tmp_path / "acme-sizes.json").unlink()
    journal = tmp_path / "acme-sizes.unfinished.jsonl"
    journal.write_bytes("\n".join([lines[0], lines[1][:-20], "{}", "\udcff"]).encode(errors="surrogateescape"))
    assert measured_before(tmp_path) == 1
    assert not journal.exists()


@pytest.mark.parametrize("blow", [signal.SIGKILL, signal.SIGINT])
def test_a_stopped_run_continues_with_the_missing_cells(blow: signal.Signals, tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "mmcore", "experiment", "upc-remainders", "--quick", "-o", tmp_path,
         "--device", "emulator"],
        stderr=subprocess.PIPE, text=True, env=os.environ | {"MMCORE_IN_PROCESS": "0"},
        # Tests that run in the background ignore SIGINT.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as first:  # fmt: skip
        assert first.stderr is not None
        while not (line := first.stderr.readline()).startswith("[2/40]"):
            assert line
        first.send_signal(blow)
        said = first.stderr.read()
    assert not (tmp_path / "upc-remainders-quick.json").exists()
    if blow == signal.SIGINT:
        assert first.returncode == 130
        assert said.rstrip().splitlines()[-1].endswith(" of 40 cells are measured and kept; the same command continues")
    journal = (tmp_path / "upc-remainders-quick.unfinished.jsonl").read_text()
    kept = [json.loads(line) for line in journal.split("\n") if line]
    assert 2 <= len(kept) < 40
    second = run(tmp_path, "--quick", "--json", device="emulator", name="upc-remainders")
    assert f"40 cells; {len(kept)} of them measured before\n[{len(kept) + 1}/40] " in second.stderr
    assert json.loads(second.stdout)["measured_before"] == len(kept)
    document = results(tmp_path, "upc-remainders-quick")
    assert len(document["benchmarks"]) == 40
    assert seeds(document).items() >= seeds({"benchmarks": kept}).items()


def test_one_run_at_a_time_writes_results(declare: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    declare()
    lock = Lock(f"results-{tmp_path / 'acme-sizes.json'}")
    assert lock.try_to_take() is None
    monkeypatch.setenv("MMCORE_LOCK_HOLDERS", "")
    result = run(tmp_path)
    lock.release()
    assert result.exit_code == 2
    assert f"process {os.getpid()} (" in result.stderr
    assert f"is writing {tmp_path / 'acme-sizes.json'}; wait for it" in result.stderr


def test_a_run_waits_for_a_busy_device(declare: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    declare(sizes=(32,), blocks=(16,))
    lock = Lock("device-timed:0")
    assert lock.try_to_take() is None
    lock._holder.write_text("4711 pytest bench")
    monkeypatch.setattr("mmcore_engines.file_locks.time", SimpleNamespace(sleep=lambda seconds: lock.release()))
    result = run(tmp_path)
    assert result.exit_code == 0
    said = "timed:0 (Test GPU) is being measured by process 4711 (pytest bench); waiting until it is free\n[1/1]"
    assert said in result.stderr


def test_a_third_partys_preset_is_listed_and_run(tmp_path: Path) -> None:
    install(tmp_path, "acme-experiments", "acme", section_of(__file__, "plugin"))
    listing = json.loads(mmcore("experiment", "--list", "--json", site=tmp_path).stdout)
    listed = {each["name"]: each for each in listing}
    assert (listed["acme-wide"]["plugin"], listed["acme-wide"]["distribution"]) == ("acme", "acme-experiments")
    assert listed["acme-wide"]["quick"]["sizes"] == [[8, 64, 8]]
    assert set(NAMES) <= set(listed)
    table = mmcore("experiment", "--list").stdout.splitlines()[1:]
    assert [line.split()[0] for line in table] == NAMES
    command = ("experiment", "acme-wide", "--quick", "--device", "emulator", "--dir", str(tmp_path / "out"))
    done = mmcore(*command, site=tmp_path)
    assert done.exit_code == 0, done.stderr
    document = results(tmp_path / "out", "acme-wide-quick")
    assert {name.split("-b")[0] for name in ids(document)} == {"upc.kernel01-8x64x8"}
    assert {each["kernel"] for each in document["mmcore"]["refused"]} == {"hpsee.simple"}


def test_a_problem_of_a_plugins_presets_is_a_warning(declare: Any) -> None:
    declare(name="upc-sizes")
    result = mmcore("experiment", "upc-sizes")
    assert result.exit_code == 2
    warning, error = (line for line in result.stderr.splitlines() if "upc-sizes" in line)
    assert warning.startswith("warning: preset 'upc-sizes' is brought by ")
    assert error.startswith("Error: preset 'upc-sizes' is brought by ")


@cases(__file__, "unknown_names_are_refused", "changes, reason")
def test_unknown_names_are_refused(changes: dict[str, Any], reason: str, declare: Any, tmp_path: Path) -> None:
    declare(**changes)
    result = run(tmp_path)
    assert result.exit_code == 2
    assert result.stderr.splitlines()[-1].startswith(f"Error: {reason}")

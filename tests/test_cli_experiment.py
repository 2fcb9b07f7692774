"""``mmcore experiment``: what it measures, keeps and leaves out."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from mmcore import Dim3, Launch, DeviceProperties, Problem
from mmcore.locks import Lock
from mmcore.registry import RegisteredSweep, registry
from mmcore_experiments.preset import Sweep
from tests.command_line import install, mmcore, process
from tests.test_sweep import sweep
from tests.timed_emulator import TimedProvider

ROOT = Path(__file__).parent.parent
NAMES = sorted(registry().sweeps)


@pytest.fixture(autouse=True)
def _not_a_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)


@pytest.fixture
def declare(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Registers an experiment of the test's own, and a device that keeps time."""
    monkeypatch.setitem(registry().providers, "timed", TimedProvider())

    def declare(**changes: Any) -> Sweep:
        declared = sweep(**{"sizes": (32, 48), "blocks": (8, 16)} | changes)
        monkeypatch.setitem(registry().sweeps, declared.name, RegisteredSweep(declared, "acme", "acme-kernels"))
        return declared

    return declare


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


@pytest.mark.parametrize("name", NAMES)
def test_the_reduced_form_runs_on_the_emulator_in_under_a_minute_and_counts(name: str, tmp_path: Path) -> None:
    begin = time.monotonic()
    result = run(tmp_path, "--quick", device="emulator", name=name)
    assert time.monotonic() - begin < 60
    assert result.exit_code == 0, result.stderr
    assert "emulated counts" in result.stdout
    document = results(tmp_path, f"{name}-quick")
    assert document["mmcore"]["experiment"] == name
    assert document["mmcore"]["quick"] is True
    assert document["mmcore"]["timed"] is False
    assert {each["extra_info"]["kernel"] for each in document["benchmarks"]} == set(registry().sweep(name).kernels)
    for each in document["benchmarks"]:
        info = each["extra_info"]
        assert info["gflops"] is None
        problem = info["problem"]
        assert info["counts"]["flops"] >= 2 * problem["m"] * problem["n"] * problem["k"]
        assert info["counts"]["global_load_sectors"] >= info["counts"]["global_load_requests"] > 0
        assert info["counts"]["global_store_sectors"] > 0


def test_unsas_blocks_are_measured_or_refused_with_the_reason(tmp_path: Path) -> None:
    assert run(tmp_path, "--quick", device="emulator", name="unsa-blocks").exit_code == 0
    refused = results(tmp_path, "unsa-blocks-quick")["mmcore"]["refused"]
    assert {
        "kernel": "unsa.tiled",
        "problem": {"m": 100, "n": 100, "k": 100},
        "block": [50, 50, 1],
        "reason": "a 50×50 block has 2500 threads; the device allows 1024",
    } in refused
    assert [(each["kernel"], each["block"][0]) for each in refused].count(("unsa.traditional", 35)) == 1


def test_the_results_are_pytest_benchmarks_with_what_was_declared(declare: Any, tmp_path: Path) -> None:
    declare(kernels=("upc.kernel01", "upc.kernel10"), sizes=(32, 44), blocks=(16,), max_time=0.1, min_rounds=7)
    result = run(tmp_path)
    assert result.exit_code == 0, result.stderr
    document = results(tmp_path)
    assert ids(document) == [
        "upc.kernel01-32x32x32-b16", "upc.kernel01-44x44x44-b16", "upc.kernel10-32x32x32-b16"
    ]  # fmt: skip
    assert document.keys() >= {"machine_info", "commit_info", "benchmarks", "datetime", "version", "mmcore"}
    assert document["machine_info"]["mmcore"]["name"] == "Test GPU"
    for each in document["benchmarks"]:
        assert 0.1 <= each["stats"]["total"] < 0.13  # seconds, in rounds of 10 ms
        assert each["options"]["min_rounds"] == 7
        assert each["extra_info"]["percent_of_best"] == pytest.approx(100)
        assert "counts" not in each["extra_info"]
    section = document["mmcore"]
    assert section["timed"] is True
    assert section["benchmark_options"] == {"max_time": 0.1, "min_rounds": 7}
    assert section["sizes"] == [[32, 32, 32], [44, 44, 44]]
    assert [each["reason"] for each in section["refused"]] == ["m = n = k = 44 is not a multiple of block.x = 16"]
    compared = subprocess.run(
        [sys.executable, "-m", "pytest_benchmark", "compare", str(tmp_path / "acme-sizes.json")],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "test_cell[upc.kernel10-32x32x32-b16]" in compared.stdout


def test_nothing_is_saved_where_comparisons_look(declare: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    declare()
    assert mmcore("experiment", "acme-sizes", "--device", "timed").exit_code == 0
    assert [str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.*")] == [
        "experiments/test-gpu/acme-sizes.json"
    ]


def test_the_folder_that_it_is_started_in_has_no_say(
    declare: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "conftest.py").write_text("raise SystemExit('a conftest of others')")
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --collect-only\n")
    monkeypatch.setenv("PYTEST_ADDOPTS", "--benchmark-disable")
    monkeypatch.chdir(tmp_path)
    declare()
    assert run(tmp_path).exit_code == 0
    assert len(results(tmp_path)["benchmarks"]) == 4


def test_copies_are_measured_both_ways_where_the_device_keeps_time(declare: Any, tmp_path: Path) -> None:
    declare(measures=("kernel-warm", "kernel-cold", "global-pageable", "global-pinned"), sizes=(32,), blocks=(16,))
    assert run(tmp_path).exit_code == 0
    ways = {name.removeprefix("upc.kernel01-32x32x32-b16") for name in ids(results(tmp_path))}
    assert ways == {"", "-cold", "-global-pageable", "-global-pinned"}


def test_an_emulator_leaves_copies_out_and_says_so(declare: Any, tmp_path: Path) -> None:
    declare(measures=("kernel-warm", "global-pinned"), sizes=(32,))
    assert run(tmp_path, device="emulator").exit_code == 0
    document = results(tmp_path)
    assert all(each["extra_info"]["measure"] == "kernel" for each in document["benchmarks"])
    assert document["mmcore"]["left_out"] == ["global-pinned: the device keeps no time of its own"]


def test_what_is_measured_already_is_not_measured_again(declare: Any, tmp_path: Path) -> None:
    declare()
    run(tmp_path)
    first = results(tmp_path)
    result = run(tmp_path, "--json")
    assert json.loads(result.stdout)["measured_before"] == 4
    assert seeds(results(tmp_path)) == seeds(first)
    declare(sizes=(32, 48, 64))
    assert json.loads(run(tmp_path, "--json").stdout) == {
        "experiment": "acme-sizes", "quick": False, "device": "Test GPU", "results": str(tmp_path / "acme-sizes.json"),
        "cells": 6, "measured_before": 4, "left_out": [], "refused": [], "failed": [],
    }  # fmt: skip
    assert seeds(results(tmp_path)).items() >= seeds(first).items()


def test_fresh_measures_everything_and_sets_the_old_results_aside(declare: Any, tmp_path: Path) -> None:
    declare()
    run(tmp_path)
    first = results(tmp_path)
    assert json.loads(run(tmp_path, "--fresh", "--json").stdout)["measured_before"] == 0
    assert not set(seeds(results(tmp_path)).values()) & set(seeds(first).values())
    assert results(tmp_path, "acme-sizes.previous") == first


def test_other_code_is_measured_again(declare: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    registered = registry().kernels["upc.kernel01"]
    source = tmp_path / "kernel01.cu"
    source.write_text(registered.kernel.source_text())

    def change(**changes: Any) -> None:
        changed = dataclasses.replace(registered.kernel, **changes)
        monkeypatch.setitem(registry().kernels, "upc.kernel01", registered._replace(kernel=changed))

    def measured_before() -> int:
        before = json.loads(run(tmp_path, "--json").stdout)["measured_before"]
        assert isinstance(before, int)
        return before

    def wider(problem: Problem, block: Dim3, limits: DeviceProperties) -> Launch:
        launch = registered.kernel.launch(problem, block, limits)
        assert isinstance(launch, Launch)
        return dataclasses.replace(launch, grid=(launch.grid_dim.x + 1, launch.grid_dim.y))

    declare()
    change(source=source)
    assert [measured_before(), measured_before()] == [0, 4]
    source.write_text(source.read_text() + "// and a remark\n")
    assert [measured_before(), measured_before()] == [0, 4]
    change(source=source, launch=wider)
    assert [measured_before(), measured_before()] == [0, 4]
    change(source=source, launch=wider, options=("-DNOTHING",))
    assert [measured_before(), measured_before()] == [0, 4]
    monkeypatch.setattr("mmcore_experiments.identity.nvrtc_version", lambda: (99, 1))
    assert [measured_before(), measured_before()] == [0, 4]


def test_a_cell_that_fails_is_reported_and_tried_again(
    declare: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    registered = registry().kernels["upc.kernel01"]
    source = tmp_path / "wrong.cu"
    source.write_text(registered.kernel.source_text().replace("column < n", "column < n - 1"))
    wrong = dataclasses.replace(registered.kernel, source=source)
    declare(kernels=("upc.kernel01", "upc.kernel10"), sizes=(32,), blocks=(16,))
    with monkeypatch.context() as patch:
        patch.setitem(registry().kernels, "upc.kernel01", registered._replace(kernel=wrong))
        result = run(tmp_path)
    assert result.exit_code == 1
    assert (
        "failed:\n  upc.kernel01 32×32×32 in 16×16 blocks: upc.kernel01 32×32×32 is wrong on timed:0" in result.stdout
    )
    document = results(tmp_path)
    assert ids(document) == ["upc.kernel10-32x32x32-b16"]
    ((failed),) = document["mmcore"]["failed"]
    assert (failed["kernel"], failed["measure"]) == ("upc.kernel01", "kernel-warm")
    assert "0:31: expected" in failed["reason"]
    result = run(tmp_path, "--json")
    assert (result.exit_code, json.loads(result.stdout)["measured_before"]) == (0, 1)
    assert len(ids(results(tmp_path))) == 2


def test_results_of_another_device_are_not_written_over(
    declare: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    declare()
    run(tmp_path)
    monkeypatch.setitem(registry().providers, "timed", TimedProvider("Another GPU"))
    before = results(tmp_path)
    result = run(tmp_path)
    assert result.exit_code == 2
    assert "holds the results of another device: they were measured on Test GPU, and this run is on Another GPU" in (
        result.stderr
    )
    assert results(tmp_path) == before


@pytest.mark.parametrize("damaged", ["", "[]", "{}", '{"mmcore": 1}', "[" * 100_000])
def test_results_that_are_none_are_a_clear_refusal(declare: Any, damaged: str, tmp_path: Path) -> None:
    declare()
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
    assert json.loads(run(tmp_path, "--json").stdout)["measured_before"] == 1
    assert not journal.exists()


def begun(folder: Path, *more: str, **environment: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "mmcore", "experiment", "upc-remainders", "--quick", "-o", str(folder), *more],
        stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=os.environ | environment,
        # Whoever runs the tests in the background has them ignore it.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip


def read_until(process: subprocess.Popen[str], beginning: str) -> str:
    """The first line of its stderr that begins so."""
    assert process.stderr is not None
    for line in process.stderr:
        if line.startswith(beginning):
            return line
    raise AssertionError(f"it ended with {process.wait()}")


@pytest.mark.parametrize("blow", [signal.SIGKILL, signal.SIGINT])
def test_after_a_run_is_stopped_only_what_is_missing_is_measured(blow: signal.Signals, tmp_path: Path) -> None:
    with begun(tmp_path, "--device", "emulator") as first:
        read_until(first, "[5/40]")
        first.send_signal(blow)
        _, said = first.communicate()
    assert not (tmp_path / "upc-remainders-quick.json").exists()
    if blow == signal.SIGINT:
        assert first.returncode == 130
        assert said.splitlines()[-1].startswith("interrupted: ")
        assert said.endswith(" of 40 cells are measured and kept; the same command goes on from there\n")
    journal = (tmp_path / "upc-remainders-quick.unfinished.jsonl").read_text()
    kept = [json.loads(line) for line in journal.split("\n") if line]
    assert 5 <= len(kept) < 40
    second = run(tmp_path, "--quick", "--json", device="emulator", name="upc-remainders")
    assert json.loads(second.stdout)["measured_before"] == len(kept)
    assert f"[{len(kept) + 1}/40]" in second.stderr
    assert f"[{len(kept)}/40]" not in second.stderr
    document = results(tmp_path, "upc-remainders-quick")
    assert len(document["benchmarks"]) == 40
    assert seeds(document).items() >= seeds({"benchmarks": kept}).items()


def test_one_run_at_a_time_writes_an_experiments_results(tmp_path: Path) -> None:
    with begun(tmp_path, "--device", "emulator") as first:
        read_until(first, "[1/40]")
        second = process(
            *("experiment", "upc-remainders", "--quick", "-o", str(tmp_path), "--device", "emulator"),
            MMCORE_LOCK_HOLDERS="",
        )
        first.kill()
    assert second.returncode == 2
    assert f"process {first.pid} (" in second.stderr
    assert "is writing" in second.stderr


@pytest.fixture
def timed_site(tmp_path: Path) -> str:
    """PYTHONPATH for a process that has the timed emulator."""
    install(tmp_path, "timed-device", "timed", "from tests.timed_emulator import mmcore_devices\n")
    return os.pathsep.join([str(tmp_path), str(ROOT)])


def test_an_experiment_waits_while_another_run_measures_on_the_device(timed_site: str, tmp_path: Path) -> None:
    lock = Lock("device-timed:0")
    assert lock.try_to_take() is None
    with begun(tmp_path, "--device", "timed", PYTHONPATH=timed_site, MMCORE_LOCK_HOLDERS="") as waiting:
        said = read_until(waiting, "mmcore: ")
        assert said.startswith(f"mmcore: timed:0 (Test GPU) is being measured by process {os.getpid()} (")
        assert said.endswith("); waiting until it is free\n")
        assert not (tmp_path / "upc-remainders-quick.unfinished.jsonl").exists()
        lock.release()
        waiting.communicate()
    assert waiting.returncode == 0
    assert len(results(tmp_path, "upc-remainders-quick")["benchmarks"]) == 40


BENCH = [sys.executable, "-m", "pytest", str(ROOT / "bench" / "test_kernels.py"), "-p", "no:cacheprovider",
         "--mm-device", "timed", "--mm-kernel", "upc.kernel01", "--mm-size", "32", "--mm-block", "16"]  # fmt: skip


def test_pytest_waits_likewise_and_what_it_starts_itself_does_not(timed_site: str, tmp_path: Path) -> None:
    lock = Lock("device-timed:0")
    assert lock.try_to_take() is None
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    environment["PYTHONPATH"] = timed_site
    nested = subprocess.run(
        BENCH, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=60
    )
    assert nested.returncode == 0, nested.stdout
    assert "waiting until it is free" not in nested.stdout
    stranger = environment | {"MMCORE_LOCK_HOLDERS": ""}
    with subprocess.Popen(BENCH, cwd=tmp_path, env=stranger, stdout=subprocess.PIPE, text=True) as waiting:
        assert waiting.stdout is not None
        while "is being measured by" not in (said := waiting.stdout.readline()):
            assert said
        assert said.endswith("waiting until it is free\n")
        lock.release()
        assert "1 passed" in waiting.communicate()[0]


def test_workers_of_xdist_which_measure_nothing_wait_for_nobody(timed_site: str, tmp_path: Path) -> None:
    pytest.importorskip("xdist")
    lock = Lock("device-timed:0")
    assert lock.try_to_take() is None
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    environment |= {"PYTHONPATH": timed_site, "MMCORE_LOCK_HOLDERS": ""}
    command = [*BENCH, "-n", "2", "-W", "default"]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=60
    )
    lock.release()
    assert "1 passed" in done.stdout


def test_a_third_partys_experiment_is_listed_and_run(tmp_path: Path) -> None:
    install(tmp_path, "acme-experiments", "acme", """
from mmcore import Sweep, hookimpl

@hookimpl
def mmcore_experiments():
    return [Sweep(name="acme-wide", title="wide products", lecture="Acme's own", shows="that any shape will do",
                  kernels=("upc.kernel01", "hpsee.simple"), sizes=((8, 512, 8),), quick_sizes=((8, 64, 8),))]
""")  # fmt: skip
    listing = json.loads(process("experiment", "--list", "--json", PYTHONPATH=str(tmp_path)).stdout)
    listed = {each["name"]: each for each in listing}
    assert (listed["acme-wide"]["plugin"], listed["acme-wide"]["distribution"]) == ("acme", "acme-experiments")
    assert listed["acme-wide"]["quick"]["sizes"] == [[8, 64, 8]]
    assert set(NAMES) <= set(listed)
    done = process(
        *("experiment", "acme-wide", "--quick", "--device", "emulator", "--dir", str(tmp_path / "out")),
        PYTHONPATH=str(tmp_path),
    )
    assert done.returncode == 0, done.stderr
    document = results(tmp_path / "out", "acme-wide-quick")
    assert {name.split("-b")[0] for name in ids(document)} == {"upc.kernel01-8x64x8"}
    assert {each["kernel"] for each in document["mmcore"]["refused"]} == {"hpsee.simple"}


def test_the_list_names_every_experiment() -> None:
    result = mmcore("experiment", "--list")
    assert [line.split()[0] for line in result.stdout.splitlines()[1:]] == NAMES


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("upc-size",), "there is no experiment 'upc-size'; did you mean upc-sizes"),
        (("anything",), "there is no experiment 'anything'; mmcore experiment --list shows what there is"),
        ((), "name an experiment; mmcore experiment --list shows what there is"),
        (("upc-sizes", "--list"), "--list goes alone, or with --json"),
        (("upc-sizes", "--device", "gpu"), "there is no device 'gpu'; there are auto, cuda"),
        (("upc-sizes", "--quick", "--device", "emulator", "--dir", "/dev/null/x"), "/dev/null/x cannot be written"),
    ],
)
def test_what_cannot_be_done_is_one_sentence(arguments: tuple[str, ...], reason: str) -> None:
    result = mmcore("experiment", *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.splitlines()[-1].startswith(f"Error: {reason}")


def test_a_kernel_that_is_not_there_is_named(declare: Any, tmp_path: Path) -> None:
    declare(kernels=("upc.kernel12",))
    result = run(tmp_path)
    assert result.exit_code == 2
    assert result.stderr.startswith("Error: there is no kernel 'upc.kernel12'; did you mean upc.kernel1")

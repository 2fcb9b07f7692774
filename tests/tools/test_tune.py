"""``mmcore tune``: the config that it finds, configs that it never launches, and its storage."""

from __future__ import annotations

import itertools
import json
import statistics
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import mmcore
from mmcore.cell import Cell
from mmcore.errors import DeviceLost
from mmcore.executor import IN_PROCESS
from mmcore.kernel.properties import DeviceProperties
from mmcore.measure import Phases
from mmcore.planning.plan import usual_config
from mmcore_cuda.tuned_configs.files import PROPERTIES, Tuned, file_of, read
from mmcore_emulator.adapter.device import Emulator
from mmcore_engines.processes import LocalWorker
from tests import landscape
from tests.command_line import installed
from tests.command_line import mmcore as command
from tests.core.test_result import RESULT
from tests.tables import cases
from tests.timed_emulator import TimedEmulator

optuna = pytest.importorskip("optuna", reason="the extra 'tune' is not installed")
from mmcore_tools.tune.finals import FINAL, TURNS, turns  # noqa: E402
from mmcore_tools.tune.search import Search  # noqa: E402
from mmcore_tools.tune.space import SearchSpace  # noqa: E402
from mmcore_tools.tune.tuning import Tuning, run_final, write  # noqa: E402

FORBIDDEN = 4  # by a constraint
CONFIGS = 11 * 5 * 4 - FORBIDDEN  # P = 3 is not in the space


@pytest.fixture(scope="module", autouse=True)
def _landscape(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    site = tmp_path_factory.mktemp("site")
    landscape.install_both(site)
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv(IN_PROCESS)
        patch.syspath_prepend(Path(__file__).parents[2])
        with installed(site):
            yield


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MMCORE_TUNING_DIR", str(tmp_path / "own"))


TUNE = ("tune", "acme.valley", "--device", "landscape", "--seed", "1")


def tune(*options: str) -> Any:
    return command(*TUNE, "--size", "16", *options)


def document(*options: str) -> dict[str, Any]:
    result = tune("--json", *options)
    assert result.exit_code == 0, result.stderr
    (found,) = json.loads(result.stdout)
    return dict(found)


def within(found: dict[str, Any]) -> float:
    """Return the time of the config that was found, relative to the fastest right one."""
    return landscape.seconds(found["config"]) / landscape.seconds(landscape.least())


def is_wrong(id: str) -> bool:
    return f"P{landscape.WRONG}-" in id


def test_the_fastest_right_config_is_found_with_a_third_of_the_trials_and_taken_from_then_on() -> None:
    found = document()
    assert within(found) <= 1.02
    assert (found["configs"], found["refused"]) == (CONFIGS, FORBIDDEN)
    assert len(found["trials"]) <= CONFIGS / 3 + 1
    assert not any("P5-Q16" in id for id in found["trials"])
    assert [seconds is None for seconds in found["trials"].values()] == list(map(is_wrong, found["trials"]))
    assert all(is_wrong(id) and "elements compared are wrong" in why for id, why in found["wrong"].items())

    kernel = mmcore.kernels()["acme.valley"]
    config, origin = usual_config(kernel, kernel.problem(16, 16, 16), DeviceProperties(card="Test GPU"))
    assert config.to_json() == found["config"]
    assert origin == "tuned for 16×16×16 on Test GPU (your own)"
    written = json.loads(Path(found["file"]).read_text())
    values = json.loads(json.dumps(asdict(DeviceProperties())))
    assert written["properties"] == {name: values[name] for name in PROPERTIES}
    (entry,) = written["tuned"]
    assert entry["provenance"] | {"configs": CONFIGS, "tried": len(found["trials"])} == entry["provenance"]
    assert entry["provenance"]["kernel"].startswith("valley 1.0 sha256:")
    ran = command("run", "acme.valley", "--size", "16", "--device", "landscape").stdout
    assert "tuned for 16×16×16 on Test GPU (your own)" in ran


def test_the_same_command_continues_and_another_storage_begins_anew(tmp_path: Path) -> None:
    first = document("--trials", "30")
    again = document("--trials", "34")
    assert (len(first["trials"]), again["before"], len(again["trials"])) == (30, 30, 34)
    assert again["wrong"].items() >= first["wrong"].items() != set(), "wrong configs are named again"
    assert document("--trials", "1", "--storage", str(tmp_path / "another.log"))["before"] == 0


def test_a_kernel_without_a_right_config_does_not_stop_the_others() -> None:
    result = command(*TUNE, "--size", "16", "--size", "24", "--trials", "3", "--timeout", "0.001", "--json")
    assert (result.exit_code, json.loads(result.stdout)) == (2, [])
    assert result.stderr.count("no config is right: timeout") == 2


@pytest.mark.slow
def test_everything_is_tried_once_if_asked_for() -> None:
    found = document("--all")
    assert len(found["trials"]) == CONFIGS
    assert within(found) == 1.0
    assert len(found["wrong"]) == 20


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_whatever_the_seed_a_third_of_the_trials_is_enough(seed: int) -> None:
    assert within(document("--seed", str(seed))) <= 1.02


def search_of(kept: Any, seed: int = 1, *, seconds: tuple[float, ...] = ()) -> Search:
    """Return a search in a storage, with trials that took the given seconds."""
    search = Search("s", space(), kept, seed)
    for each in seconds:
        trial, _ = search.ask() or pytest.fail("there are configs")
        search.tell(trial, each)
    return search


def tuning_of(search: Any) -> Tuning:
    kernel = mmcore.kernels()["acme.valley"]
    return Tuning(kernel, kernel.problem(16, 16, 16), search, 2)


def answered(answer: Any) -> Future[Any]:
    future: Future[Any] = Future()
    if isinstance(answer, Exception):
        future.set_exception(answer)
    else:
        future.set_result(answer)
    return future


def space() -> SearchSpace:
    kernel = mmcore.kernels()["acme.valley"]
    return SearchSpace(kernel, kernel.problem(16, 16, 16), Emulator().properties)


def test_a_config_that_was_right_before_is_wrong_from_then_on() -> None:
    kept = optuna.storages.InMemoryStorage()
    search = search_of(kept, seconds=(1.0, 2.0))
    fastest, next_one = search.best
    search.withdraw(fastest, "it is wrong", late=False)
    for found in (search, search_of(kept)):
        assert (found.best, found.wrong) == ([next_one], {fastest: "it is wrong"})


def test_a_final_that_fails_is_decided_by_the_trials_and_a_wrong_winner_makes_room_for_the_next() -> None:
    search = search_of(optuna.storages.InMemoryStorage(), seconds=(1.0, 1.01))
    wrong = SimpleNamespace(verified=False, failures=lambda: ["it is wrong"], timed_out=False)
    right = SimpleNamespace(verified=True, kernel_seconds=1.01)
    answers = iter([DeviceLost("it died"), wrong, DeviceLost("it died"), right])
    several: Any = SimpleNamespace(add=lambda *asked: answered(next(answers)))
    fastest, next_one = search.best
    tuning = tuning_of(search)
    run_final(tuning, several, 5.0)
    assert (tuning.winner, search.wrong) == (next_one, {fastest: "it is wrong"})


def test_a_config_to_replace_is_tried_after_all_trials(tmp_path: Path) -> None:
    one, another = (("--storage", str(tmp_path / f"{name}.log")) for name in "ab")
    document("--trials", "2", *one)
    best = document(*another)
    again = document("--trials", "2", *one)
    assert (len(again["trials"]), again["config"]) == (3, best["config"])
    anew = document("--trials", "1", "--storage", str(tmp_path / "c.log"))
    assert (anew["before"], anew["config"]) == (0, best["config"])


def test_an_interrupted_trial_is_not_measured() -> None:
    kept = optuna.storages.InMemoryStorage()
    for _ in range(3):  # each continues from the trials that the one before has left
        search = search_of(kept)
        assert (search.seconds, search.before) == ({}, 0)
        assert search.ask() is not None


def test_two_searches_at_once_do_not_stop_each_other() -> None:
    kept = optuna.storages.InMemoryStorage()
    first = search_of(kept)
    trial, id = first.ask() or pytest.fail("there are configs")
    second = search_of(kept, 2)  # treats that trial as an interrupted one
    first.tell(trial, 1.0)
    assert first.seconds == {id: 1.0}
    assert second.ask() is not None


def test_a_search_continues_after_its_process_was_killed_while_writing(tmp_path: Path) -> None:
    log = tmp_path / "studies.log"
    tune("--trials", "5", "--storage", str(log))
    log.write_bytes(log.read_bytes()[:-40])
    for before in (4, 7):  # the trial with a truncated end is repeated
        found = document("--trials", "7", "--storage", str(log))
        assert (found["before"], len(found["trials"])) == (before, 7)
    log.write_text("{\n" + log.read_text())
    assert f"the storage {log} cannot be opened" in tune("--storage", str(log)).stderr


def test_a_lock_does_not_outlive_its_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    backend = "mmcore_tools.tune.search.storage('studies.log', pathlib.Path())._backend"
    code = f"import mmcore_tools.tune.search, os, pathlib; {backend}._lock.acquire(); os.kill(os.getpid(), 9)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == -9
    assert document("--trials", "3", "--storage", "studies.log")["trials"]


def test_files_that_cannot_be_written_are_reported_before_the_search(tmp_path: Path) -> None:
    (tmp_path / "test-gpu.json").write_text("{")
    for options, said in (
        (f"-o {tmp_path}", "test-gpu.json cannot be read"),
        (f"-o {tmp_path}/test-gpu.json --storage {tmp_path}/s.log", "test-gpu.json cannot be written"),
    ):
        result = tune(*options.split())
        assert result.exit_code == 2
        assert said in result.stderr.replace("\n", " ")
    assert not (tmp_path / "own" / "test-gpu.json").exists()


def test_a_time_limit_that_was_too_short_is_forgotten() -> None:
    assert "no config is right: timeout" in tune("--trials", "5", "--timeout", "0.001").stderr
    assert len(document("--trials", "5")["trials"]) == 5


def test_a_card_that_is_lost_is_no_fault_of_the_configs(monkeypatch: pytest.MonkeyPatch) -> None:
    submit, requests = LocalWorker.submit, itertools.count(1)

    def lost(worker: LocalWorker, request: bytes) -> Future[bytes]:
        return submit(worker, request) if next(requests) != 8 else answered(ConnectionError("the host is gone"))

    with monkeypatch.context() as patch:
        patch.setattr(LocalWorker, "submit", lost)
        assert "the host is gone" in tune("--trials", "72").stderr
    found = document("--trials", "72")
    assert 0 < found["before"] < 8
    assert [seconds is None for seconds in found["trials"].values()] == list(map(is_wrong, found["trials"]))


def test_edited_code_is_tuned_anew() -> None:
    source = mmcore.kernels()["acme.valley"].source
    assert source is not None
    text = source.read_text()
    document("--trials", "3")
    try:
        source.write_text(text + "// edited\n")
        assert document("--trials", "3")["before"] == 0
    finally:
        source.write_text(text)


def test_the_final_decides() -> None:
    first, second, third = itertools.islice(space().configs, 3)
    search: Any = SimpleNamespace(space=space(), best=[first, second, third])
    search.seconds = {first: 1.0, second: 1.04, third: 1.06}  # the third is too slow for the final
    rounds = [{"time": {"rounds": each}} for each in ([1.0, 1.1, 1.2], [1.0, 1.05, 9.0])]

    def add(cell: Any, group: str, target: str = "", further: Any = ()) -> Future[Any]:
        return answered(rounds if target == TURNS else RESULT)

    several: Any = SimpleNamespace(add=add)
    tuning = tuning_of(search)
    run_final(tuning, several, 1.0)
    assert (tuning.winner, tuning.times) == (second, {second: 1.05, first: 1.1})


def test_finalists_take_turns() -> None:
    readings = itertools.count(100)
    drifting = TimedEmulator(lambda source: 1e-5 * next(readings), flops=1e15)
    cell = Cell("upc.kernel01", 16, 16, 16, config={"block": [8, 8, 1]}, timings=(FINAL,))
    found = turns(drifting, Phases(), cell.to_json(), [{"block": [16, 16, 1]}])
    first, second = (statistics.median(each["time"]["rounds"]) for each in found)
    assert first == pytest.approx(second, rel=0.03)


def test_a_tuned_config_replaces_only_that_of_its_product(tmp_path: Path) -> None:
    for m, n, k in ((8, 8, 8), (16, 8, 8), (8, 16, 8), (8, 8, 16), (8, 8, 16)):
        path = write(Tuned("acme.valley", {}, m, n, k, 1.0, "Test GPU"), tmp_path)
    assert [(each.m, each.n, each.k) for each in read(path, "")] == [(8, 8, 8), (8, 8, 16), (8, 16, 8), (16, 8, 8)]


def test_the_config_of_another_product_is_tried_first_and_each_search_has_its_budget() -> None:
    best = document("--trials", "30")
    (found,) = json.loads(command(*TUNE, "--size", "24", "--trials", "2", "--json").stdout)
    assert found["config"] == best["config"]
    result = command(*TUNE, "--size", "16", "--size", "24", "--budget", "1s", "--json")
    assert result.exit_code == 0, result.stderr
    assert all(each["trials"] for each in json.loads(result.stdout))


def test_a_time_budget_ends_a_search_and_what_was_found_is_kept() -> None:
    found = document("--budget", "0.5s")
    assert 1 <= len(found["trials"]) < CONFIGS / 3
    assert Path(found["file"]).exists()


def test_the_report_names_the_gain() -> None:
    tune("--trials", "12")
    shown = tune("--trials", "12").stdout
    assert "times as fast as the default, b8-P0-Q1-R0" in shown
    assert "12 of 216 configs, 12 of them before" in shown
    assert "4 configs, which constraints or limits forbid" in shown


def test_several_sizes_are_one_file_with_an_entry_each(tmp_path: Path) -> None:
    folder = tmp_path / "shipped"
    result = tune("--size", "8x16x24", "--trials", "3", "-o", str(folder))
    assert result.exit_code == 0, result.stderr
    tune("--trials", "3", "-o", str(folder))
    tuned = json.loads(file_of("Test GPU", folder).read_text())["tuned"]
    assert [(each["m"], each["n"], each["k"]) for each in tuned] == [(8, 16, 24), (16, 16, 16)]
    assert all(Tuned(**each).seconds > 0 for each in tuned)


@cases(__file__, "what_cannot_be_tuned_is_told_in_a_sentence", "arguments, said")
def test_what_cannot_be_tuned_is_told_in_a_sentence(arguments: tuple[str, ...], said: str) -> None:
    result = command(*arguments)
    assert result.exit_code == 2
    assert said in result.stderr


@pytest.mark.parametrize(
    ("device", "said"),
    [
        ("landscape", "tuning needs Optuna: python -m pip install 'mmcore-cuda[tune]'"),
        (
            "emulator",
            "emulator supports no timing, so no config is faster than another there; tuning needs a GPU, while "
            "mmcore compare acme.valley --config … --config … predicts times without one",
        ),
        ("cuda:77", "cuda:77"),
    ],
)
def test_without_optuna_the_message_names_the_extra_after_a_missing_device(
    device: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    modules = sys.modules
    monkeypatch.setitem(modules, "optuna", None)
    tools = [name for name in modules if name.startswith("mmcore_tools.tune.")]
    for name in set(tools) - {"mmcore_tools.tune.command"}:
        monkeypatch.delitem(modules, name)
    result = command("tune", "acme.valley", "--size", "16", "--device", device)
    assert result.exit_code == 2
    assert said in result.stderr
    assert ("Optuna" in result.stderr) == (device == "landscape")


def test_without_a_gpu_the_command_to_compare_names_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    loop = "float s = 0; for (int i = 0; i < n; i++) s += a[y * n + i] * b[i * n + x];"
    place = "int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;"
    head = "__global__ void mul(const float *a, const float *b, float *c, int n)"
    (tmp_path / "my.cu").write_text(f"{head}\n{{ {place} if (x < n && y < n) {{ {loop} c[y * n + x] = s; }} }}\n")
    result = command("tune", "my.cu", "--size", "16", "--device", "emulator")
    assert (result.exit_code, "mmcore compare my.cu --config" in result.stderr) == (2, True)


def test_the_default_size_of_an_emulator_is_in_the_help() -> None:
    assert "640 (128 on an emulator)" in command("run", "--help").stdout


def test_bench_takes_what_was_tuned(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)
    pytester.makepyfile("def test_kernel(mm_benchmark):\n    mm_benchmark()\n")
    options = ("--mm-kernel", "acme.valley", "--mm-size", "16", "--mm-device", "landscape")
    assert "[acme.valley-16x16x16-b8-P0-Q1-R0]" in pytester.runpytest_inprocess(*options, "-v").stdout.str()
    best = document("--trials", "9")["config"]
    tuned = pytester.runpytest_inprocess(*options, "-v").stdout.str()
    assert "mmcore: 1 of the configs are tuned; --mm-config selects others" in tuned
    assert f"[acme.valley-16x16x16-b8-P{best['P']}-Q{best['Q']}-R{best['R']}]" in tuned
    *_, last = sorted(pytester.path.glob(".benchmarks/*/*.json"))
    (saved,) = json.loads(last.read_text())["benchmarks"]
    assert saved["extra_info"]["config_origin"] == "tuned for 16×16×16 on Test GPU (your own)"
    named = pytester.runpytest_inprocess(*options, "-v", "--mm-config", "P=1").stdout.str()
    assert "tuned ones" not in named
    assert "[acme.valley-16x16x16-b8-P1-Q1-R0]" in named

"""``mmcore bench-history``: the verdict "slower", its explanations, and damaged files."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from hypothesis import given, settings
from hypothesis import strategies as st

from mmcore.executor import worker
from mmcore.plugin_table import Origin, Registered
from mmcore.registry import registry
from tests.command_line import mmcore
from tests.made_up_results import DEVICE, EMULATOR, MACHINE, benchmark, document, emulated
from tests.strategies import JSON, put_anywhere
from tests.tables import cases
from tests.timed_emulator import TimedEmulator, TimedProvider

KERNEL, OTHER = "upc.kernel11", "upc.kernel01"
STEADY = (1.0, 1.001, 0.999, 1.0, 1.002)
PAGE = (Path(__file__).parents[2] / "docs" / "history.md").read_text(encoding="utf-8")


def timed(ms: float, kernel: str = KERNEL, n: int = 1024, b: int = 32, **changes: Any) -> dict[str, Any]:
    """Return a verified result with a time in ms."""
    made = benchmark(kernel, n, b)
    made["extra_info"] |= {"verified": True, "median_ms": ms, **changes}
    return made


def saved(
    folder: Path,
    day: int,
    *benchmarks: Mapping[str, Any],
    host: str = "",
    machine: Mapping[str, Any] = MACHINE,
    **more: Any,
) -> Path:
    """Save a run of a day in February as pytest-benchmark does, below the folder or a host's."""
    commit = {"id": f"{day:02}c0ffee" * 5, "dirty": False}
    content = document(benchmarks, machine=machine)
    content |= {"datetime": f"2001-02-{day:02}T03:00:00+00:00", "commit_info": commit, **more}
    path = folder / host / "Linux-CPython-3.12-64bit" / f"{day:04}_run.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def side_by_side(folder: Path, **hosts: float) -> Path:
    """Save a run of each host on five days, with its time in ms; return the folder."""
    for day in range(1, 6):
        for host, ms in hosts.items():
            saved(folder, day, timed(ms), host=host, machine_info={"mmcore": MACHINE, "node": "container"})
    return folder


def runs(folder: Path, *times: float, **more: Any) -> Path:
    """Save a run for each time (in ms), one per day, and return the folder."""
    for day, ms in enumerate(times, 1):
        saved(folder, day, timed(ms), **more)
    return folder


def shown(folder: Path, *options: str) -> Result:
    return mmcore("bench-history", str(folder), *options)


def history(folder: Path, *options: str, exit_code: int = 0) -> dict[str, Any]:
    result = shown(folder, "--json", *options)
    assert result.exit_code == exit_code, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def series(folder: Path, *options: str, exit_code: int = 0) -> dict[str, Any]:
    (found,) = history(folder, *options, exit_code=exit_code)["series"]
    assert isinstance(found, dict)
    return found


@pytest.fixture
def odd() -> dict[str, Any]:
    """Return a result of the other kernel at a size that is not square."""
    return timed(1.0, kernel=OTHER, problem={"m": 64, "n": 65, "k": 66})


def test_a_slower_kernel_is_reported_since_its_first_slow_run(tmp_path: Path) -> None:
    found = series(runs(tmp_path, *STEADY, 1.1, 1.11), exit_code=1)
    assert (found["state"], found["runs"], found["reference_ms"]) == ("slower", 7, 1.001)
    assert found["change_percent"] == pytest.approx(100 * (1.11 / 1.001 - 1))
    assert found["since"] == {"date": "2001-02-06T03:00:00+00:00", "host": "", "commit": "06c0ffee"}
    assert found["newest"]["commit"] == "07c0ffee"
    found = series(runs(tmp_path / "faster before", *STEADY, 0.8, 1.2), exit_code=1)
    assert (found["state"], found["since"]["date"][:10]) == ("slower", "2001-02-07")


def test_a_new_series_is_named_with_the_runs_it_needs(tmp_path: Path) -> None:
    runs(tmp_path, 1.0, 1.0, 1.0)
    assert "new: fewer than 3 runs before the newest one" in shown(tmp_path).stdout
    assert "fewer than" not in shown(tmp_path, "--window", "1").stdout


@cases(__file__, "states", "times, state, why")
def test_slower_exceeds_limit_and_noise(times: tuple[float, ...], state: str, why: str, tmp_path: Path) -> None:
    assert series(runs(tmp_path, *times), exit_code=int(state == "slower"))["state"] == state, why


def test_limit_and_window_are_options(tmp_path: Path) -> None:
    runs(tmp_path, 0.8, 0.8, 0.8, 1.0, 1.0, 1.04)
    assert series(tmp_path, exit_code=1)["reference_ms"] == 0.8
    assert series(tmp_path, "--window", "2", exit_code=1)["reference_ms"] == 1.0
    assert series(tmp_path, "--window", "2", "--fail", "5%")["state"] == "unchanged"
    assert series(runs(tmp_path / "two", 1.0, 1.04), "--window", "1", exit_code=1)["state"] == "slower"


def test_runs_are_sorted_by_date_and_a_copy_counts_once(tmp_path: Path) -> None:
    runs(tmp_path, *STEADY)
    (tmp_path / "0000_copied.json").write_bytes(saved(tmp_path, 6, timed(1.5)).read_bytes())
    saved(tmp_path, 7, timed(1.0)).rename(tmp_path / "0000_newest.json")
    found = series(tmp_path)
    assert (found["runs"], found["newest"]["median_ms"]) == (7, 1.0)
    saved(tmp_path / "zones", 1, timed(1.0), datetime="2001-02-02T23:00:00-05:00")
    saved(tmp_path / "zones", 2, timed(2.0), datetime="2001-02-03T02:00:00+00:00")
    newest = series(tmp_path / "zones")["newest"]
    assert (newest["date"], newest["median_ms"]) == ("2001-02-03T04:00:00+00:00", 1.0)


def test_each_card_config_problem_and_way_of_measuring_is_a_series(tmp_path: Path) -> None:
    for day in (1, 2, 3, 4):
        many = [timed(ms=3.0, n=512), timed(ms=2.0, b=16), timed(ms=4.0, caches="cold"), timed(ms=9.0, kernel=OTHER)]
        saved(tmp_path, day, timed(1.0), *many, host="a")
        saved(tmp_path, day, timed(1.5), host="b", machine={**MACHINE, "name": "Another GPU"})
        saved(tmp_path, day, timed(2.5), host="c", machine={**MACHINE, "multiprocessors": 50})
    found = history(tmp_path)
    assert (len(found["series"]), found["unchanged"], found["hosts"]) == (7, 7, [])
    assert {each["runs"] for each in found["series"]} == {4}


def test_other_differences_from_the_reference_are_reported(tmp_path: Path) -> None:
    runs(tmp_path, *STEADY, machine={**MACHINE, "mmcore": "0.2.0", "plugins": {"mmcore-cuda": "0.2.0", "own": "1"}})
    now = {**MACHINE, "mmcore": "0.3.0", "driver": "590.1", "plugins": {"mmcore-cuda": "0.3.0", "own": "2"}}
    saved(tmp_path, 6, timed(1.2), timed(1.2, kernel=OTHER), machine=now)
    result = shown(tmp_path)
    assert result.exit_code == 1
    assert "[1] driver 580.1234.5678 → 590.1, mmcore 0.2.0 → 0.3.0, own 1 → 2\n" in result.stdout
    assert re.search(r"^upc\.kernel11 .* 06c0ffee  \[1\]$", result.stdout, re.MULTILINE)
    for day, driver in enumerate(("590.1", "580.1", "580.1", "590.1"), 1):
        saved(tmp_path / "two", day, timed(1.5 if day == 4 else 1.0), machine={**MACHINE, "driver": driver})
    assert series(tmp_path / "two", exit_code=1)["differences"] == [], "a run of the reference had the same driver"


def test_another_clock_and_a_throttled_clock_are_reported(tmp_path: Path) -> None:
    for day in (1, 2, 3):
        saved(tmp_path, day, timed(1.0, conditions={"clock_mhz": 1980.0, "throttled": False}))
    saved(tmp_path, 4, timed(1.3, conditions={"clock_mhz": 1500.0, "throttled": True}))
    assert series(tmp_path, exit_code=1)["differences"] == [
        {"what": "clock while timed, MHz", "before": "1980", "now": "1500"},
        {"what": "clock", "before": "free", "now": "held back by heat or power supply"},
    ]


def test_a_host_that_is_always_slow_is_named_and_is_no_regression(tmp_path: Path) -> None:
    result = shown(side_by_side(tmp_path, a=1.0, b=1.002, c=1.08))
    assert result.exit_code == 0
    assert "\nhost c is 7.8 % slower than the median of 3 hosts, 2001-02-01 to 2001-02-05\n" in result.stdout
    assert result.stdout.count("host ") == 1
    assert history(side_by_side(tmp_path / "two", a=1.0, b=1.03))["hosts"] == [], "3 % are no change"


def test_only_hosts_of_the_same_days_are_compared(tmp_path: Path) -> None:
    runs(tmp_path, *STEADY, host="a")
    saved(tmp_path, 1, timed(1.5), machine_info={"mmcore": MACHINE, "node": "b"})
    saved(tmp_path, 20, timed(1.005), host="c")
    assert [(each["host"], each["hosts"]) for each in history(tmp_path)["hosts"]] == [("b", 2)]


def test_a_host_is_known_by_its_folder(tmp_path: Path) -> None:
    found = series(side_by_side(tmp_path, a=1.0, b=1.5))
    assert (found["runs"], [each["newest"]["host"] for each in found["hosts"]]) == (10, ["a", "b"])


def test_a_new_host_is_compared_with_the_others(tmp_path: Path) -> None:
    runs(tmp_path, *STEADY, host="a")
    saved(tmp_path, 6, timed(1.2), host="b")
    assert series(tmp_path, exit_code=1)["differences"] == [{"what": "host", "before": "a", "now": "b"}]


def nightly(folder: Path, slow: Mapping[str, float]) -> Path:
    """Save six days of three hosts, which may take other times on the last day; return the folder."""
    for day in range(1, 7):
        for hour, host in enumerate(("gpu01", "gpu02", "gpu03")):
            ms = slow.get(host, 1.0) if day == 6 else 1.0
            saved(folder, day, timed(ms), host=host, datetime=f"2001-02-{day:02}T{hour:02}:00:00+00:00")
    return folder


def test_every_hosts_newest_run_is_judged(tmp_path: Path) -> None:
    found = series(nightly(tmp_path, {"gpu01": 1.5, "gpu02": 1.6}), exit_code=1)
    assert (found["state"], found["newest"]["host"], found["newest"]["median_ms"]) == ("slower", "gpu02", 1.6)
    hosts = [(each["newest"]["host"], each["state"]) for each in found["hosts"]]
    assert hosts == [("gpu02", "slower"), ("gpu01", "slower"), ("gpu03", "unchanged")]


@cases(__file__, "a_row_names_the_hosts", "slow, named")
def test_a_row_names_the_hosts(slow: tuple[str, ...], named: str, tmp_path: Path) -> None:
    nightly(tmp_path, dict.fromkeys(slow, 1.5))
    if "gpu04" in slow:
        runs(tmp_path, *STEADY, 1.5, host="gpu04")
        runs(tmp_path, *STEADY, host="gpu05")
    assert re.search(rf" (b32|on) {named} (1\.5|1 series) ", " ".join(shown(tmp_path).stdout.split()))


def test_a_host_without_runs_for_a_week_no_longer_counts(tmp_path: Path) -> None:
    runs(tmp_path, *STEADY, 1.5, host="gone")
    for day in range(7, 13):
        saved(tmp_path, day, timed(1.0), host="here")
    assert series(tmp_path, exit_code=1)["newest"]["host"] == "gone"
    saved(tmp_path, 13, timed(1.0), host="here")
    assert series(tmp_path)["newest"]["host"] == "here"


def test_a_series_without_runs_for_a_week_is_not_measured_lately(tmp_path: Path) -> None:
    runs(tmp_path, *STEADY, 1.2)
    for day in range(7, 13):
        saved(tmp_path, day, timed(1.0, kernel=OTHER))
    assert history(tmp_path, exit_code=1)["slower"] == 1
    saved(tmp_path, 13, timed(1.0, kernel=OTHER))
    found = history(tmp_path)
    assert (found["slower"], found["unchanged"], found["not measured lately"]) == (0, 1, 1)
    assert series(tmp_path, "--kernel", KERNEL)["state"] == "not measured lately", "the others' runs count all the same"
    result = shown(tmp_path, "--all")
    assert re.search(r"^upc\.kernel11  1024  b32 +6 +1\.2 +2001-02-06  06c0ffee$", result.stdout, re.MULTILINE)
    assert "2 series in 13 files: 1 unchanged, 1 not measured lately\nnot measured lately: no run" in result.stdout


def test_results_without_a_time_or_not_verified_are_left_out_and_counted(tmp_path: Path) -> None:
    runs(tmp_path, 1.0)
    counted = emulated(KERNEL, 64, 16)
    counted["extra_info"]["verified"] = True
    saved(tmp_path, 2, timed(9.0, verified=False), timed(9.0, verified=None))
    saved(tmp_path, 3, counted, machine=EMULATOR)
    assert history(tmp_path, exit_code=1)["left_out"] == {"not verified": 2, "without device times": 1}
    assert "left out: 2 results not verified, 1 result without device times\n" in shown(tmp_path).stdout


def test_a_newest_run_that_is_not_verified_fails(tmp_path: Path) -> None:
    runs(tmp_path, *STEADY, host="a")
    saved(tmp_path, 6, timed(1.0, verified=False, median_ms=None, gflops=None), timed(1.0, n=512), host="a")
    saved(tmp_path, 7, timed(1.0), host="b")
    found = history(tmp_path, exit_code=1)
    (wrong,) = found["not_verified"]
    where = (wrong["kernel"], wrong["problem"]["n"], wrong["host"], wrong["date"][:10])
    assert where == (KERNEL, 1024, "a", "2001-02-06")
    assert found["slower"] == 0
    result = shown(tmp_path)
    assert f"\nnot verified in the newest run: 1\n  {KERNEL} 1024 b32 (a, 2001-02-06)\n" in result.stdout
    assert history(tmp_path, "--size", "512")["not_verified"] == [], "only what was asked for"
    saved(tmp_path / "many", 1, timed(1.0), *(timed(1.0, n=n, verified=False) for n in range(1, 9)))
    result = shown(tmp_path / "many")
    assert (result.exit_code, result.stdout.count(" (2001-02-01)\n  ")) == (1, 5)
    assert "  and 3 more\n" in result.stdout


def test_earlier_and_emulated_failures_do_not_count(tmp_path: Path) -> None:
    since, lately, emulator = (tmp_path / name for name in ("since", "lately", "emulator"))
    for day, verified in ((1, True), (2, False), (3, True)):
        saved(since, day, timed(1.0, verified=verified))
    saved(lately, 1, timed(1.0, verified=False))
    for day in range(3, 10):
        saved(lately, day, timed(1.0, kernel=OTHER))
    saved(runs(emulator, 1.0), 2, emulated(KERNEL, 64, 16), machine=EMULATOR)
    for folder in (since, lately, emulator):
        assert history(folder)["not_verified"] == [], folder


def test_results_of_an_unknown_version_are_left_out(tmp_path: Path) -> None:
    saved(runs(tmp_path, 1.0), 2, *(timed(9.0, schema=schema) for schema in (99, "2", None)))
    assert history(tmp_path)["left_out"] == {"of a version that this mmcore does not read": 3}


def test_other_benchmarks_of_a_session_are_ignored(tmp_path: Path) -> None:
    saved(tmp_path, 1, timed(1.0), {"name": "test_sort", "extra_info": {}, "stats": {"median": 1.0}})
    found = history(tmp_path)
    assert (len(found["series"]), found["problems"]) == (1, [])


@cases(__file__, "damaged_files", "content, said")
def test_a_damaged_file_costs_one_sentence(content: str, said: str, tmp_path: Path) -> None:
    damaged = runs(tmp_path, *STEADY, 1.2) / "0000_damaged.json"
    # An empty file is as damaged as one of other bytes, or of too many brackets.
    for data in (content.encode(), *((b"\xff\xfe", b"[" * 100_000) if not content else ())):
        damaged.write_bytes(data)
        result = shown(tmp_path)
        assert result.exit_code == 1
        assert "1 series in 6 files: 1 slower" in result.stdout
        (line,) = result.stderr.splitlines()
        assert line.startswith(f"warning: {damaged} ")
        assert said in line


def test_a_run_dated_in_the_future_is_left_out(tmp_path: Path) -> None:
    now = datetime.now(UTC)
    runs(tmp_path, *STEADY)
    saved(tmp_path, 6, timed(1.2), datetime=(now + timedelta(hours=23)).isoformat())
    to_come = saved(tmp_path, 7, timed(1.0), datetime="2999-02-03T03:00:00+00:00")
    found = history(tmp_path, exit_code=1)
    assert found["problems"] == [f"{to_come} is left out: its date, 2999-02-03, is in the future"]
    assert found["series"][0]["newest"]["median_ms"] == 1.2, "a clock may be ahead by a time zone"


@cases(__file__, "damaged_benchmarks", "name, value, said")
def test_a_damaged_benchmark_is_left_out(name: str, value: str, said: str, tmp_path: Path) -> None:
    damaged = timed(1.0, kernel=OTHER)
    damaged["extra_info"][name] = json.loads(value)
    path = saved(tmp_path, 1, timed(1.0), damaged)
    found = history(tmp_path)
    assert [each["kernel"] for each in found["series"]] == [KERNEL]
    assert found["problems"] == [f"{path}: damaged benchmarks are left out, 1 in all; benchmark 2: {said}"]


@settings(max_examples=100)
@given(value=JSON, data=st.data())
def test_any_value_is_handled(value: Any, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.getbasetemp() / "fuzzed"
    saved(folder, 1, timed(1.0))
    path = saved(folder, 2, timed(1.0), host="a")
    content = json.loads(path.read_text())
    put_anywhere(data, content, value)
    path.write_text(json.dumps(content))
    result = mmcore("bench-history", str(folder), "--json")
    assert result.exit_code in (0, 1), result.output
    found = json.loads(result.stdout)
    assert found["files"] + len(found["problems"]) >= 2
    assert KERNEL in {each["kernel"] for each in found["series"]}


@cases(__file__, "refused", "options, said")
def test_impossible_requests_are_refused(options: str, said: str, odd: dict[str, Any], tmp_path: Path) -> None:
    saved(tmp_path, 1, timed(1.0), odd)
    result = shown(tmp_path, *options.split())
    assert (result.exit_code, result.stdout) == (2, "")
    assert said in result.stderr.splitlines()[-1]


def test_a_folder_without_times_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = mmcore("bench-history")
    assert result.exit_code == 2
    assert "Error: there is no folder '.benchmarks'" in result.stderr
    saved(tmp_path / "untimed", 1, emulated(KERNEL, 64, 16), machine=EMULATOR)
    result = mmcore("bench-history", "untimed")
    assert result.exit_code == 2
    assert "'untimed' holds no device times of verified products; left out: 1 result not verified" in result.stderr


def test_kernels_sizes_and_cards_can_be_chosen(odd: dict[str, Any], tmp_path: Path) -> None:
    saved(tmp_path, 1, timed(1.0), odd, timed(1.0, n=512))
    assert series(tmp_path, "--size", "64x65x66")["kernel"] == OTHER
    assert series(tmp_path, "--size", "512")["problem"] == {"m": 512, "n": 512, "k": 512}
    assert series(tmp_path, "--kernel", "*01", "--kernel", "acme", "--card", "made*")["kernel"] == OTHER


def lectures(folder: Path) -> Path:
    """Save the history that docs/history.md shows: a driver and a commit that made kernels slower."""
    kernels = ("upc.kernel01", "upc.kernel11", "poznan.v5", "upc.kernel11_naive_guard")
    card = {**MACHINE, "name": "NVIDIA H200", "multiprocessors": 132, "driver": "580.159.4", "mmcore": "0.2.0"}
    for day in range(1, 9):
        new_driver = {**card, "driver": "590.12.1"} if day == 8 else card
        for host, share in (("gpu01", 1.0), ("gpu02", 1.002), ("gpu03", 1.06)):
            results = [
                timed(ms * share * (1 + 0.001 * (day % 3)) * (1.09 if (name, day > 6) == (OTHER, True) else 1.0)
                      * (0.9 if (name, day) == ("poznan.v5", 8) else 1.0), kernel=name, n=n)
                for name, ms in zip(kernels, (0.35, 0.23, 0.14, 0.25), strict=True) for n in (1024, 4096)
            ]  # fmt: skip
            saved(folder, day, *results, host=host, machine=new_driver)
    return folder


def test_the_page_shows_what_the_command_prints(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lectures(tmp_path / "benchmarks")
    monkeypatch.chdir(tmp_path)
    ((command, output),) = re.findall(r"^```console\n\$ mmcore ([^\n]*)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    assert mmcore(*command.split()).stdout == output
    assert max(map(len, output.splitlines())) <= 80


def test_all_lists_unchanged_series(tmp_path: Path) -> None:
    runs(tmp_path, 1.0, 1.0, 1.0)
    saved(tmp_path, 4, timed(1.0), timed(1.0, kernel=OTHER))
    assert KERNEL not in shown(tmp_path).stdout
    listed = shown(tmp_path, "--all").stdout
    assert re.search(r"^upc\.kernel11  1024  b32 +4 +1  \+0\.0 %  0\.0 %$", listed, re.MULTILINE)
    assert re.search(r"^upc\.kernel01  1024  b32 +1 +1$", listed, re.MULTILINE), "a new one"


@pytest.mark.parametrize("options", [(), ("--all",)])
def test_long_names_fit_80_columns(options: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr("mmcore.cli.output.on_terminal", lambda: True)
    config = "b256x1-TILE_M128-TILE_N256-STAGES4"
    for day, ms in enumerate((*STEADY, 1.2), 1):
        commit = {"id": "c0ffee" * 7, "dirty": True}
        result = timed(ms, kernel="ladder.bf16.07_any_nt", config_id=config, n=16384)
        for host in ("gpu-node-0123.cluster", "b"):
            machine = {**MACHINE, "driver": "590.1" if day == 6 else "580.1"}
            saved(tmp_path, day, result, host=host, commit_info=commit, machine=machine)
    lines = re.sub(r"\x1b\[[\d;]*m", "", shown(tmp_path, *options).stdout).splitlines()
    assert max(map(len, lines)) <= 80
    assert re.fullmatch(r"ladder\.bf16\.07_any_nt .*\b1\.2 \+20\.0 % .*2001-02-06 c0ffeec0\+ \[1\]", lines[2])
    first = "".join(line.strip() for line in lines[3:5])
    assert first == f"16384 {config}"
    assert lines[5] == "  on 2 hosts"


def test_the_figure_has_a_panel_for_each_card_and_is_the_same_every_time(tmp_path: Path) -> None:
    runs(tmp_path, *STEADY, host="a")
    runs(tmp_path, *STEADY, 1.2, host="b", machine={**MACHINE, "name": "Another <GPU>"})
    out = tmp_path / "out.svg"
    result = shown(tmp_path, "-o", str(out))
    assert (result.exit_code, result.stdout.splitlines()[-1]) == (1, f"{out}: drawn")
    first = out.read_text()
    assert all(f">{text}<" in first for text in (DEVICE, "Another &lt;GPU&gt;", "time of a product, ms"))
    assert f"{KERNEL} 1024 b32 from 2001-02-01 to 2001-02-06" in first
    shown(tmp_path, "-o", str(out))
    assert out.read_text() == first


def test_a_figure_of_many_series_is_of_the_worst_in_percent(tmp_path: Path) -> None:
    for day, slower in ((1, 1.0), (2, 1.0), (3, 1.0), (4, 1.1)):
        saved(tmp_path, day, timed(1.0 * slower), *(timed(0.5, kernel=f"made.up{i}") for i in range(9)))
    assert shown(tmp_path, "-o", str(tmp_path / "out.svg")).exit_code == 1
    drawn = (tmp_path / "out.svg").read_text()
    assert "time, % of the median" in drawn
    assert "Of 10 series, 7 are drawn" in drawn
    assert f"{KERNEL} 1024 b32" in drawn
    assert shown(tmp_path, "-o", str(tmp_path / "out.png")).exit_code == 1
    assert (tmp_path / "out.png").read_bytes().startswith(b"\x89PNG")


def test_the_runs_that_pytest_saves_make_a_history(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)
    monkeypatch.setitem(registry().providers, "timed", Registered(TimedProvider(), Origin("timed", "tests")))
    pytester.makepyfile(test_bench="def test_kernel(mm_benchmark):\n    mm_benchmark()\n")
    options = ("--mm-device=timed", "--mm-size=16", "--mm-block=8", "--benchmark-max-time=0.01")
    for seconds in (1e-3, 1e-3, 1e-3, 1.1e-3):
        device = TimedEmulator(lambda source, seconds=seconds: seconds)  # type: ignore[misc]
        monkeypatch.setitem(worker._devices, "timed:0", device)
        options_now = (*options, f"--mm-kernel={OTHER}", "--benchmark-storage=shared/host")
        assert pytester.runpytest_inprocess(*options_now).ret == 0
    found = series(pytester.path / "shared", exit_code=1)
    assert (found["kernel"], found["config_id"], found["measure"]) == (OTHER, "b8", "kernel-warm")
    assert (found["runs"], found["newest"]["host"], found["card"]["name"]) == (4, "host", "Test GPU")
    assert found["change_percent"] == pytest.approx(10.0, abs=0.1)

"""Counters that NVIDIA's ncu reads on a GPU become the record that the emulator makes."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import mmcore
from mmcore import Cell
from mmcore.errors import DeviceError, MmcoreError, NoDevice, TimeLimit
from mmcore.kernel.properties import DeviceProperties
from mmcore_cuda.ncu import under_ncu
from mmcore_cuda.ncu.ncu import COUNTERS, METRICS, parse, profiles_by_ncu, unknown_metrics
from mmcore_emulator.adapter.device import Emulator
from mmcore_emulator.adapter.profile import Profile, profile_cell
from tests.command_line import mmcore as command_line
from tests.conftest import DEVICES

EQUAL = ("fmas", "global_load_requests", "global_load_sectors", "global_store_requests", "global_store_sectors")


def log(*launches: dict[str, str], further: tuple[str, ...] = ()) -> str:
    """Return ncu's log of some launches; every other metric is 7."""
    metrics = (*METRICS, *further)
    rows = [["ID", "Kernel Name", *metrics], ["", "", *("inst" for _ in metrics)]]
    for index, each in enumerate(launches):
        rows.append([str(index), "f(int, int)", *(each.get(name, "7") for name in metrics)])
    lines = [",".join(f'"{cell}"' for cell in row) for row in rows]
    return "\n".join(["==PROF== Connected to process 1", *lines, "==PROF== Disconnected"])


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pretend that there is a GPU called cuda:0, which is an emulator."""
    provider = SimpleNamespace(
        name="cuda", supports_timing=True, properties=lambda index: DeviceProperties(), open=lambda index: Emulator()
    )
    monkeypatch.setattr("mmcore_cuda.ncu.ncu.chosen", lambda spec: (provider, 0))
    monkeypatch.setattr("mmcore_cuda.ncu.ncu.device_name", lambda spec: "cuda:0")
    for name in ("cuProfilerStart", "cuProfilerStop"):
        monkeypatch.setattr(f"cuda.bindings.driver.{name}", lambda: None)


@pytest.fixture
def ncu(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, gpu: None) -> Path:
    """Install an ncu that knows the metrics and writes a given log, without counting or running anything.

    The emulator writes the output of the program that ncu should profile.
    """
    program = tmp_path / "ncu"
    text = (Path(__file__).parents[1] / "data" / "ncu.txt").read_text()
    program.write_text(f"#!{sys.executable} -S\n{text}")
    program.chmod(0o755)
    (tmp_path / "known").write_text("")
    (tmp_path / "said").write_text("")
    (tmp_path / "delay").write_text("0")
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    return tmp_path


def profiles(folder: Path, *names: str, further: str = "", **cell: Any) -> list[Profile]:
    """Return the profiles of some kernels with that ncu."""
    cells = [Cell(name, 32, 32, 32, config={"block": [16, 16, 1]}, **cell) for name in names]
    launched = [under_ncu.launch(cell, Emulator()) for cell in cells]
    (folder / "launched").write_text(json.dumps({"launched": launched}))
    return profiles_by_ncu(cells, further)


def refused(*arguments: str) -> str:
    """Return the message of a command that cannot run."""
    result = command_line(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    return result.stderr


def argument(ncu: Path, option: str) -> str:
    """Return the argument of an option with which ncu was run."""
    asked = (ncu / "arguments").read_text().split("\n")
    return asked[asked.index(option) + 1]


def test_a_log_is_read_between_other_lines() -> None:
    (launch,) = parse(log({
        "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum": "1,262,144",
        "smsp__sass_thread_inst_executed_op_dfma_pred_on.sum": "6",
        "smsp__sass_thread_inst_executed_op_fadd_pred_on.sum": "5",
        "gpu__time_duration.sum": "77,760",
        "sm__warps_active.avg.pct_of_peak_sustained_active": "83.94",
        "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum": "2048000",
    }))  # fmt: skip
    counters, measured = launch.counters, launch.measured
    assert measured is not None
    assert counters.fmas == 1262150
    assert counters.flops == 2 * 1262150 + 5 + 3 * 7
    assert counters.global_load_sectors == 2048000 - 7, "without those of cp.async"
    assert counters.shared_bank_conflicts == 3 * 7
    assert counters.tensor_flops == 7 * len(COUNTERS["tensor_flops"])
    assert (measured.seconds, measured.occupancy, measured.memory_bytes) == pytest.approx((77.76e-6, 0.8394, 7))
    assert measured.metrics["l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"] == 2048000


@pytest.mark.parametrize("text", ["", "==ERROR== nothing", log(), log({}).replace("gpu__time_duration.sum", "other")])
def test_a_log_without_launches_holds_none(text: str) -> None:
    assert parse(text) == []


def test_launches_become_profiles_in_order(ncu: Path) -> None:
    (ncu / "log").write_text(log({METRICS[0]: "100"}, {METRICS[0]: "200"}))
    first, second = profiles(ncu, "upc.kernel01", "upc.kernel10")
    assert (first.counters.thread_instructions, second.counters.thread_instructions) == (100, 200)
    assert (first.launched.kernel, second.launched.kernel) == ("upc.kernel01", "upc.kernel10")
    document = first.to_json()
    assert document["global_load_requests"] == 7 - 7
    assert document["shared_load_requests"] == 7
    assert document["products"] is document["tensor_flops_by_type"] is None
    assert document["barriers"] is document["cgma_cc1x"] is document["global_accesses_per_thread"] is None
    assert document["gips"] == pytest.approx(100 / 7 if METRICS[0].startswith("smsp__inst") else 1.0)
    assert document["achieved_occupancy"] == pytest.approx(0.07)
    assert document["global_store_throughput"] == pytest.approx(32.0)


TENSOR = "sm__inst_executed_pipe_tensor.sum"
UNKNOWN = (TENSOR, "sm__ops_path_tensor_src_fp8.sum")


def test_metrics_that_ncu_does_not_know_are_left_out_and_named(ncu: Path) -> None:
    """The output of ncu lists one metric per line, among other lines."""
    known = [metric.partition(".")[0] for metric in METRICS if metric not in UNKNOWN]
    lines = ["Device NVIDIA H200 (GH100)", *(f"{name}    Counter    inst    # of {TENSOR}" for name in known)]
    (ncu / "known").write_text("\n".join(lines))
    (ncu / "log").write_text(log({}))
    (found,) = profiles(ncu, "upc.kernel01")
    assert argument(ncu, "--metrics").split(",") == [metric for metric in METRICS if metric not in UNKNOWN]
    assert argument(ncu, "--clock-control") == "none", "clocks are left alone"
    assert unknown_metrics(found) == list(UNKNOWN)
    assert found.to_json()["tensor_instructions"] is None
    assert found.counters.tensor_flops == 7 * (len(COUNTERS["tensor_flops"]) - 1), "of the other types"


def test_further_counters_are_read_by_a_pattern_of_their_names(ncu: Path) -> None:
    names = ["smsp__inst_executed_op_other", "lts__t_bytes", *(metric.partition(".")[0] for metric in METRICS)]
    (ncu / "known").write_text("\n".join(names))
    (ncu / "log").write_text(log({}, further=("smsp__inst_executed_op_other.sum",)))
    (found,) = profiles(ncu, "upc.kernel01", further=r"smsp__inst_executed_op_\w+")
    assert argument(ncu, "--metrics").split(",") == [*METRICS, "smsp__inst_executed_op_other.sum"]
    measured = found.launches[0].measured
    assert measured is not None
    assert measured.metrics["smsp__inst_executed_op_other.sum"] == 7


@pytest.mark.parametrize("metric", [TENSOR, "gpu__time_duration.sum"])
def test_counters_that_another_profiler_holds_are_an_error(ncu: Path, metric: str) -> None:
    (ncu / "log").write_text(log({metric: "nan"}))
    with pytest.raises(DeviceError, match=f"^ncu has no number for {metric}; is another profiler using the GPU"):
        profiles(ncu, "upc.kernel01")


@pytest.mark.parametrize(
    ("said", "error", "sentence"),
    [
        ("==ERROR== ERR_NVGPUCTRPERM - The user may not", NoDevice, "may not read this GPU's counters"),
        ("==ERROR== The application returned an error code (1).", DeviceError, "ncu counted nothing: The application"),
        ("", DeviceError, "ncu counted nothing: it printed nothing"),
    ],
)
def test_why_ncu_counts_nothing_is_reported(ncu: Path, said: str, error: type[Exception], sentence: str) -> None:
    (ncu / "log").write_text("")
    (ncu / "said").write_text(said)
    with pytest.raises(error, match=sentence):
        profiles(ncu, "upc.kernel01")


def test_fewer_launches_than_were_made_are_a_failure(ncu: Path) -> None:
    (ncu / "log").write_text(log({}))
    with pytest.raises(DeviceError, match="ncu counted nothing"):
        profiles(ncu, "upc.kernel01", "upc.kernel10")
    (ncu / "log").write_text("")
    (ncu / "launched").write_text(json.dumps({"error": "upc.kernel10: k = 65 is odd"}))
    with pytest.raises(MmcoreError, match=r"^upc\.kernel10: k = 65 is odd$"):
        profiles_by_ncu([Cell("upc.kernel10", 65, 65, 65)])


def test_ncu_is_ended_at_the_time_limit(ncu: Path) -> None:
    (ncu / "log").write_text(log({}))
    (ncu / "delay").write_text("30")
    with pytest.raises(TimeLimit, match=r"^ncu had not ended after 0\.2 s$"):
        profiles(ncu, "upc.kernel01", timeout=0.2)


@pytest.mark.usefixtures("gpu")
def test_the_command_needs_ncu_and_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    said = "ncu is not on the PATH; it comes with NVIDIA's Nsight Compute"
    assert said in refused("ncu", "upc.kernel01")
    monkeypatch.undo()
    assert "ncu counts on a GPU, which emulator is not" in refused("ncu", "upc.kernel01", "--device", "emulator")


def test_the_command_reports_what_was_counted(ncu: Path) -> None:
    (ncu / "log").write_text(log({}))
    profiles(ncu, "upc.kernel01")
    output = command_line("ncu", "upc.kernel01", "--size", "32", "--block", "16").stdout
    assert "fused multiply-adds" in output
    assert "occupancy  0.07 of the warps that fit, active on average" in output
    (ncu / "log").write_text(log({TENSOR: "n/a"}))
    assert f"warning: ncu does not know {TENSOR}" in command_line("ncu", "upc.kernel01").stderr
    document = json.loads(command_line("ncu", "upc.kernel01", "--size", "32", "--block", "16", "--json").stdout)
    assert (document["kernel"], document["fmas"]) == ("upc.kernel01", 14)


@pytest.mark.skipif("cuda" not in DEVICES, reason="there is no GPU on this machine")
@pytest.mark.skipif(shutil.which("ncu") is None, reason="ncu is not installed")
def test_ncu_and_the_emulator_count_the_same_accesses_and_arithmetic() -> None:
    names = ("upc.kernel01", "upc.kernel11", "lezione9.kernel1", "poznan.v4a", "poznan.v5")
    cells = [Cell(name, 160, 160, 160) for name in names]
    cells.append(Cell("upc.kernel01", 161, 67, 33, config=mmcore.kernels()["upc.kernel01"].config(block=16).to_json()))
    for cell, counted in zip(cells, profiles_by_ncu(cells), strict=True):
        emulated = profile_cell(cell, Emulator()).counters
        for name in EQUAL:
            assert getattr(counted.counters, name) == getattr(emulated, name), (cell.kernel, name)
        assert counted.rates()["gips"]

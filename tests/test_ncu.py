"""Counters that NVIDIA's ncu reads on a GPU become the record that the emulator makes."""

from __future__ import annotations

import dataclasses
import shutil
import sys
from pathlib import Path

import pytest

import mmcore
from mmcore.api import device, kernels
from mmcore.errors import DeviceError, InvalidKernel, NoDevice
from mmcore.kernel.geometry import Dim3
from mmcore_ncu.ncu import METRICS, parse, profiles_by_ncu
from mmcore_emulator.profiler.profile import Profile, profile_kernel
from tests.command_line import mmcore as command_line
from tests.conftest import DEVICES
from tests.timed_emulator import TimedEmulator

EQUAL = ("fmas", "global_load_requests", "global_load_sectors", "global_store_requests", "global_store_sectors")
GPU = TimedEmulator(lambda source: 1e-4)


def log(*launches: dict[str, str]) -> str:
    """What ncu writes of some launches; every metric that is not given is 7."""
    names = ["ID", "Kernel Name", *METRICS]
    rows = [names, ["", "", *("inst" for _ in METRICS)]]
    rows += [
        [str(index), "f(int, int)", *(each.get(name, "7") for name in METRICS)] for index, each in enumerate(launches)
    ]
    lines = [",".join(f'"{cell}"' for cell in row) for row in rows]
    return "\n".join(["==PROF== Connected to process 1", *lines, "==PROF== Disconnected"])


@pytest.fixture
def ncu(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An ncu that writes the log it is given, and says what else it is given; neither counts anything."""
    text = f"""#!{sys.executable}
import pathlib, sys
here = pathlib.Path({str(tmp_path)!r})
(here / "arguments").write_text("\\n".join(sys.argv))
log = pathlib.Path(sys.argv[sys.argv.index("--log-file") + 1])
log.write_text((here / "log").read_text())
print((here / "said").read_text())
"""
    program = tmp_path / "ncu"
    program.write_text(text)
    program.chmod(0o755)
    (tmp_path / "said").write_text("")
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    return tmp_path


def profiles(*names: str) -> list[Profile]:
    asked = [(kernels()[name], kernels()[name].problem(32, 32, 32), Dim3(16, 16)) for name in names]
    return profiles_by_ncu(asked, GPU, seed=1)


def test_a_log_is_read_between_other_lines() -> None:
    ((counters, measured),) = parse(log({
        "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum": "1,262,144",
        "smsp__sass_thread_inst_executed_op_dfma_pred_on.sum": "6",
        "smsp__sass_thread_inst_executed_op_fadd_pred_on.sum": "5",
        "gpu__time_duration.sum": "77,760",
        "sm__warps_active.avg.pct_of_peak_sustained_active": "83.94",
        "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum": "2048000",
    }))  # fmt: skip
    assert counters.fmas == 1262150
    assert counters.flops == 2 * 1262150 + 5 + 3 * 7
    assert counters.global_load_sectors == 2048000
    assert counters.shared_bank_conflicts == 14
    assert (measured.seconds, measured.occupancy, measured.memory_bytes) == pytest.approx((77.76e-6, 0.8394, 7))


@pytest.mark.parametrize("text", ["", "==ERROR== nothing", log(), log({}).replace("gpu__time_duration.sum", "other")])
def test_a_log_without_launches_holds_none(text: str) -> None:
    assert parse(text) == []


def test_launches_become_profiles_in_order(ncu: Path) -> None:
    (ncu / "log").write_text(log({METRICS[0]: "100"}, {METRICS[0]: "200"}))
    first, second = profiles("upc.kernel01", "upc.kernel10")
    assert (first.counters.thread_instructions, second.counters.thread_instructions) == (100, 200)
    assert (first.plan.kernel.name, second.plan.kernel.name) == ("upc.kernel01", "upc.kernel10")
    document = first.to_json()
    assert document["global_load_requests"] == 7
    assert document["barriers"] is document["cgma_cc1x"] is document["global_accesses_per_thread"] is None
    assert document["gips"] == pytest.approx(1.0)
    assert document["achieved_occupancy"] == pytest.approx(0.07)
    assert document["global_load_throughput"] == pytest.approx(32.0)


def test_clocks_are_left_alone(ncu: Path) -> None:
    (ncu / "log").write_text(log({}))
    profiles("upc.kernel01")
    arguments = (ncu / "arguments").read_text().split("\n")
    assert arguments[arguments.index("--clock-control") + 1] == "none"


@pytest.mark.parametrize(
    ("said", "error", "sentence"),
    [
        (
            "==ERROR== ERR_NVGPUCTRPERM - The user may not",
            NoDevice,
            "may not read this GPU's counters",
        ),
        ("==ERROR== The application returned an error code (1).", DeviceError, "ncu counted nothing: The application"),
        ("", DeviceError, "ncu counted nothing: it said nothing"),
    ],
)
def test_why_ncu_counts_nothing_is_said_in_a_sentence(
    ncu: Path, said: str, error: type[Exception], sentence: str
) -> None:
    (ncu / "log").write_text("")
    (ncu / "said").write_text(said)
    with pytest.raises(error, match=sentence):
        profiles("upc.kernel01")


def test_fewer_launches_than_were_made_are_a_failure(ncu: Path) -> None:
    (ncu / "log").write_text(log({}))
    with pytest.raises(DeviceError, match="ncu counted nothing"):
        profiles("upc.kernel01", "upc.kernel10")


def test_without_ncu_the_answer_says_where_it_comes_from(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(NoDevice, match="ncu is not on the PATH; it comes with NVIDIA's Nsight Compute"):
        profiles("upc.kernel01")


def test_ncu_needs_a_gpu_and_a_kernel_that_another_process_finds() -> None:
    kernel = kernels()["upc.kernel01"]
    asked = (kernel, kernel.problem(8, 8, 8), Dim3(8, 8))
    with pytest.raises(NoDevice, match="ncu counts on a GPU, and emulator is none"):
        profiles_by_ncu([asked], device("emulator"))
    changed = dataclasses.replace(kernel, title="another")
    with pytest.raises(InvalidKernel, match="knows registered kernels only"):
        profiles_by_ncu([(changed, *asked[1:])], GPU)


@pytest.mark.parametrize("option", ["--exact", "--by-line", "--coalescing=cc1x"])
def test_what_only_the_emulator_counts_is_not_asked_of_ncu(option: str) -> None:
    result = command_line("profile", "upc.kernel01", "--with", "ncu", option)
    assert result.exit_code == 2
    assert "are the emulator's; ncu counts on a GPU, in all" in result.stderr


@pytest.mark.skipif("cuda" not in DEVICES, reason="there is no GPU on this machine")
@pytest.mark.skipif(shutil.which("ncu") is None, reason="ncu is not installed")
def test_ncu_and_the_emulator_count_the_same_accesses_and_arithmetic() -> None:
    names = ("upc.kernel01", "upc.kernel11", "lezione9.kernel1", "poznan.v4a", "poznan.v5")
    asked = [(kernels()[name], kernels()[name].square_problem(160), Dim3(*kernels()[name].blocks[0])) for name in names]
    asked.append((kernels()["upc.kernel01"], kernels()["upc.kernel01"].problem(161, 67, 33), Dim3(16, 16)))
    for request, counted in zip(asked, profiles_by_ncu(asked, device("cuda")), strict=True):
        emulated = profile_kernel(*request, device("emulator"), exact=True).counters
        for name in (
            "fmas",
            "global_load_requests",
            "global_load_sectors",
            "global_store_requests",
            "global_store_sectors",
        ):
            assert getattr(counted.counters, name) == getattr(emulated, name), (counted.plan.kernel.name, name)
    assert mmcore.profile("upc.kernel01", 64, ncu=True).rates()["gips"]

"""The counters of a GPU, as NVIDIA's Nsight Compute (``ncu``) reads them.

A process of its own makes the launches under ncu; what ncu writes becomes the same record that the emulator makes.
"""

from __future__ import annotations

import contextlib
import csv
import json
import math
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from mmcore.cell import Cell
from mmcore.errors import DeviceError, MmcoreError, NoDevice, TimeLimit
from mmcore.executor.choose_device import chosen, device_name
from mmcore_emulator.launch_facts import Launched
from mmcore_emulator.profiler.counters import NAMES, Counters, LaunchCounts, Measured
from mmcore_emulator.profiler.profile import Profile

_SASS = "smsp__sass_thread_inst_executed_op_{}_pred_on.sum"
# Half-precision arithmetic is left out: ptxas writes constants into registers with it, one or two in every thread.
_FMAS = tuple(_SASS.format(name) for name in ("ffma", "dfma"))
_OTHER_FLOPS = tuple(_SASS.format(name) for name in ("fadd", "fmul", "dadd", "dmul"))

#: Each counter as a sum of ncu's metrics, with weights.
COUNTERS: Mapping[str, Mapping[str, int]] = {
    "thread_instructions": {"smsp__thread_inst_executed.sum": 1},
    "warp_instructions": {"smsp__inst_executed.sum": 1},
    "fmas": dict.fromkeys(_FMAS, 1),
    "flops": {**dict.fromkeys(_FMAS, 2), **dict.fromkeys(_OTHER_FLOPS, 1)},
    "global_load_requests": {"l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum": 1},
    "global_load_sectors": {"l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum": 1},
    "global_store_requests": {"l1tex__t_requests_pipe_lsu_mem_global_op_st.sum": 1},
    "global_store_sectors": {"l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum": 1},
    "shared_load_requests": {"smsp__inst_executed_op_shared_ld.sum": 1},
    "shared_load_wavefronts": {"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum": 1},
    "shared_store_requests": {"smsp__inst_executed_op_shared_st.sum": 1},
    "shared_store_wavefronts": {"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum": 1},
    "shared_bank_conflicts": {
        "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum": 1,
        "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum": 1,
    },
}
UNCOUNTED = frozenset(NAMES) - set(COUNTERS)
_NANOSECONDS = "gpu__time_duration.sum"
_OCCUPANCY = "sm__warps_active.avg.pct_of_peak_sustained_active"
_DRAM_BYTES = "dram__bytes.sum"
METRICS = tuple(
    dict.fromkeys([*(metric for parts in COUNTERS.values() for metric in parts), _NANOSECONDS, _OCCUPANCY, _DRAM_BYTES])
)

_PERMISSION = "ERR_NVGPUCTRPERM"


def profiles_by_ncu(cells: Sequence[Cell]) -> list[Profile]:
    """What ncu counts of some cells on a GPU, all in one process of its own.

    Args:
        cells: of kernels that another process finds by their names; "auto" is the first GPU. The longest of their
            timeouts is that of all together.

    Raises:
        MmcoreError: there is no ncu, it may not read the counters, a device is no GPU, a launch is refused, or ncu
            failed: its last words.
    """
    placed = [cell.on(device_name("cuda" if cell.device == "auto" else cell.device)) for cell in cells]
    for cell in placed:
        if not chosen(cell.device)[0].supports_timing:
            raise NoDevice(f"ncu counts on a GPU, and {cell.device} is none")
    limits = [cell.timeout for cell in cells if cell.timeout is not None]
    launched, found = _count(placed, max(limits, default=None))
    profiles = []
    for each in launched:
        launches = tuple(next(found) for _ in each.launches)
        profiles.append(Profile(each, launches, {}, UNCOUNTED))
    return profiles


def _count(cells: Sequence[Cell], limit: float | None) -> tuple[list[Launched], Iterator[LaunchCounts]]:
    """What was launched, and what ncu says of each launch, on clocks as they are found."""
    ncu = shutil.which("ncu")
    if ncu is None:
        raise NoDevice("ncu is not on the PATH; it comes with NVIDIA's Nsight Compute and with the CUDA toolkit")
    with tempfile.TemporaryDirectory() as folder:
        asked, made, log = (Path(folder) / name for name in ("cells.json", "launched.json", "log.csv"))
        asked.write_text(json.dumps([cell.to_json() for cell in cells]))
        options = ["--csv", "--page", "raw", "--print-units", "base", "--clock-control", "none"]
        watch = ["--profile-from-start", "off", "--metrics", ",".join(METRICS), "--log-file", str(log)]
        child = [sys.executable, "-m", "mmcore_ncu.under_ncu", str(asked), str(made)]
        said = _output([ncu, *options, *watch, *child], limit)
        text = log.read_text(encoding="utf-8") if log.exists() else ""
        answer: dict[str, Any] = json.loads(made.read_text()) if made.exists() else {"launched": []}
    if "error" in answer:
        raise MmcoreError(answer["error"])
    launched, found = list(map(Launched.from_json, answer["launched"])), parse(text)
    if not found or len(found) != sum(len(each.launches) for each in launched):
        raise _failure(text + said)
    return launched, iter(found)


def _output(command: Sequence[str], limit: float | None) -> str:
    """What a command and its children say; all of them are ended at the time limit."""
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    ) as process:
        try:
            return process.communicate(timeout=limit)[0]
        except subprocess.TimeoutExpired:
            raise TimeLimit(f"ncu had not ended after {limit:g} s") from None
        finally:
            if process.poll() is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)


def parse(text: str) -> list[LaunchCounts]:
    """The launches in ncu's log: between other lines, CSV of a row of names, a row of units and a row for each."""
    rows = list(csv.reader(line for line in text.splitlines() if line.startswith('"')))
    if len(rows) < 2 or not set(METRICS) <= set(rows[0]):
        return []
    return [_launch(dict(zip(rows[0], row, strict=True))) for row in rows[2:]]


def _launch(row: Mapping[str, str]) -> LaunchCounts:
    values = {metric: float(row[metric].replace(",", "")) for metric in METRICS}
    if missing := [metric for metric, value in values.items() if not math.isfinite(value)]:
        raise DeviceError(f"ncu has no number for {missing[0]}; is another profiler using the GPU?")
    counts = {
        name: round(sum(weight * values[metric] for metric, weight in parts.items()))
        for name, parts in COUNTERS.items()
    }
    measured = Measured(values[_NANOSECONDS] * 1e-9, values[_OCCUPANCY] / 100, round(values[_DRAM_BYTES]))
    return LaunchCounts(Counters(**counts), measured)


def _failure(output: str) -> NoDevice | DeviceError:
    """Why ncu counted nothing, as far as its output tells."""
    said = [line.strip() for line in output.splitlines() if line.strip() and not line.startswith('"')]
    if any(_PERMISSION in line for line in said):
        return NoDevice(
            f"ncu may not read this GPU's counters ({_PERMISSION}); the driver's administrator can allow it"
        )
    errors = [line for line in said if "ERROR" in line or "Error" in line]
    last = (errors or said or ["it said nothing"])[-1]
    return DeviceError(f"ncu counted nothing: {last.removeprefix('==ERROR== ')}")

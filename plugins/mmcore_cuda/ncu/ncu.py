"""The counters of a GPU, as NVIDIA's Nsight Compute (``ncu``) reads them.

A separate process makes the launches under ncu, and ncu's log becomes the same record that the emulator makes.
"""

from __future__ import annotations

import contextlib
import csv
import json
import math
import os
import re
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
from mmcore_emulator.adapter.launch_facts import Launched
from mmcore_emulator.adapter.profile import Profile
from mmcore_emulator.profiler.counters import NAMES, Counters, LaunchCounts, Measured

_SASS = "smsp__sass_thread_inst_executed_op_{}_pred_on.sum"
# Without half-precision arithmetic, which ptxas also uses to write constants into registers.
_FMAS = tuple(_SASS.format(name) for name in ("ffma", "dfma"))
_OTHER_FLOPS = tuple(_SASS.format(name) for name in ("fadd", "fmul", "dadd", "dmul"))

_WAVEFRONTS = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{}.sum"
_MATRIX_WAVEFRONTS = "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_{}.sum"
_CONFLICTS = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_{}.sum"
_COPIED = "sm__sass_l1tex_t_{}_pipe_lsu_mem_global_op_ldgsts.sum"
_TENSOR_TYPES = ("fp16", "bf16_dst_fp32", "tf32_dst_fp32", "fp64", "fp8", "int8")

#: Each counter as a weighted sum of ncu's metrics. The metrics of loads and stores include cp.async (ldgsts),
#: ldmatrix (ldsm) and stmatrix (stsm), which are subtracted.
COUNTERS: Mapping[str, Mapping[str, float]] = {
    "thread_instructions": {"smsp__thread_inst_executed.sum": 1},
    "warp_instructions": {"smsp__inst_executed.sum": 1},
    "fmas": dict.fromkeys(_FMAS, 1),
    "flops": {**dict.fromkeys(_FMAS, 2), **dict.fromkeys(_OTHER_FLOPS, 1)},
    "tensor_instructions": {"sm__inst_executed_pipe_tensor.sum": 1},
    "tensor_flops": {f"sm__ops_path_tensor_src_{each}.sum": 1 for each in _TENSOR_TYPES},
    "global_load_requests": {"l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum": 1, _COPIED.format("requests"): -1},
    "global_load_sectors": {"l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum": 1, _COPIED.format("sectors"): -1},
    "global_store_requests": {"l1tex__t_requests_pipe_lsu_mem_global_op_st.sum": 1},
    "global_store_sectors": {"l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum": 1},
    **{
        f"local_{access}_{what}s": {f"l1tex__t_{what}s_pipe_lsu_mem_local_op_{access[:2]}.sum": 1}
        for access in ("load", "store")
        for what in ("request", "sector")
    },
    "async_copy_requests": {"smsp__inst_executed_op_ldgsts.sum": 1},
    "async_copy_sectors": {_COPIED.format("sectors"): 1},
    "async_copy_wavefronts": {_MATRIX_WAVEFRONTS.format("ldgsts"): 1},
    "bulk_loads": {"smsp__sass_inst_executed_op_tma_ld.sum": 1},
    "bulk_delivered_bytes": {"l1tex__m_xbar2l1tex_read_bytes_mem_global_op_tma_ld.sum": 1},
    "bulk_stores": {"smsp__sass_inst_executed_op_tma_st.sum": 1},
    "bulk_store_bytes": {"l1tex__m_l1tex2xbar_write_bytes_mem_global_op_tma_st.sum": 1},
    "shared_load_requests": {"smsp__inst_executed_op_shared_ld.sum": 1},
    "shared_load_wavefronts": {_WAVEFRONTS.format("ld"): 1, _MATRIX_WAVEFRONTS.format("ldsm"): -1},
    "shared_store_requests": {"smsp__inst_executed_op_shared_st.sum": 1},
    "shared_store_wavefronts": {_WAVEFRONTS.format("st"): 1, _MATRIX_WAVEFRONTS.format("stsm"): -1},
    "ldmatrix_requests": {"smsp__inst_executed_op_ldsm.sum": 1},
    "ldmatrix_wavefronts": {_MATRIX_WAVEFRONTS.format("ldsm"): 1},
    "stmatrix_requests": {"smsp__inst_executed_op_shared_stsm.sum": 1},
    "stmatrix_wavefronts": {_MATRIX_WAVEFRONTS.format("stsm"): 1},
    "wgmma_wavefronts": {_WAVEFRONTS.format("gmma"): 1},
    "shared_bank_conflicts": {_CONFLICTS.format(each): 1 for each in ("ld", "st", "ldgsts")},
}
_NANOSECONDS = "gpu__time_duration.sum"
_OCCUPANCY = "sm__warps_active.avg.pct_of_peak_sustained_active"
_DRAM_BYTES = "dram__bytes.sum"
_MEASURED = (_NANOSECONDS, _OCCUPANCY, _DRAM_BYTES)
METRICS = tuple(dict.fromkeys([*(metric for parts in COUNTERS.values() for metric in parts), *_MEASURED]))

_PERMISSION = "ERR_NVGPUCTRPERM"


def profiles_by_ncu(cells: Sequence[Cell], further: str = "") -> list[Profile]:
    """Return ncu's counts of some cells on a GPU, all measured in one process.

    Another process finds the kernels by their names; "auto" is the first GPU. The longest of the cells' timeouts limits
    all of them together. The sums of :data:`COUNTERS` omit metrics that this ncu or GPU lacks; :func:`unknown_metrics`
    names them. ``further`` is a regular expression of more counters' names, without ".sum", for ``Measured.metrics``.

    Raises:
        MmcoreError: there is no ncu, it may not read the counters, a device is not a GPU, a launch is refused, or ncu
            failed.
    """
    placed = [cell.on(device_name("cuda" if cell.device == "auto" else cell.device)) for cell in cells]
    for cell in placed:
        if not chosen(cell.device)[0].supports_timing:
            raise NoDevice(f"ncu counts on a GPU, which {cell.device} is not")
    limits = [cell.timeout for cell in cells if cell.timeout is not None]
    launched, counts = _count(placed, max(limits, default=None), further)
    profiles = []
    for each in launched:
        launches = tuple(next(counts) for _ in each.launches)
        profiles.append(Profile(each, launches, {}, _uncounted(launches)))
    return profiles


def unknown_metrics(profile: Profile) -> list[str]:
    """Return the metrics of :data:`COUNTERS` that ncu does not know."""
    known = [launch.measured.metrics for launch in profile.launches if launch.measured]
    return [metric for metric in METRICS if any(metric not in each for each in known)]


def _uncounted(launches: Sequence[LaunchCounts]) -> frozenset[str]:
    """Return the counters without any metric that ncu knows."""
    known = {metric for launch in launches if launch.measured for metric in launch.measured.metrics}
    return frozenset((*NAMES, "products")) - {name for name, parts in COUNTERS.items() if known.intersection(parts)}


def _count(cells: Sequence[Cell], limit: float | None, further: str) -> tuple[list[Launched], Iterator[LaunchCounts]]:
    """Return the launches and ncu's counts of each, with the clocks unchanged."""
    ncu = shutil.which("ncu")
    if ncu is None:
        raise NoDevice("ncu is not on the PATH; it comes with NVIDIA's Nsight Compute and with the CUDA toolkit")
    known = _names_of_metrics(output_of([ncu, "--query-metrics"], limit))
    metrics = [metric for metric in METRICS if metric.partition(".")[0] in known or not known]
    metrics += [f"{name}.sum" for name in known if re.fullmatch(further, name) and f"{name}.sum" not in METRICS]
    with tempfile.TemporaryDirectory() as folder:
        cells_file, launched_file, log = (Path(folder) / name for name in ("cells.json", "launched.json", "log.csv"))
        cells_file.write_text(json.dumps([cell.to_json() for cell in cells]))
        options = ["--csv", "--page", "raw", "--print-units", "base", "--clock-control", "none"]
        watch = ["--profile-from-start", "off", "--metrics", ",".join(metrics), "--log-file", str(log)]
        child = [sys.executable, "-m", "mmcore_cuda.ncu.under_ncu", str(cells_file), str(launched_file)]
        output = output_of([ncu, *options, *watch, *child], limit)
        text = log.read_text(encoding="utf-8") if log.exists() else ""
        answer: dict[str, Any] = json.loads(launched_file.read_text()) if launched_file.exists() else {"launched": []}
    if "error" in answer:
        raise MmcoreError(answer["error"])
    launched, counts = list(map(Launched.from_json, answer["launched"])), parse(text, metrics)
    if not counts or len(counts) != sum(len(each.launches) for each in launched):
        raise _failure(text + output)
    return launched, iter(counts)


def _names_of_metrics(text: str) -> list[str]:
    """Return the metrics that ``ncu --query-metrics`` lists, without ".sum" and the like."""
    return sorted(set(re.findall(r'^"?(\w+__\w+)', text, re.MULTILINE)))


def output_of(command: Sequence[str], limit: float | None) -> str:
    """Return the output of a command and its children; kill all of them at the time limit."""
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    ) as process:
        try:
            return process.communicate(timeout=limit)[0]
        except subprocess.TimeoutExpired:
            raise TimeLimit(f"{Path(command[0]).name} had not ended after {limit:g} s") from None
        finally:
            if process.poll() is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)


def parse(text: str, metrics: Sequence[str] = METRICS) -> list[LaunchCounts]:
    """Return the launches in ncu's log, which contains CSV: a row of names, a row of units and a row per launch.

    A requested metric is unknown if it is missing or not a number.
    """
    rows = list(csv.reader(line for line in text.splitlines() if line.startswith('"')))
    if len(rows) < 2 or not set(_MEASURED) <= set(rows[0]):
        return []
    return [_launch(dict(zip(rows[0], row, strict=True)), metrics) for row in rows[2:]]


def _launch(row: Mapping[str, str], metrics: Sequence[str]) -> LaunchCounts:
    values: dict[str, float] = {}
    for metric in metrics:
        with contextlib.suppress(ValueError):
            values[metric] = float(row.get(metric, "").replace(",", ""))
    unread = (metric for metric in _MEASURED if metric not in values)
    if missing := [*unread, *(metric for metric, value in values.items() if not math.isfinite(value))]:
        raise DeviceError(f"ncu has no number for {missing[0]}; is another profiler using the GPU?")
    counts = {
        name: round(sum(weight * values.get(metric, 0) for metric, weight in parts.items()))
        for name, parts in COUNTERS.items()
    }
    measured = Measured(values[_NANOSECONDS] * 1e-9, values[_OCCUPANCY] / 100, round(values[_DRAM_BYTES]), values)
    return LaunchCounts(Counters(**counts, products={}), measured)


def _failure(output: str) -> NoDevice | DeviceError:
    """Return why ncu counted nothing, according to its output."""
    lines = [line.strip() for line in output.splitlines() if line.strip() and not line.startswith('"')]
    if any(_PERMISSION in line for line in lines):
        return NoDevice(
            f"ncu may not read this GPU's counters ({_PERMISSION}); the driver's administrator can allow it"
        )
    errors = [line for line in lines if "ERROR" in line or "Error" in line]
    last = (errors or lines or ["it printed nothing"])[-1]
    return DeviceError(f"ncu counted nothing: {last.removeprefix('==ERROR== ')}")

"""The counters of a GPU, as NVIDIA's Nsight Compute (``ncu``) reads them.

A process of its own makes the launches under ncu; what ncu writes becomes the same record that the emulator makes.
"""

from __future__ import annotations

import csv
import json
import math
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from mmcore.errors import DeviceError, InvalidKernel, NoDevice
from mmcore.verify.inputs import fresh_seed
from mmcore.devices.base import Device
from mmcore.kernel.geometry import Dim3
from mmcore.kernel.declaration import Kernel
from mmcore.planning.plan import Plan, plan
from mmcore.kernel.problem import Problem
from mmcore_emulator.profiler.counters import NAMES, Counters
from mmcore_emulator.profiler.counted import Counted, LaunchCounts, Measured
from mmcore_emulator.profiler.profile import Profile
from mmcore.registry import registry

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


@dataclass(frozen=True)
class Request:
    """One product to be counted: a registered kernel's name, the problem, the block, the device, the inputs' seed."""

    kernel: str
    m: int
    n: int
    k: int
    lda: int
    ldb: int
    ldc: int
    block: tuple[int, ...]
    device: str
    seed: int
    force: bool = False


def profiles_by_ncu(
    asked: Sequence[tuple[Kernel, Problem, Dim3]], device: Device, *, seed: int | None = None, force: bool = False
) -> list[Profile]:
    """What ncu counts of some kernels on a GPU, all in one process of its own.

    Args:
        asked: kernels, which must be registered, each with a problem and a block.
        device: the GPU.
        seed: seed of the inputs; fresh when None.
        force: launch against the kernels' own constraints.

    Raises:
        NoDevice: there is no ncu, it may not read the counters, or the device is no GPU.
        InvalidKernel: a kernel is not registered, so that another process does not find it.
        DeviceError: ncu or what it watched failed; its last words.
        MmcoreError: a launch is refused.
    """
    if not device.supports_timing:
        raise NoDevice(f"ncu counts on a GPU, and {device.name} is none")
    for kernel, _, _ in asked:
        if registry().kernel(kernel.name) != kernel:
            raise InvalidKernel(f"{kernel.name}: ncu counts in another process, which knows registered kernels only")
    plans = [plan(kernel, problem, block, device.limits, force=force) for kernel, problem, block in asked]
    seed = fresh_seed() if seed is None else seed
    requests = [
        Request(
            made.kernel.name,
            *(problem.m, problem.n, problem.k, problem.lda, problem.ldb, problem.ldc),
            tuple(block),
            device.name,
            seed,
            force,
        )
        for made, (_, problem, block) in zip(plans, asked, strict=True)
    ]
    found = iter(_count(requests, sum(len(made.launches) for made in plans)))
    description = f"{device.description}, counted by ncu"
    return [Profile(made, device.name, description, _counted(made, found)) for made in plans]


def _counted(made: Plan, found: Iterator[tuple[Counters, Measured]]) -> Counted:
    """The next launches of ncu's that are this plan's."""
    launches = []
    for launch, (counters, measured) in zip(made.launches, found, strict=False):
        launches.append(LaunchCounts(counters, {}, launch.grid_dim.size, launch.grid_dim.size, measured))
    return Counted(tuple(launches), UNCOUNTED)


def _count(requests: Sequence[Request], launches: int) -> list[tuple[Counters, Measured]]:
    """What ncu says of each launch, on clocks as they are found."""
    ncu = shutil.which("ncu")
    if ncu is None:
        raise NoDevice("ncu is not on the PATH; it comes with NVIDIA's Nsight Compute and with the CUDA toolkit")
    with tempfile.TemporaryDirectory() as folder:
        asked, log = Path(folder) / "requests.json", Path(folder) / "log.csv"
        asked.write_text(json.dumps([asdict(request) for request in requests]))
        options = ["--csv", "--page", "raw", "--print-units", "base", "--clock-control", "none"]
        watch = ["--profile-from-start", "off", "--metrics", ",".join(METRICS), "--log-file", str(log)]
        child = [sys.executable, "-m", "mmcore_ncu.under_ncu", str(asked)]
        result = subprocess.run([ncu, *options, *watch, *child], capture_output=True, text=True, check=False)
        text = log.read_text(encoding="utf-8") if log.exists() else ""
    found = parse(text)
    if len(found) != launches:
        raise _failure(text + result.stdout + result.stderr)
    return found


def parse(text: str) -> list[tuple[Counters, Measured]]:
    """The launches in ncu's log: between other lines, CSV of a row of names, a row of units and a row for each."""
    rows = list(csv.reader(line for line in text.splitlines() if line.startswith('"')))
    if len(rows) < 2 or not set(METRICS) <= set(rows[0]):
        return []
    return [_launch(dict(zip(rows[0], row, strict=True))) for row in rows[2:]]


def _launch(row: Mapping[str, str]) -> tuple[Counters, Measured]:
    values = {metric: float(row[metric].replace(",", "")) for metric in METRICS}
    if missing := [metric for metric, value in values.items() if not math.isfinite(value)]:
        raise DeviceError(f"ncu has no number for {missing[0]}; is another profiler using the GPU?")
    counts = {
        name: round(sum(weight * values[metric] for metric, weight in parts.items()))
        for name, parts in COUNTERS.items()
    }
    measured = Measured(values[_NANOSECONDS] * 1e-9, values[_OCCUPANCY] / 100, round(values[_DRAM_BYTES]))
    return Counters(**counts), measured


def _failure(output: str) -> NoDevice | DeviceError:
    """Why ncu counted nothing, as far as its output tells."""
    said = [line.strip() for line in output.splitlines() if line.strip() and not line.startswith('"')]
    if any(_PERMISSION in line for line in said):
        return NoDevice(
            f"ncu may not read this GPU's counters ({_PERMISSION}); who administers the driver can allow it"
        )
    errors = [line for line in said if "ERROR" in line or "Error" in line]
    last = (errors or said or ["it said nothing"])[-1]
    return DeviceError(f"ncu counted nothing: {last.removeprefix('==ERROR== ')}")

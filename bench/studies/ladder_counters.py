"""Counters of the ladder's kernels: the emulator's in a product of 512×512×512, and ncu's on a GPU at 4096.

``emulator RESULTS.json`` counts each rung, in the config that the experiment ``ladder`` has on an H200. It needs no
GPU. ``launch``, run on a GPU under ncu, measures how busy the units are in the top rungs and in cuBLAS::

    ncu --clock-control none --profile-from-start off --page raw --section SpeedOfLight
        --section ComputeWorkloadAnalysis --section WarpStateStats
        python -m bench.studies ladder_counters launch > RAW

``ncu RESULTS.json < RAW`` extracts the figures for docs/ladder.md.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any, Literal

import mmcore
from bench.studies.study import machine_info, write
from mmcore.cell import Cell
from mmcore.executor.choose_device import open_device
from mmcore.kernel.properties import DeviceProperties
from mmcore.measure import prepared_cell
from mmcore.planning.plan import usual_config
from mmcore.plugins import instance_of
from mmcore.registry import registry
from mmcore_emulator.adapter.api import profile
from mmcore_ladder.experiments import mmcore_presets
from mmcore_libraries.cublas import BEST

EMULATED_SIZE, SIZE = 512, 4096
TOP = (
    *("ladder.f32.09_any", "ladder.f64.03_ring", "ladder.e4m3.01_any_nt", "ladder.bf16.12_any_nt"),
    *("ladder.f16.02_any_nt", "ladder.tf32.02_any_nt"),
)
_COUNTED = (
    *("warp_instructions", "fmas", "tensor_instructions", "tensor_flops", "global_load_sectors", "async_copy_sectors"),
    *("bulk_load_sectors", "shared_load_wavefronts", "ldmatrix_wavefronts", "wgmma_wavefronts"),
    *("shared_bank_conflicts", "barriers"),
)
_MARK = "## "
_FUNCTION = re.compile(r"^  (\S.*?) \(\d+, \d+, \d+\)x\(")
_PER_CENT = ".avg.pct_of_peak_sustained_active"
_METRICS = {
    "duration": "gpu__time_duration.sum",
    "fma": f"sm__inst_executed_pipe_fma{_PER_CENT}",
    "tensor": f"sm__pipe_tensor_cycles_active{_PER_CENT}",
    "l1": f"l1tex__throughput{_PER_CENT}",
    "l2": "lts__throughput.avg.pct_of_peak_sustained_elapsed",
}
_MICROSECONDS = {"ns": 1e-3, "us": 1.0, "ms": 1e3, "s": 1e6}


def main(command: Literal["emulator", "launch", "ncu"], results: Path = Path("ladder_counters.json")) -> None:
    """Count on the emulator, launch for ncu, or read ncu's output."""
    if command == "launch":
        launch()
    elif command == "ncu":
        write(results, {"size": SIZE}, functions=functions(sys.stdin.read()))
    else:
        preset = next(each for each in mmcore_presets() if each.name == "ladder")
        write(results, machine_info({}), rows=map(emulated, preset.kernels))


def emulated(name: str) -> dict[str, Any]:
    """Return the counters of a rung, with the registers of a thread and the shared memory of a block."""
    kernel = mmcore.kernels()[name]
    config, _ = usual_config(kernel, kernel.problem(SIZE, SIZE, SIZE), DeviceProperties(card="NVIDIA H200"))
    found = profile(name, EMULATED_SIZE, seed=1, config=config.to_json()).to_json()
    launches = found["launches"]
    return {
        "kernel": name,
        "title": found["title"],
        "registers": max(each["registers"] for each in launches),
        "shared_bytes": max(each["shared_bytes"] for each in launches),
        **{counter: found[counter] for counter in _COUNTED},
    }


def launch() -> None:
    """Launch each top kernel and then cuBLAS twice; ncu counts the second time of each."""
    from cuda.bindings import driver

    device = open_device("cuda")
    for name in TOP:
        kernel = mmcore.kernels()[name]
        cell = Cell(name, SIZE, SIZE, SIZE, seed=1)
        offered = registry().answers("mmcore_baselines", instance_of(mmcore.Kernel), kernel=kernel)
        for each in (kernel, next(baseline for baseline in offered if baseline.name == BEST)):
            with prepared_cell(cell, device, each) as loaded:
                loaded.run()
                print(_MARK, name, each.name, flush=True)
                driver.cuProfilerStart()
                loaded.run()
                driver.cuProfilerStop()


def functions(raw: str) -> list[dict[str, object]]:
    """Return a row for each function in ncu's output, in order, with the kernel that launched it."""
    lines = raw.splitlines()
    asked = [line.split()[1:] for line in lines if line.startswith(_MARK)]
    found: list[tuple[str, dict[str, list[str]]]] = []
    for line in lines:
        if match := _FUNCTION.match(line):
            found.append((match[1], {}))
        elif found and line.startswith("  ") and len(line.split()) > 1:
            name, *values = line.split()
            found[-1][1][name] = values
    rows = []
    # A rung's second launch adds up parts.
    products = [each for each in found if not each[0].startswith("void add_up")]
    for (kernel, launched), (function, metrics) in zip(asked, products, strict=True):
        row: dict[str, object] = {"kernel": kernel, "launched": launched, "function": function}
        for name, metric in _METRICS.items():
            value = float(metrics[metric][-1].replace(",", ""))
            row[name] = value * _MICROSECONDS[metrics[metric][0]] if name == "duration" else value
        rows.append(row)
    return rows

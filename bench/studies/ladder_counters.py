"""What the emulator counts of each rung of the ladder, in one product of 512×512×512.

The kernels are those of the experiment ``ladder``, in the configs that it has on an H200. ``python -m
bench.studies.ladder_counters RESULTS.json`` writes a row for each; docs/ladder.md's tables are made of them.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import mmcore
from bench.studies.results_file import results_text
from mmcore.kernel.properties import DeviceProperties
from mmcore.planning.plan import usual_config
from mmcore_emulator.adapter.api import profile
from mmcore_ladder.experiments import mmcore_presets
from mmcore_pytest.saved_results import describe

SIZE = 512
MEASURED = (4096, 4096, 4096)
"""The product for which configs are taken."""

_COUNTED = (
    *("warp_instructions", "fmas", "tensor_instructions", "tensor_flops", "global_load_sectors", "async_copy_sectors"),
    *("bulk_load_sectors", "shared_load_wavefronts", "ldmatrix_wavefronts", "wgmma_wavefronts"),
    *("shared_bank_conflicts", "barriers"),
)


def row(name: str) -> dict[str, Any]:
    """The counters of a rung, with the registers of a thread and the shared memory of a block."""
    kernel = mmcore.kernels()[name]
    config, _ = usual_config(kernel, kernel.problem(*MEASURED), DeviceProperties(card="NVIDIA H200"))
    found = profile(name, SIZE, seed=1, config=config.to_json()).to_json()
    launches = found["launches"]
    return {
        "kernel": name,
        "title": found["title"],
        "registers": max(each["registers"] for each in launches),
        "shared_bytes": max(each["shared_bytes"] for each in launches),
        **{counter: found[counter] for counter in _COUNTED},
    }


def main(path: Path) -> None:
    """Count, and write the rows."""
    machine: dict[str, Any] = {}
    describe(machine, {})
    preset = next(each for each in mmcore_presets() if each.name == "ladder")
    path.write_text(results_text({"machine_info": machine}, rows=map(row, preset.kernels)), encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit("usage: python -m bench.studies.ladder_counters RESULTS.json")
    main(Path(sys.argv[1]))

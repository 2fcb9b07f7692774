"""What the emulator counts of each rung of the ladder, in one product of 512×512×512.

``python -m bench.ladder_counters RESULTS.json`` writes a row for each; docs/ladder.md's tables are made of them.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import mmcore
from bench.results_file import results_text
from mmcore.saved_results import describe
from mmcore_emulator.api import profile

SIZE = 512
_COUNTED = (
    *("warp_instructions", "fmas", "tensor_instructions", "tensor_flops", "global_load_sectors", "async_copy_sectors"),
    *("bulk_load_sectors", "shared_load_wavefronts", "ldmatrix_wavefronts", "wgmma_wavefronts"),
    *("shared_bank_conflicts", "barriers"),
)


def row(name: str) -> dict[str, Any]:
    """The counters of a rung in its first config, with the registers of a thread and the shared memory of a block."""
    found = profile(name, SIZE, seed=1).to_json()
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
    names = [name for name, kernel in mmcore.kernels().items() if name.startswith("ladder.") and not kernel.variant_of]
    path.write_text(results_text({"machine_info": machine}, rows=map(row, names)), encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit("usage: python -m bench.ladder_counters RESULTS.json")
    main(Path(sys.argv[1]))

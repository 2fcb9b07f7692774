"""The Poznań report's compute-to-global-memory-access ratios (CGMA) beside the emulator's.

It takes some minutes, most of them for version 1, whose single block walks the whole of C.
"""

from __future__ import annotations

import csv
from pathlib import Path

from bench.studies.study import ROOT, write
from mmcore_emulator import profile

PRINTED = ROOT / "tests" / "published" / "poznan_measured.csv"


def main(results: Path) -> None:
    """Count, and write a row for each printed figure: version, block, size, CGMA as printed and as counted."""
    rows = []
    with PRINTED.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            block, size = int(row["block"]), int(row["size"])
            ours = profile(f"poznan.{row['version']}", size, block=block, device="emulator", seed=0).cgma_cc1x
            assert ours is not None
            printed = {"version": row["version"], "block": block, "size": size, "printed": row["cgma"]}
            rows.append({**printed, "counted": round(ours, 4)})
    write(results, {}, cgma=rows)

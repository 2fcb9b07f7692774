"""Count what the Poznań report's CGMA tables are made from, on the emulator.

``python -m bench.studies.cgma RESULTS.json`` writes the printed CGMA of every version, block and size beside the
counted one. It takes some minutes, most of them for version 1, whose single block walks the whole of C.
"""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path

from mmcore_emulator import profile

PRINTED = Path(__file__).parents[2] / "tests" / "published" / "poznan_measured.csv"


def counted() -> list[dict[str, object]]:
    """Every printed row: version, block, size, CGMA as printed and as counted."""
    rows: list[dict[str, object]] = []
    with PRINTED.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            block, size = int(row["block"]), int(row["size"])
            ours = profile(f"poznan.{row['version']}", size, block=block, device="emulator", seed=0).cgma_cc1x
            assert ours is not None
            printed = {"version": row["version"], "block": block, "size": size, "printed": row["cgma"]}
            rows.append({**printed, "counted": round(ours, 4)})
    return rows


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit("usage: python -m bench.studies.cgma RESULTS.json")
    lines = ",\n".join(f"  {json.dumps(row)}" for row in counted())
    Path(sys.argv[1]).write_text(f'{{"cgma": [\n{lines}\n]}}\n', encoding="utf-8")

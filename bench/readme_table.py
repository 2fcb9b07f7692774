"""The README's table of kernel times, made from committed results.

``python bench/readme_table.py`` writes it between the README's markers; a test tells when the two part company.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
RESULTS = ROOT / "bench" / "results" / "nvidia-h200" / "kernels.json"
BEGIN, END = "<!-- kernel times: begin -->\n", "<!-- kernel times: end -->\n"


def table() -> str:
    """The results as a Markdown table, fastest first."""
    results = json.loads(RESULTS.read_text())
    device = results["machine_info"]["device"]
    measured = [each for each in results["benchmarks"] if each["name"].startswith("test_kernel[")]
    lines = [
        f"| kernel | operation | problem | block | kernel time on {device['description']}, µs | GFLOP/s |",
        "|---|---|---|---|---:|---:|",
        *(_row(each) for each in sorted(measured, key=lambda each: float(each["stats"]["median"]))),
    ]
    return "\n".join(lines) + "\n"


def _row(benchmark: dict[str, Any]) -> str:
    info, seconds = benchmark["extra_info"], benchmark["stats"]["median"]
    m, n, k = (info["problem"][size] for size in "mnk")
    cells = (
        info["kernel"],
        f"{info['operation']} {info['dtype']}",
        f"{m}×{n}×{k}",
        "×".join(map(str, info["block"][:2])),
        f"{seconds * 1e6:.1f}",
        f"{2 * m * n * k / seconds / 1e9:.0f}",
    )
    return f"| {' | '.join(cells)} |"


def with_table(text: str) -> str:
    """``text`` with the table between the markers."""
    before, rest = text.split(BEGIN)
    after = rest.split(END)[1]
    return f"{before}{BEGIN}{table()}{END}{after}"


if __name__ == "__main__":
    README.write_text(with_table(README.read_text(encoding="utf-8")), encoding="utf-8")

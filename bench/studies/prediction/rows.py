"""The rows of the study's two files: measured times, and counts of the emulator."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

from bench.studies.study import RESULTS
from mmcore.kernel.geometry import Dim3
from mmcore.registry import referenced_kernel
from mmcore_cuda.occupancy.theoretical import occupancy
from mmcore_emulator.isa.matrix.products import Product
from mmcore_emulator.profiler.counters import NAMES, Counters, Line, total
from mmcore_performance.caches import traffic_of
from mmcore_performance.cards import cards
from mmcore_performance.counted import Counts
from mmcore_performance.evidence import Evidence, LaunchEvidence

Row: TypeAlias = dict[str, Any]
COUNTS = RESULTS / "emulator" / "prediction.json"
"""The file of the counts."""


def key(row: Mapping[str, Any]) -> str:
    """Return the text that identifies the rows of a cell."""
    return json.dumps([row["kernel"], row["m"], row["n"], row["k"], row["config"]], sort_keys=True)


def rows_of(path: Path) -> list[Row]:
    """Return the rows of a file; none if there is no file."""
    rows: list[Row] = json.loads(path.read_text(encoding="utf-8"))["rows"] if path.exists() else []
    return rows


def write_rows(path: Path, rows: Sequence[Row], **heading: Any) -> None:
    """Write a file of rows, one a line."""
    head = "".join(f"{json.dumps(name)}: {json.dumps(value)},\n" for name, value in heading.items())
    lines = ",\n".join(json.dumps(row) for row in rows)
    path.write_text(f'{{{head}"rows": [\n{lines}\n]}}\n', encoding="utf-8")


def counts_row(row: Row, evidence: Evidence, counts: Sequence[Counts]) -> Row:
    """Return the row of a cell's counts; counters of 0 are left out."""
    launches = []
    for launch, launch_counts in zip(evidence.launches, counts, strict=True):
        counters = total(launch_counts.lines.values())
        launches.append(
            {
                "grid": [*launch.grid],
                "block": [*launch.block],
                "registers": launch.occupancy.registers_per_thread,
                "shared": launch.occupancy.shared_per_block,
                "counters": {name: number for name in NAMES if (number := getattr(counters, name))},
                "working": launch.working,
                "products": {product.name: count for product, count in sorted(counters.products.items())},
                **{
                    name: {kind: round(number) for kind, number in getattr(launch_counts, name).items() if number}
                    for name in ("mix", "passes", "distinct", "waits")
                },
            }
        )
    return {name: row[name] for name in ("kernel", "m", "n", "k", "config")} | {"launches": launches}


@cache
def _kernel(name: str) -> Any:
    return referenced_kernel(name)


def card_named(device: str) -> str:
    """Return the card of a device's name, "NVIDIA H100 80GB HBM3". Raises KeyError for a card without figures."""
    name = next((name for name in cards() if name in device), device)
    return cards()[name].name


def evidence_from(row: Row, card: str) -> Evidence:
    """Return the evidence of a row of counts on a card; all counts belong to one line."""
    kernel = _kernel(row["kernel"])
    problem = kernel.problem(row["m"], row["n"], row["k"])
    on = cards()[card]
    launches = []
    for launch in row["launches"]:
        products = {Product.named(name): count for name, count in launch["products"].items()}
        lines = {Line("", 0): Counters(**launch["counters"], products=products)}
        grid, block = Dim3(*launch["grid"]), Dim3(*launch["block"])
        resources = occupancy(
            on.capability, threads=block.size, registers=launch["registers"], shared_bytes=launch["shared"]
        )
        counts = Counts(grid, lines, launch["mix"], launch["passes"], launch["distinct"], launch["waits"])
        traffic = traffic_of(counts, grid.size, resources, problem, on)
        launches.append(
            LaunchEvidence(
                "", grid, block, resources, lines, traffic, launch["mix"], launch["waits"], launch["working"]
            )
        )
    return Evidence(kernel, kernel.config(**row["config"]), problem, on, tuple(launches))

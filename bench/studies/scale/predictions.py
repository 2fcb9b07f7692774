"""A million cells on a thousand GPUs, predicted from the measurements of ``bench.studies.scale``.

It also simulates the measured runs with stand-ins.
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import fmean
from typing import Any

from bench.studies.scale.simulation import Costs, Losses, Outcome, simulated
from bench.studies.scale.stand_in import USUAL_ROUNDS, durations, phase_seconds
from bench.studies.study import RESULTS, command_line, write

HEAD = RESULTS / "scale" / "head.json"
GPUS, CELLS = 1000, 1_000_000
_MEMORY_KIB = 64 * 2**20


def measured_cases() -> list[dict[str, Any]]:
    """Return the rows of the committed measurements."""
    document = json.loads(HEAD.read_text(encoding="utf-8"))
    return [dict(row) for row in document["cases"]]


def row_of(rows: Sequence[Mapping[str, Any]], **wanted: Any) -> Mapping[str, Any]:
    """Return the first measurement whose case has these values, and no other rounds or slowness."""
    values = {"rounds": None, "slower": None, **wanted}
    return next(row for row in rows if all(row["case"].get(name) == value for name, value in values.items()))


def ray_costs(rows: Sequence[Mapping[str, Any]]) -> Costs:
    """Return the costs on Ray, from the runs with 8 and with 64 stand-ins.

    Their processor seconds are those of the cells and those of Ray's threads, which run even without cells. The cost of
    a free worker comes from workers that answer at once.
    """
    few, many = (row_of(rows, engine="stand-ins", workers=count, group=1) for count in (8, 64))
    spent = [row["head_cpu_ms"] * row["case"]["cells"] / 1e3 for row in (few, many)]
    cells = [row["case"]["cells"] for row in (few, many)]
    share = few["seconds"] / many["seconds"]
    head = (spent[0] - share * spent[1]) / (cells[0] - share * cells[1])
    return Costs(head, idle_cost(rows), max(0.0, few["free_ms"] / 1e3 - head))


def idle_cost(rows: Sequence[Mapping[str, Any]]) -> float:
    """Return the head's seconds for each answer and free worker."""
    none, many = (row_of(rows, engine="instant", workers=count, group=group) for count, group in ((256, 1), (1000, 20)))
    idle = 1000 - many["case"]["cells"] // many["case"]["group"]
    return float(max(0.0, many["head_cpu_ms"] - none["head_cpu_ms"]) / 1e3 / idle)


def validation(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the makespan of each run with stand-ins, measured and simulated."""
    found = []
    for row in rows:
        case = row["case"]
        if case.get("engine") == "stand-ins":
            seconds = durations(case["cells"], case.get("slower", 1))
            outcome = simulated(seconds, case["workers"], ray_costs(rows), case["group"])
            ideal = simulated(seconds, case["workers"], Costs(0.0), case["group"])
            found.append(
                {
                    **{name: case[name] for name in ("workers", "cells", "group")},
                    "slower": case.get("slower", 1),
                    "ideal": round(ideal.makespan, 2),
                    "simulated": round(outcome.makespan, 2),
                    "measured": row["makespan"],
                }
            )
    return found


def predictions(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the outcome of a million cells on a thousand GPUs with different costs, groups, heads and losses."""
    seconds = random.Random(4).choices(phase_seconds(), k=CELLS)
    ray = ray_costs(rows)
    pytest = row_of(rows, pytest="measure", cells=1000)["head_cpu_ms"] / 1e3
    usual = row_of(rows, pytest="measure", cells=10_000, rounds=USUAL_ROUNDS)["head_cpu_ms"] / 1e3
    instant = row_of(rows, engine="instant", workers=8)["head_cpu_ms"] / 1e3
    under_pytest = replace(ray, head=ray.head - instant + pytest)
    with_330 = replace(ray, head=ray.head - instant + usual)
    node_a_minute, node_a_quarter = Losses(60, 300), Losses(900, 300)
    cases: list[tuple[str, int, Costs, int, Losses | None]] = [
        ("no cost at all", 1, Costs(0.0), 1, None),
        ("the engine alone (`mmcore tune`, Python)", 1, ray, 1, None),
        ("pytest, 330 rounds a cell", 1, with_330, 1, None),
        ("pytest, 1000 rounds a cell", 1, under_pytest, 1, None),
        ("pytest, 330 rounds, 5 heads with 25 nodes each", 5, with_330, 1, None),
        ("pytest, 330 rounds, 25 heads with 5 nodes each", 25, with_330, 1, None),
        ("pytest, 1000 rounds, 25 heads with 5 nodes each", 25, under_pytest, 1, None),
        ("no cost, groups of 100", 1, Costs(0.0), 100, None),
        ("no cost, groups of 1000", 1, Costs(0.0), 1000, None),
        ("no cost, groups of 5000", 1, Costs(0.0), 5000, None),
        ("engine alone, groups of 5000", 1, ray, 5000, None),
        ("no cost, a node lost every 15 min", 1, Costs(0.0), 1, node_a_quarter),
        ("no cost, a node lost every minute", 1, Costs(0.0), 1, node_a_minute),
        ("no cost, a node lost every minute, groups of 1000", 1, Costs(0.0), 1000, node_a_minute),
    ]
    found = []
    for name, heads, costs, group, losses in cases:
        # Each head has a part of the cells and of the GPUs, so that one represents all.
        outcome = simulated(seconds[: CELLS // heads], GPUS // heads, costs, group, losses)
        found.append({"what": name, "heads": heads, "group": group, **_rounded(outcome)})
        print(json.dumps(found[-1]), flush=True)
    return found


def _rounded(outcome: Outcome) -> dict[str, float]:
    return {name: float(f"{value:.4g}") for name, value in vars(outcome).items()}


def limits(rows: Sequence[Mapping[str, Any]], sizes: Mapping[str, int]) -> list[dict[str, Any]]:
    """Return each part of the head: its cost of a cell, and the GPUs or cells at which it is full."""
    mean = fmean(phase_seconds())
    ray = ray_costs(rows)
    pytest = row_of(rows, pytest="measure", cells=1000)["head_cpu_ms"]
    small, large = (row_of(rows, pytest="measure", cells=count, rounds=USUAL_ROUNDS) for count in (1000, 10_000))
    collect = row_of(rows, pytest="collect", cells=10_000)
    stand_ins = row_of(rows, engine="stand-ins", workers=256)
    usual = large["head_cpu_ms"]
    pytest_kib = 1024 * (large["peak_mib"] - small["peak_mib"]) / 9000
    saved, journal = large["saved_bytes"], stand_ins["journal_bytes"]
    wire = sizes["request"] + sizes["answer, 1000 rounds"]
    return [
        _limit("pytest's thread, 1000 rounds", f"{pytest:.1f} ms", gpus=mean / pytest * 1e3),
        _limit("pytest's thread, 330 rounds", f"{usual:.1f} ms", gpus=mean / usual * 1e3),
        _limit("the engine's thread on Ray", f"{1e3 * ray.head:.1f} ms", gpus=mean / ray.head),
        _limit("pytest's memory, 330 rounds, 64 GiB", f"{pytest_kib:.0f} KiB", cells=_MEMORY_KIB / pytest_kib),
        _limit(
            "the engine's memory, 1000 rounds, 64 GiB",
            f"{stand_ins['held_kib']:.0f} KiB",
            cells=_MEMORY_KIB / stand_ins["held_kib"],
        ),
        _limit("pytest's collection, 10 min", f"{collect['head_cpu_ms']:.1f} ms", cells=6e5 / collect["head_cpu_ms"]),
        _limit("saved JSON, 330 rounds, 2 GiB", f"{saved / 1024:.0f} KiB", cells=2 * 2**30 / saved),
        _limit("journal, 1000 rounds, 64 GiB", f"{journal / 1024:.0f} KiB", cells=64 * 2**30 / journal),
        _limit("network, 1000 rounds, 1 Gbit/s", f"{wire / 1024:.0f} KiB", gpus=mean * 1e9 / 8 / wire),
    ]


def _limit(what: str, cost: str, gpus: float = math.inf, cells: float = math.inf) -> dict[str, Any]:
    full = {name: int(float(f"{value:.2g}")) for name, value in (("gpus", gpus), ("cells", cells)) if value < math.inf}
    return {"what": what, "cost": cost, **full}


def main() -> None:
    """Simulate and write the file."""
    path = command_line("scale.predictions", __doc__).parse_args().results
    rows = measured_cases()
    sizes = json.loads(HEAD.read_text(encoding="utf-8"))["bytes"]
    costs = {name: float(f"{value:.4g}") for name, value in vars(ray_costs(rows)).items()}
    head = {"gpus": GPUS, "cells": CELLS, "mean_seconds": round(fmean(phase_seconds()), 4), "costs_on_ray": costs}
    lists = {"validation": validation(rows), "limits": limits(rows, sizes), "predictions": predictions(rows)}
    write(path, head, **lists)


if __name__ == "__main__":
    main()

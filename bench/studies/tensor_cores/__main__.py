"""The comparison of every instruction and kind of numbers."""

from __future__ import annotations

import json
import multiprocessing
import os
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bench.studies import tensor_cores
from bench.studies.study import command_line
from bench.studies.tensor_cores.comparison import compare, hypotheses, vector
from bench.studies.tensor_cores.kernels import Runner, compiled
from bench.studies.tensor_cores.numbers import CASES, Case, kinds_of, operands, unsigned


def _measured(runner: Runner, pool: ProcessPoolExecutor) -> Iterator[tuple[Case, str, Future[Any], dict[str, Any]]]:
    """Yield every case and kind of numbers, with its running comparison and its vector."""
    for case in CASES:
        kernel = compiled(case).get_kernel("kernel")
        for kind in kinds_of(case):
            drawn = operands(case, kind)
            got = runner.result(case, kernel, *drawn).view(unsigned(case.result))
            yield case, kind, pool.submit(compare, case, kind, got), vector(case, *drawn, got)


EMULATED = "0 never, C = 0 never"
"""The emulator's hypothesis."""


def main(results: Path, vectors: Path) -> None:
    """Run everything, write both files, and print a table."""
    begin = time.perf_counter()
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    runner = Runner()
    facts = {"name": runner.gpu.name, "compute_capability": list(runner.gpu.compute_capability)}
    print("Hypotheses about zeros, in order:", "; ".join(hypotheses(CASES[0])))
    rows: list[dict[str, Any]] = []
    documents: list[dict[str, Any]] = []
    counts = vectors.with_name("tensor_core_comparison.json")
    with ProcessPoolExecutor(min(16, len(os.sched_getaffinity(0))), multiprocessing.get_context("spawn")) as pool:
        under_way = list(_measured(runner, pool))
        for case in CASES:
            kinds = {kind: (future, kept) for each, kind, future, kept in under_way if each == case}
            compared = {kind: future.result() for kind, (future, _) in kinds.items()}
            rows.append({"case": asdict(case), "name": case.name, "kinds": compared})
            documents.append({"case": asdict(case), "kinds": {kind: kept for kind, (_, kept) in kinds.items()}})
            _print(case, compared)
            for path, found in (
                (results, {"tensor_cores": rows}),
                (vectors, {"tensor_cores": documents}),
                (counts, {"rows": summary(rows)}),
            ):
                path.write_text(json.dumps({"machine": facts, **found}, indent=1) + "\n", encoding="utf-8")
    print(f"{time.perf_counter() - begin:.0f} s")


def summary(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the number of dot products of each instruction, and how many differ from the emulator's."""
    found = []
    for row in rows:
        counts = {"dot products": 0, "differ": 0, "signs of zeros": 0, "bits of NaN": 0}
        for compared in row["kinds"].values():
            tried = compared["hypotheses"]
            counts["dot products"] += compared["dot products"]
            for name, count in tried.get(EMULATED, next(iter(tried.values()))).items():
                counts[name] += count
        found.append({"instruction": row["name"], **counts})
    return found


def _print(case: Case, compared: dict[str, Any]) -> None:
    """Print the best hypothesis, the differences under each of the others, and where the best one fails."""
    total = sum(each["dot products"] for each in compared.values())
    sums: Counter[str] = Counter()
    for each in compared.values():
        sums.update({name: counts["differ"] for name, counts in each["hypotheses"].items()})
    best = min(sums, key=lambda name: sums[name])
    print(f"{case.name}: {total} dot products, {sums[best]} differ if {best}; {list(sums.values())}")
    for kind, each in compared.items():
        counts = each["hypotheses"][best]
        if counts["differ"]:
            print(f"    {kind}: {', '.join(f'{name} {count}' for name, count in counts.items())}")
            print(f"        {json.dumps(each['examples'][:1])}")


if __name__ == "__main__":
    parser = command_line("tensor_cores", tensor_cores.__doc__)
    parser.add_argument(
        "vectors", type=Path, nargs="?", default=Path("tensor_cores.json"), help="dot products for tests"
    )
    asked = parser.parse_args()
    main(asked.results, asked.vectors)

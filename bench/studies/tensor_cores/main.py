"""The comparison of every instruction and kind of numbers."""

from __future__ import annotations

import json
import multiprocessing
import os
import time
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bench.studies.study import write
from bench.studies.tensor_cores.comparison import compare, vector
from bench.studies.tensor_cores.kernels import Runner, compiled
from bench.studies.tensor_cores.numbers import CASES, Case, kinds_of, operands, unsigned

COUNTS = ("dot products", "differ", "signs of zeros", "bits of NaN")


def _measured(runner: Runner, pool: ProcessPoolExecutor) -> Iterator[tuple[Case, str, Future[Any], dict[str, Any]]]:
    """Yield every case and kind of numbers, with its running comparison and its vector."""
    for case in CASES:
        kernel = compiled(case).get_kernel("kernel")
        for kind in kinds_of(case):
            drawn = operands(case, kind)
            got = runner.result(case, kernel, *drawn).view(unsigned(case.result))
            yield case, kind, pool.submit(compare, case, kind, got), vector(case, *drawn, got)


def main(results: Path, vectors: Path = Path("tensor_cores.json")) -> None:
    """Run everything, write both files, and print the counts of each instruction, with an example where they differ."""
    begin = time.perf_counter()
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    runner = Runner()
    machine = {"machine": {"name": runner.gpu.name, "compute_capability": list(runner.gpu.compute_capability)}}
    rows: list[dict[str, Any]] = []
    documents: list[dict[str, Any]] = []
    with ProcessPoolExecutor(min(16, len(os.sched_getaffinity(0))), multiprocessing.get_context("spawn")) as pool:
        under_way = list(_measured(runner, pool))
        for case in CASES:
            kinds = {kind: (future.result(), kept) for each, kind, future, kept in under_way if each == case}
            sums = {name: sum(compared[name] for compared, _ in kinds.values()) for name in COUNTS}
            rows.append({"instruction": case.name, **sums})
            documents.append({"case": asdict(case), "kinds": {kind: kept for kind, (_, kept) in kinds.items()}})
            print(*rows[-1].values())
            for kind, (found, _) in kinds.items():
                if found["differ"]:
                    print(f"    {kind}: {json.dumps(found)}", flush=True)
            write(results, machine, rows=rows)
            write(vectors, machine, tensor_cores=documents)
    print(f"{time.perf_counter() - begin:.0f} s")

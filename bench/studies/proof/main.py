"""The command line of the proofs."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal, TypeAlias, get_args

from bench.studies.proof.bounds import observed, subjects
from bench.studies.proof.kernels import Row, emulated_kernels, proved
from bench.studies.proof.mutants import drawn, outcome
from bench.studies.public_kernels.declared import CHECKOUTS
from bench.studies.study import printed_rows, write
from mmcore.executor.choose_device import device_name
from mmcore_emulator.adapter.proof import PROVED, WRONG

Part: TypeAlias = Literal["kernels", "mutants", "bounds"]


def main(
    what: Part,
    results: Path,
    *,
    checkouts: Path | None = None,
    kernel: str = "*",
    count: int = 200,
    products: int = 500,
    device: str = "auto",
    seed: int = 0,
    jobs: int = 1,
) -> int:
    """Print and write the rows; return 1 if one refutes the proof.

    Args:
        what: the part.
        results: the file to write.
        checkouts: folder with a checkout of each public repository; without it, only registered kernels.
        kernel: name or pattern of the kernels.
        count: mutants.
        products: products of each proved kernel, beside whose bound their errors are compared.
        device: that computes them.
        seed: of the draws.
        jobs: processes.
    """
    if checkouts:
        os.environ[CHECKOUTS] = str(checkouts.resolve())
    lists = json.loads(results.read_text(encoding="utf-8")) if results.exists() else {}
    rows: Iterator[Row]
    match what:
        case "kernels":
            rows = printed_rows(proved, emulated_kernels(kernel, checkouts), jobs)
        case "mutants":
            rows = printed_rows(outcome, drawn(count, seed), jobs)
        case "bounds":
            names, proofs = emulated_kernels(kernel, checkouts), lists.get("kernels", ())
            rows = printed_rows(observed, subjects(names, proofs, device_name(device), products, seed), jobs)
    lists[what] = []
    for row in rows:
        lists[what].append(row)
        write(results, {"seed": seed}, **{name: lists[name] for name in get_args(Part) if name in lists})
    return int(any(map(_BAD[what], lists[what])))


_BAD: dict[Part, Callable[[Row], bool]] = {
    "kernels": lambda row: row["outcome"] == WRONG and row["expected"] == "right",
    "mutants": lambda row: row["outcome"] == PROVED and not row["equal"],
    "bounds": lambda row: row["outcome"] == PROVED and not row.get("within"),
}
"""The rows that refute the proof."""

"""The command line of the proofs."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Literal

from bench.studies.proof.kernels import emulated_kernels, proved
from bench.studies.proof.mutants import drawn, outcome
from bench.studies.public_kernels.declared import CHECKOUTS
from bench.studies.study import printed_rows, write


def main(
    what: Literal["kernels", "mutants"],
    results: Path,
    *,
    checkouts: Path | None = None,
    kernel: str = "*",
    count: int = 200,
    seed: int = 0,
    jobs: int = 1,
) -> int:
    """Print and write the rows; return 1 if a right kernel is wrong, or a mutant is proved that is not.

    Args:
        what: the part.
        results: the file to write.
        checkouts: folder with a checkout of each public repository; without it, only registered kernels.
        kernel: name or pattern of the kernels.
        count: mutants.
        seed: of the draws.
        jobs: processes.
    """
    if checkouts:
        os.environ[CHECKOUTS] = str(checkouts.resolve())
    lists = json.loads(results.read_text(encoding="utf-8")) if results.exists() else {}
    if what == "kernels":
        lists[what] = list(printed_rows(proved, emulated_kernels(kernel, checkouts), jobs))
        bad = [row for row in lists[what] if row["outcome"] == "wrong" and row["expected"] == "right"]
    else:
        lists[what] = list(printed_rows(outcome, drawn(count, seed), jobs))
        bad = [row for row in lists[what] if row["outcome"] == "proved" and not row["equal"]]
    write(results, {"seed": seed}, **{name: lists[name] for name in ("kernels", "mutants") if name in lists})
    return int(bool(bad))

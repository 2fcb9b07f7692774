"""The command line of predicted times."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

from bench.studies.prediction.errors import busiest, errors, halves, rungs
from bench.studies.prediction.evidence import count
from bench.studies.prediction.fit import fit, fitted_half, initial, spread, write_parameters
from bench.studies.prediction.measure import measure
from bench.studies.prediction.rows import COUNTS, Row, evidence_from, key, rows_of, write_rows
from bench.studies.public_kernels.declared import CHECKOUTS
from mmcore_performance.prediction import predict


def main(
    action: Literal["evidence", "measure", "fit", "report"], results: Sequence[Path], *, checkouts: Path | None = None
) -> None:
    """Count, measure or fit, or print the errors.

    Args:
        action: what to do.
        results: the files with the measured times, one for each card.
        checkouts: folder with a checkout of each public repository; without it, only registered kernels.
    """
    os.environ.setdefault(CHECKOUTS, str((checkouts or Path("checkouts")).resolve()))
    match action:
        case "evidence":
            count(_rows(results))
        case "measure":
            for path in results:
                measure(path, public=checkouts is not None)
        case "fit":
            _fit(results)
        case "report":
            _report(results)


def _rows(results: Sequence[Path]) -> list[Row]:
    return [row for path in results for row in rows_of(path)]


def _fit(results: Sequence[Path]) -> None:
    """Write parameters.toml, and the predicted times beside the measured ones."""
    counts = {key(row): row for row in rows_of(COUNTS)}
    known = [
        (row["kernel"], evidence_from(counts[key(row)], row["card"]), row["seconds"])
        for row in _rows(results)
        if fitted_half(row["kernel"]) and key(row) in counts
    ]
    parameters = replace(fit(known, initial()), spread=spread(known, initial()))
    write_parameters(parameters)
    for path in results:
        rows = rows_of(path)
        for row in rows:
            for name in ("predicted", "limiter", "unit", "type"):
                row.pop(name, None)
            if key(row) in counts:
                evidence = evidence_from(counts[key(row)], row["card"])
                prediction = predict(evidence, parameters)
                times = [float(f"{time:.4g}") for time in (prediction.seconds, prediction.low, prediction.high)]
                row |= {"predicted": times, "limiter": prediction.limiter}
                row |= {"unit": prediction.busiest, "type": evidence.kernel.unit}
        write_rows(path, rows)


def _report(results: Sequence[Path]) -> None:
    """Print the errors of both halves, of the rungs' order, and of the busiest unit."""
    rows = _rows(results)
    for title, half in zip(("fitted", "left out"), halves(rows), strict=True):
        print(title, errors(half))
    print("rungs in order: {} of {}".format(*rungs(rows)))
    pairs = list(busiest(rows))
    for kernel, measured, predicted in pairs:
        if measured != predicted:
            print(f"{kernel}: ncu {measured}, predicted {predicted}")
    print(f"busiest unit: {sum(measured == predicted for _, measured, predicted in pairs)} of {len(pairs)}")

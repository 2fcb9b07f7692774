"""The command line of predicted times."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

from bench.studies.prediction.errors import busiest, errors, halves, rungs
from bench.studies.prediction.evidence import count
from bench.studies.prediction.fit import fit, fitted_half, initial, spread, write_parameters
from bench.studies.prediction.measure import measure
from bench.studies.prediction.rows import COUNTS, evidence_from, key, rows_of, write_rows
from bench.studies.public_kernels.declared import CHECKOUTS
from mmcore_performance.prediction import predict


def main(
    action: Literal["evidence", "measure", "fit", "report"], results: Path, *, checkouts: Path | None = None
) -> None:
    """Count, measure or fit, or print the errors.

    Args:
        action: what to do.
        results: the file with the measured times.
        checkouts: folder with a checkout of each public repository; without it, only registered kernels.
    """
    os.environ.setdefault(CHECKOUTS, str((checkouts or Path("checkouts")).resolve()))
    match action:
        case "evidence":
            count(results)
        case "measure":
            measure(results, public=checkouts is not None)
        case "fit":
            _fit(results)
        case "report":
            _report(results)


def _fit(results: Path) -> None:
    """Write parameters.toml, and the predicted times beside the measured ones."""
    rows = rows_of(results)
    evidences = {key(row): evidence_from(row) for row in rows_of(COUNTS)}
    fitted = [row for row in rows if fitted_half(row["kernel"]) and key(row) in evidences]
    seconds, names = [row["seconds"] for row in fitted], [row["kernel"] for row in fitted]
    known = [evidences[key(row)] for row in fitted]
    parameters = spread(fit(known, seconds, names, initial()), known, seconds)
    write_parameters(parameters)
    for row in rows:
        for name in ("predicted", "limiter", "unit", "type"):
            row.pop(name, None)
        if evidence := evidences.get(key(row)):
            prediction = predict(evidence, parameters)
            times = [float(f"{time:.4g}") for time in (prediction.seconds, prediction.low, prediction.high)]
            row |= {"predicted": times, "limiter": prediction.limiter}
            row |= {"unit": prediction.busiest, "type": evidence.kernel.unit}
    write_rows(results, rows)


def _report(results: Path) -> None:
    """Print the errors of both halves, of the rungs' order, and of the busiest unit."""
    rows = rows_of(results)
    for title, half in zip(("fitted", "left out"), halves(rows), strict=True):
        print(title, errors(half))
    print("rungs in order: {} of {}".format(*rungs(rows)))
    pairs = list(busiest(rows))
    for kernel, measured, predicted in pairs:
        if measured != predicted:
            print(f"{kernel}: ncu {measured}, predicted {predicted}")
    print(f"busiest unit: {sum(measured == predicted for _, measured, predicted in pairs)} of {len(pairs)}")

"""Products of every type without a device: is each judged as the documentation says?

``python -m bench.studies.fuzz_types --cases 200 --jobs 2 --save bench/results/numpy/types.json`` makes, of each
combination of types, 200 right products in many orders of summation, 200 with a term dropped, doubled or swapped, and
200 of a lower precision than is declared (tests/fuzzing/arithmetics.py), and asks mmcore about each. The first that is
judged otherwise than a second computation of the tolerance says ends the run. Then it is measured how much of their
tolerance sums of 8-bit floats on tensor cores take. The tables in docs/verification.md are made of the committed
result.
"""

from __future__ import annotations

import argparse
import datetime
import json
import multiprocessing
import platform
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np

from mmcore.kernel.problem import Problem
from mmcore.verify.inputs import draw, draw_mixed
from tests.fuzzing.arithmetics import ARITHMETICS, EIGHT_BITS
from tests.fuzzing.products import ACCEPTED, LOWER, REJECTED, RIGHT, TERMS, WITHIN, try_product
from tests.fuzzing.truth import truth_of
from tests.narrowing import wide

_SIZE = 32
_DEPTHS = tuple(2**power for power in range(5, 17))


def main() -> None:
    """Try all types, print what came of it, and save it."""
    parser = argparse.ArgumentParser(prog="python -m bench.studies.fuzz_types")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cases", type=int, default=200, help="of each types and kind")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--save", type=Path, metavar="RESULTS.json")
    asked = parser.parse_args()
    begun, found = time.perf_counter(), {}
    with ProcessPoolExecutor(asked.jobs, multiprocessing.get_context("spawn")) as pool:
        runs = [pool.submit(fuzz, number, asked.seed, asked.cases) for number in range(len(ARITHMETICS))]
        shares = [pool.submit(share_of_tolerance, k) for k in _DEPTHS]
        for arithmetic, run in zip(ARITHMETICS, runs, strict=True):
            found[str(arithmetic)] = run.result()
            print(f"{arithmetic}:")
            for kind, counts in found[str(arithmetic)].items():
                print(f"    {kind:45} {', '.join(f'{count} {outcome}' for outcome, count in counts.items())}")
        float22 = {str(k): share.result() for k, share in zip(_DEPTHS, shares, strict=True)}
    seconds = time.perf_counter() - begun
    print(f"no product misjudged, {seconds:.0f} s")
    if asked.save:
        document = {
            "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
            "python": platform.python_version(),
            "numpy": np.__version__,
            "seed": asked.seed,
            "cases": asked.cases,
            "seconds": round(seconds),
            "types": found,
            "float22": float22,
        }
        asked.save.parent.mkdir(parents=True, exist_ok=True)
        asked.save.write_text(json.dumps(document, indent=1) + "\n")


def fuzz(number: int, seed: int, cases: int) -> dict[str, dict[str, int]]:
    """What came of the products of one combination of types, by kind and by the way in which the precision is lower."""
    counts: dict[str, Counter[str]] = {}
    for kind, each in [(RIGHT, cases), (LOWER, cases), *_shared(cases)]:
        for case in range(each):
            name, outcome = try_product(ARITHMETICS[number], kind, seed, case)
            counts.setdefault(name if kind == LOWER else kind, Counter())[outcome] += 1
    order = (ACCEPTED, REJECTED, WITHIN)
    return {kind: {name: found[name] for name in order if found[name]} for kind, found in sorted(counts.items())}


def _shared(cases: int) -> list[tuple[str, int]]:
    """The mistakes in terms, about as many of each."""
    return [(kind, len(range(number, cases, len(TERMS)))) for number, kind in enumerate(TERMS)]


def share_of_tolerance(k: int) -> dict[str, float]:
    """How much of its tolerance a sum of 8-bit floats takes on tensor cores, and how large that is beside C.

    Returns:
        "error": the largest error of an element by its tolerance, of uniform and of mixed inputs; "tolerance": the
        tolerance by C's own size, root mean square, of uniform inputs.
    """
    errors, tolerances = [], []
    for number, dtype in enumerate(("float8_e4m3fn", "float8_e5m2")):
        problem = Problem(_SIZE, _SIZE, k, dtype, "float32")
        for matrices in (draw(problem, number), draw_mixed(problem, "float22", number)):
            truth = truth_of(problem, "float22", matrices)
            error = np.abs(EIGHT_BITS(wide(matrices.a, dtype), wide(matrices.b, dtype)) - truth.product)
            judged = truth.close > 0
            assert not error[~judged].any(), "whole numbers are not exact"
            errors.append(float((error[judged] / truth.close[judged]).max()))
            if matrices.rows is None:
                tolerances.append(float(truth.bound.mean() / np.sqrt(np.square(truth.product).mean())))
    return {"error": max(errors), "tolerance": max(tolerances)}


if __name__ == "__main__":
    main()

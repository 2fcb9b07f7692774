"""Random cases whose right verdict is known without mmcore (tests/fuzzing): kernels, or products of all types.

``fuzz emulator --seeds 1 2 --cases 3000 --jobs 2 --save RESULTS.json`` tries 3000 cases of each seed in two processes.
A case is one of the lectures' kernels, or a small one of another type with leading dimensions. mmcore must refuse it in
the right words, verify it, or reject it if it was launched against its constraints or damaged, and its product is
wrong. The first wrong verdict ends the run with the command that repeats the case (``--only NUMBER``). On a GPU, a
launch against the constraints runs on the emulator first, and on the GPU only if it stays in its memory.

``fuzz types`` needs no device. Of each combination of types it makes right products in many orders of summation, some
with a term dropped, doubled or swapped, and some of a lower precision than declared. It compares each verdict with a
second computation of the tolerance. Then it measures how much of their tolerance sums of 8-bit floats on tensor cores
take.
"""

from __future__ import annotations

import datetime
import multiprocessing
import platform
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any, Literal

import numpy as np

from bench.studies.study import machine_info, write
from mmcore.executor.choose_device import open_device
from mmcore.kernel.problem import Problem
from mmcore.verify.inputs import draw
from mmcore.verify.mixed_inputs import draw_mixed
from tests.fuzzing.arithmetics import ARITHMETICS, EIGHT_BITS
from tests.fuzzing.drawing import EXTENTS, draw_case
from tests.fuzzing.products import ACCEPTED, LOWER, REJECTED, RIGHT, TERMS, WITHIN, try_product
from tests.fuzzing.subjects import subjects
from tests.fuzzing.truth import truth_of
from tests.fuzzing.trying import describe, try_case
from tests.narrowing import wide

TYPES = "types"
_TOGETHER = 250
"""Cases that a process tries before it reports them and takes the next."""
_SIZE = 32
_DEPTHS = tuple(2**power for power in range(5, 17))

Counts = Counter[tuple[str, str]]
"""Cases by kernel and outcome."""


def main(
    device: Literal["emulator", "cuda", "types"],
    *,
    seeds: Sequence[int] = (1,),
    cases: int | None = None,
    jobs: int = 1,
    only: int | None = None,
    save: Path | None = None,
) -> None:
    """Try the cases, print what happened, and save the counts.

    Args:
        device: where kernels run; "types" needs none.
        seeds: of the runs.
        cases: of each seed (1000), or of each types and kind (200).
        jobs: processes; one on a GPU.
        only: this case of each seed alone.
        save: file to write.
    """
    began = time.perf_counter()
    with ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn")) as pool:
        if device == TYPES:
            document = try_types(pool, seeds[0], cases or 200)
        else:
            numbers = range(cases or 1000) if only is None else range(only, only + 1)
            document = try_kernels(pool, device, seeds, numbers)
    seconds = round(time.perf_counter() - began)
    print(f"no wrong verdict, {seconds} s")
    if save:
        versions = {"python": platform.python_version(), "numpy": np.__version__}
        head = {"date": datetime.datetime.now(datetime.UTC).date().isoformat(), **versions, "seconds": seconds}
        write(save, head | document)


# Kernels on a device


def try_kernels(pool: ProcessPoolExecutor, device: str, seeds: Sequence[int], numbers: range) -> dict[str, Any]:
    """Return the outcomes of all cases by kernel; the first wrong verdict ends the program."""
    parts = [
        (seed, numbers[begin : begin + _TOGETHER]) for begin in range(0, len(numbers), _TOGETHER) for seed in seeds
    ]
    counts = Counts()
    with tempfile.TemporaryDirectory() as folder:
        runs = [pool.submit(try_part, device, seed, part, Path(folder)) for seed, part in parts]
        for run in as_completed(runs):
            if error := run.exception():
                pool.shutdown(cancel_futures=True)
                raise SystemExit(str(error))
            counts += run.result()
            print(f"{counts.total()} cases", flush=True)
    for outcome in sorted({outcome for _, outcome in counts}):
        print(f"{outcome:50} {sum(count for (_, name), count in counts.items() if name == outcome):6}")
    by_kernel: dict[str, dict[str, int]] = {}
    for (kernel, outcome), count in sorted(counts.items()):
        by_kernel.setdefault(kernel, {})[outcome] = count
    head = machine_info(open_device(device).facts)
    return {**head, "seeds": seeds, "cases": counts.total(), "outcomes": by_kernel}


def try_part(name: str, seed: int, numbers: range, folder: Path) -> Counts:
    """Try some cases of a seed on a device, with changed sources in the folder.

    Raises:
        RuntimeError: a verdict is wrong; the message ends with the command that repeats the case.
    """
    emulator, found, counts = open_device("emulator"), subjects(), Counts()
    opened = emulator if name == "emulator" else open_device(name)
    for number in numbers:
        case = draw_case(seed, number, found, EXTENTS[name])
        try:
            counts[case.subject.kernel.name, try_case(case, opened, folder, rehearsal=emulator)] += 1
        except Exception as error:
            again = f"python -m bench.studies fuzz {name} --seeds {seed} --only {number}"
            raise RuntimeError(f"{type(error).__name__}: {error}\n{describe(case)}\nagain: {again}") from None
    return counts


# Products of all types


def try_types(pool: ProcessPoolExecutor, seed: int, cases: int) -> dict[str, Any]:
    """Return the outcomes of products by types and kind, and the shares of the tolerance of 8-bit floats by k."""
    types = {}
    runs = [pool.submit(try_products, number, seed, cases) for number in range(len(ARITHMETICS))]
    shares = [pool.submit(share_of_tolerance, k) for k in _DEPTHS]
    for arithmetic, run in zip(map(str, ARITHMETICS), runs, strict=True):
        types[arithmetic] = run.result()
        print(f"{arithmetic}:")
        for kind, counts in types[arithmetic].items():
            print(f"    {kind:45} {', '.join(f'{count} {outcome}' for outcome, count in counts.items())}")
    float22 = {str(k): share.result() for k, share in zip(_DEPTHS, shares, strict=True)}
    return {"seed": seed, "cases": cases, "types": types, "float22": float22}


def try_products(number: int, seed: int, cases: int) -> dict[str, dict[str, int]]:
    """Return the outcomes of one combination of types, by kind and by the way in which the precision is lower."""
    counts: dict[str, Counter[str]] = {}
    # About as many of each mistake in terms.
    mistakes = [(kind, len(range(index, cases, len(TERMS)))) for index, kind in enumerate(TERMS)]
    for kind, count in [(RIGHT, cases), (LOWER, cases), *mistakes]:
        for case in range(count):
            name, outcome = try_product(ARITHMETICS[number], kind, seed, case)
            counts.setdefault(name if kind == LOWER else kind, Counter())[outcome] += 1
    order = (ACCEPTED, REJECTED, WITHIN)
    return {kind: {name: found[name] for name in order if found[name]} for kind, found in sorted(counts.items())}


def share_of_tolerance(k: int) -> dict[str, float]:
    """Return how much of its tolerance a sum of 8-bit floats takes on tensor cores, and the tolerance beside C.

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

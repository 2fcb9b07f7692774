"""Random cases over every lecture kernel, and over kernels of other types with leading dimensions: is mmcore right?

``python -m bench.studies.fuzz emulator --seeds 1 2 --cases 3000 --jobs 2 --save bench/results/emulator/fuzz.json``
tries 3000 cases of either seed, in two processes. What must come of a case is known without mmcore (tests/fuzzing): it
is refused in the right words, or verified, or, launched against its constraints or damaged, rejected if its product is
wrong. The first case of which mmcore says anything else ends the run, with the command that tries it again (``--only
NUMBER``). The tables in docs/trust.md are made from the committed results by ``python -m bench.studies.tables``.

On a GPU, a launch against the constraints is made on the emulator first, and on the GPU only if it stays in its memory.
"""

from __future__ import annotations

import argparse
import datetime
import json
import multiprocessing
import platform
import tempfile
import time
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

import numpy

from mmcore.executor.choose_device import open_device
from mmcore_pytest.saved_results import describe as describe_machine
from tests.fuzzing.drawing import EXTENTS, draw_case
from tests.fuzzing.subjects import subjects
from tests.fuzzing.trying import describe, try_case

Counts = Counter[tuple[str, str]]
"""Cases by kernel and outcome."""

_TOGETHER = 250
"""Cases that a process tries before it says so and takes the next."""


def main() -> None:
    """Try the cases of all seeds, and save the counts."""
    parser = argparse.ArgumentParser(prog="python -m bench.studies.fuzz")
    parser.add_argument("device", choices=sorted(EXTENTS))
    parser.add_argument("--seeds", type=int, nargs="+", default=[1])
    parser.add_argument("--cases", type=int, default=1000, help="cases of each seed")
    parser.add_argument("--jobs", type=int, default=1, help="processes; one on a GPU")
    parser.add_argument("--only", type=int, help="this case of each seed alone")
    parser.add_argument("--save", type=Path, metavar="RESULTS.json")
    asked = parser.parse_args()
    first, end = (0, asked.cases) if asked.only is None else (asked.only, asked.only + 1)
    parts = [
        (seed, range(begin, min(begin + _TOGETHER, end)))
        for begin in range(first, end, _TOGETHER)
        for seed in asked.seeds
    ]
    begun = time.perf_counter()
    counts = try_all(asked.device, parts, asked.jobs)
    seconds = time.perf_counter() - begun
    for outcome in sorted({outcome for _, outcome in counts}):
        print(f"{outcome:50} {sum(count for (_, name), count in counts.items() if name == outcome):6}")
    print(f"{counts.total()} cases in {seconds:.0f} s: no disagreement")
    if asked.save:
        save(asked.save, asked.device, asked.seeds, counts, seconds)


def try_all(name: str, parts: Iterable[tuple[int, range]], jobs: int) -> Counts:
    """Try cases, given as (seed, numbers), in processes of their own; the first disagreement ends the program."""
    counts = Counts()
    with (
        tempfile.TemporaryDirectory() as folder,
        ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn")) as pool,
    ):
        runs = [pool.submit(fuzz, name, seed, numbers, Path(folder)) for seed, numbers in parts]
        for run in as_completed(runs):
            if error := run.exception():
                pool.shutdown(cancel_futures=True)
                raise SystemExit(str(error))
            counts += run.result()
            print(f"{counts.total()} cases", flush=True)
    return counts


def fuzz(name: str, seed: int, numbers: range, folder: Path) -> Counts:
    """Try some cases of a seed.

    Args:
        name: the device's.
        seed: of the run.
        numbers: which cases.
        folder: where changed sources go.

    Raises:
        RuntimeError: something came of a case that must not; the message ends with the command that tries it again.
    """
    emulator, found, counts = open_device("emulator"), subjects(), Counts()
    opened = emulator if name == "emulator" else open_device(name)
    for number in numbers:
        case = draw_case(seed, number, found, EXTENTS[name])
        try:
            counts[case.subject.kernel.name, try_case(case, opened, folder, rehearsal=emulator)] += 1
        except Exception as error:
            again = f"python -m bench.studies.fuzz {name} --seeds {seed} --only {number}"
            raise RuntimeError(f"{type(error).__name__}: {error}\n{describe(case)}\nagain: {again}") from None
    return counts


def save(path: Path, name: str, seeds: list[int], counts: Counts, seconds: float) -> None:
    """Write what was tried, where, and what came of it."""
    machine: dict[str, Any] = {}
    describe_machine(machine, open_device(name).facts)
    kernels = sorted({kernel for kernel, _ in counts})
    document = {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "machine_info": machine,
        "python": platform.python_version(),
        "numpy": numpy.__version__,
        "seeds": seeds,
        "cases": counts.total(),
        "seconds": round(seconds),
        "outcomes": {
            kernel: {outcome: count for (name, outcome), count in sorted(counts.items()) if name == kernel}
            for kernel in kernels
        },
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()

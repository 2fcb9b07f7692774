"""Kernels of public repositories on the emulator and on a GPU: are the bits of C the same?

``python -m bench.studies.emulated_bits CHECKOUTS RESULTS.json [--kernel P] [--jobs N]`` runs each kernel once on both,
at the size that the emulator verifies it at, with the same inputs, and compares the results element by element. With
``--registered 'ladder.*'`` it runs registered kernels instead, on mixed and on uniform inputs.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import os
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from bench.studies.public_kernels.corpus import KERNELS
from bench.studies.public_kernels.declared import CHECKOUTS
from bench.studies.results_file import results_text
from mmcore import kernels
from mmcore.devices.base import Device
from mmcore.devices.loaded_kernel import LoadedKernel
from mmcore.errors import MmcoreError, Unsupported
from mmcore.executor.choose_device import open_device
from mmcore.kernel.declaration import Kernel
from mmcore.kernel.problem import Problem
from mmcore.planning.plan import plan
from mmcore.verify.inputs import Matrices, draw, draw_mixed
from mmcore.verify.verify_launches import host_arrays
from mmcore_pytest.saved_results import describe

LARGEST = 512
RAGGED = (135, 75, 70)
SEED = 1


def main() -> None:
    """Compare, print a line for each kernel, and write the rows."""
    parser = argparse.ArgumentParser(prog="python -m bench.studies.emulated_bits", description=__doc__)
    parser.add_argument("checkouts", type=Path, help="folder with a checkout of each repository")
    parser.add_argument("results", type=Path)
    parser.add_argument("--kernel", default="*")
    parser.add_argument("--registered", default="", metavar="PATTERN")
    parser.add_argument("--jobs", type=int, default=1)
    asked = parser.parse_args()
    os.environ[CHECKOUTS] = str(asked.checkouts.resolve())
    compare: Callable[[str], dict[str, Any]] = partial(public_compared, asked.checkouts)
    names = [name for name in KERNELS if fnmatch.fnmatch(name, asked.kernel)]
    if asked.registered:
        compare, names = registered_compared, fnmatch.filter(kernels(), asked.registered)
    rows = []
    with ProcessPoolExecutor(asked.jobs, mp_context=get_context("spawn")) as pool:
        for row in pool.map(compare, names):
            print(json.dumps(row), flush=True)
            rows.append(row)
    machine: dict[str, Any] = {}
    describe(machine, open_device("cuda").facts)
    asked.results.write_text(results_text({"machine_info": machine}, rows=rows), encoding="utf-8")


def public_compared(checkouts: Path, name: str) -> dict[str, Any]:
    """The row of a public kernel, where there is a checkout of it."""
    public = KERNELS[name]
    sizes = public.measured_sizes([], timed=False)[0]
    row = {"kernel": name, "family": public.family, "m": sizes.m, "n": sizes.n, "k": sizes.k}
    if max(sizes.m, sizes.n, sizes.k) > LARGEST:
        return row | {"differing": None, "reason": f"its least size is more than {LARGEST}"}
    if not (checkouts / public.repository).is_dir():
        return row | {"differing": None, "reason": "there is no checkout of it"}
    kernel = public.located()
    return row | compared(kernel, kernel.problem(sizes.m, sizes.n, sizes.k), draw_mixed)


def registered_compared(name: str) -> dict[str, Any]:
    """The row of a registered kernel, at a size that hangs over its tiles' edges if it may."""
    kernel = kernels()[name]
    problem, config = kernel.problem(*RAGGED), kernel.usual_configs[0]
    if kernel.violations(problem, config):
        problem = kernel.square_problem(129, config)
    row = {"kernel": name, "family": "ladder", "m": problem.m, "n": problem.n, "k": problem.k}
    mixed, uniform = (
        compared(kernel, problem, inputs) for inputs in (draw_mixed, lambda problem, _, seed: draw(problem, seed))
    )
    return row | mixed | {"uniform": uniform}


def compared(kernel: Kernel, problem: Problem, inputs: Callable[[Problem, str, int], Matrices]) -> dict[str, Any]:
    """How many elements of C differ, and what either device says of the kernel."""
    row: dict[str, Any] = {}
    try:
        (emulated, approximate), (computed, _) = (
            product(kernel, problem, open_device(device), inputs) for device in ("emulator", "cuda")
        )
    except Unsupported as error:
        return row | {"differing": None, "reason": str(error).splitlines()[0]}
    except MmcoreError as error:
        return row | {"differing": None, "reason": f"{type(error).__name__}: {str(error).splitlines()[0]}"}
    differing = int((emulated != computed).sum())
    return row | {"differing": differing, "elements": emulated.size, "approximate": approximate, "reason": ""}


def product(
    kernel: Kernel, problem: Problem, device: Device, inputs: Callable[[Problem, str, int], Matrices]
) -> tuple[np.ndarray[Any, np.dtype[Any]], int]:
    """C's bits after one run, and how many operations the emulator knows to be approximate on a GPU."""
    planned = plan(kernel, problem, kernel.fitting_config(problem), device.properties)
    arrays = host_arrays(planned, inputs(problem, kernel.accumulator, SEED))
    with LoadedKernel(planned, device) as loaded:
        loaded.upload(arrays)
        if violations := loaded.run():
            raise MmcoreError(f"{device.name}: {violations[0]}")
        result = np.empty_like(arrays["C"])
        loaded.buffers["C"].download(result)
        approximate = getattr(loaded.module, "approximate_operations", 0)
    return result.view(f"u{result.itemsize}"), approximate


if __name__ == "__main__":
    main()

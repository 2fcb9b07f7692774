"""Kernels of public repositories on the emulator and on a GPU, compared bit for bit.

CHECKOUTS is a folder with a checkout of each repository. Each kernel runs once on both devices, with the same inputs,
at the size at which the emulator verifies it. With ``--registered 'ladder.*'`` it runs registered kernels instead, on
mixed and on uniform inputs.
"""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from bench.studies.public_kernels.corpus import KERNELS
from bench.studies.public_kernels.declared import CHECKOUTS
from bench.studies.study import machine_info, printed_rows, write
from mmcore import kernels
from mmcore.devices.base import Device
from mmcore.devices.loaded_kernel import LoadedKernel
from mmcore.errors import MmcoreError, Unsupported
from mmcore.executor.choose_device import open_device
from mmcore.kernel.declaration import Kernel
from mmcore.kernel.problem import Problem
from mmcore.planning.plan import plan
from mmcore.verify.inputs import Matrices, draw
from mmcore.verify.mixed_inputs import draw_mixed
from mmcore.verify.verify_launches import host_arrays

LARGEST = 512
RAGGED = (135, 75, 70)
SEED = 1

Draw = Callable[[Problem, str, int], Matrices]


def main(checkouts: Path, results: Path, *, kernel: str = "*", registered: str = "", jobs: int = 1) -> None:
    """Compare the kernels of a name or pattern, print a line for each, and write the rows."""
    os.environ[CHECKOUTS] = str(checkouts.resolve())
    compare: Callable[[str], dict[str, Any]] = partial(public_compared, checkouts)
    names = fnmatch.filter(KERNELS, kernel)
    if registered:
        compare, names = registered_compared, fnmatch.filter(kernels(), registered)
    rows = list(printed_rows(compare, names, jobs))
    write(results, machine_info(open_device("cuda").facts), rows=rows)


def public_compared(checkouts: Path, name: str) -> dict[str, Any]:
    """Return the row of a public kernel; it says why, where there is nothing to compare."""
    public = KERNELS[name]
    sizes = public.measured_sizes([], timed=False)[0]
    row = {"kernel": name, "family": public.family, "m": sizes.m, "n": sizes.n, "k": sizes.k}
    if max(sizes) > LARGEST:
        return row | {"differing": None, "reason": f"its least size is more than {LARGEST}"}
    if not (checkouts / public.repository).is_dir():
        return row | {"differing": None, "reason": "there is no checkout of it"}
    kernel = public.located()
    return row | compared(kernel, kernel.problem(*sizes), draw_mixed)


def registered_compared(name: str) -> dict[str, Any]:
    """Return the row of a registered kernel, at a size that is no multiple of its tiles where it allows one."""
    kernel = kernels()[name]
    problem, config = kernel.problem(*RAGGED), kernel.usual_configs[0]
    if kernel.violations(problem, config):
        problem = kernel.square_problem(129, config)
    row = {"kernel": name, "family": "ladder", "m": problem.m, "n": problem.n, "k": problem.k}
    mixed, uniform = (
        compared(kernel, problem, inputs) for inputs in (draw_mixed, lambda problem, _, seed: draw(problem, seed))
    )
    return row | mixed | {"uniform": uniform}


def compared(kernel: Kernel, problem: Problem, inputs: Draw) -> dict[str, Any]:
    """Return the number of elements of C that differ, or the reason why a device did not compute it."""
    try:
        (emulated, approximate), (computed, _) = (
            product(kernel, problem, open_device(device), inputs) for device in ("emulator", "cuda")
        )
    except Unsupported as error:
        return {"differing": None, "reason": str(error).splitlines()[0]}
    except MmcoreError as error:
        return {"differing": None, "reason": f"{type(error).__name__}: {str(error).splitlines()[0]}"}
    differing = int((emulated != computed).sum())
    return {"differing": differing, "elements": emulated.size, "approximate": approximate, "reason": ""}


def product(
    kernel: Kernel, problem: Problem, device: Device, inputs: Draw
) -> tuple[np.ndarray[Any, np.dtype[Any]], int]:
    """Return C's bits after one run, and the number of operations that are approximate on a GPU."""
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

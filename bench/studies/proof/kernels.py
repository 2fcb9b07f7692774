"""The proof of each registered and each public kernel, at the smallest size that its constraints allow."""

from __future__ import annotations

import fnmatch
import time
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any, TypeAlias

from bench.studies.public_kernels.corpus import KERNELS
from mmcore import Kernel
from mmcore.cell import Cell
from mmcore.devices.violations import Violation
from mmcore.errors import MmcoreError
from mmcore.registry import referenced_kernel, registry
from mmcore_emulator.adapter.device import Emulator
from mmcore_emulator.adapter.proof import PROVED, Proof, prove_cell
from mmcore_emulator.proof.tokens import MOST_ELEMENTS

Row: TypeAlias = dict[str, Any]
Sizes: TypeAlias = tuple[int, int, int]
_ODD = (33, 35, 37)
_DEEPER = 4
_SIDES = (32, 40, 48, 64, 96, 128, 160, 192, 256, 512)


def smallest_sizes(kernel: Kernel) -> Sizes | None:
    """Return the smallest m, n and k that a kernel's constraints allow, 33×35×37 if they may be odd."""
    sides = [(odd, *_SIDES) for odd in _ODD]
    by_volume = sorted(product(*sides), key=lambda each: each[0] * each[1] * each[2])
    for m, n, k in (_ODD, *by_volume):
        problem = kernel.problem(m, n, k)
        if not kernel.violations(problem, kernel.fitting_config(problem)):
            return m, n, k
    problem = kernel.square_problem(32)
    if kernel.violations(problem, kernel.fitting_config(problem)):
        return None
    return problem.m, problem.n, problem.k


def emulated_kernels(pattern: str, checkouts: Path | None) -> Iterator[str]:
    """Yield the names of the kernels whose code the emulator can run, as far as their declaration says."""
    for name in sorted(registry().kernels):
        if fnmatch.fnmatch(name, pattern) and not registry().kernel(name).call:
            yield name
    for name, public in KERNELS.items():
        if checkouts and fnmatch.fnmatch(name, pattern) and (checkouts / public.repository / public.file).exists():
            yield f"bench.studies.public_kernels.corpus:{name}"


def proved(name: str) -> Row:
    """Return the outcome of the proof of a kernel, by the name that a cell gives it.

    A right kernel that is not proved has another try at a deeper k; "shallow" has the reasons of the first.
    """
    kernel = referenced_kernel(name)
    short = kernel.name
    public = KERNELS.get(short)
    expected = "right" if public is None or not public.wrong else "wrong"
    row: Row = {"kernel": short, "family": short.partition(".")[0], "expected": expected}
    sizes = smallest_sizes(kernel)
    if sizes is None and public and public.sizes:
        sizes = public.sizes[0].m, public.sizes[0].n, public.sizes[0].k
    if not sizes:
        return row | {"outcome": "not run", "reasons": ["no size up to 512 is allowed"]}
    row["sizes"] = m, n, k = list(sizes)
    if max(m * n, m * k, k * n) >= MOST_ELEMENTS:
        text = f"no size up to {_SIDES[-1]} is allowed, and {m}×{n}×{k} is too large for a proof"
        return row | {"outcome": "not run", "reasons": [text]}
    try:
        found = _proved_at(name, m, n, k)
        if found["outcome"] != PROVED and expected == "right":
            # A kernel may need more tiles along k than it has stages.
            deeper = _proved_at(name, m, n, _DEEPER * k)
            if deeper["outcome"] == PROVED:
                row["sizes"][2] *= _DEEPER
                row["shallow"], found = found["reasons"], deeper
    except MmcoreError as error:
        return row | {"outcome": "not run", "reasons": [str(error).splitlines()[0]]}
    return row | found


def _proved_at(name: str, m: int, n: int, k: int) -> Row:
    begin = time.perf_counter()
    proof = prove_cell(Cell(name, m, n, k, seed=1), Emulator())
    return {"seconds": round(time.perf_counter() - begin, 2)} | summary(proof)


def summary(proof: Proof) -> Row:
    """Return the outcome, the bound, the bound in tolerances, and the reasons of a proof with their lines."""
    tolerances = proof.bound / proof.tolerance if proof.bound and proof.tolerance else proof.bound
    reasons = [text_of(each) for each in proof.reasons]
    return {"outcome": proof.outcome, "bound": proof.bound, "tolerances": tolerances, "reasons": reasons}


def text_of(reason: Violation) -> str:
    """Return a reason in words, after the line of the source."""
    return f"{Path(reason.source).name}:{reason.line}: {reason.message}" if reason.source else reason.message

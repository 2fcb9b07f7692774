"""Sizes that the assertions of a kernel allow, where they refuse the usual ones."""

from __future__ import annotations

from dataclasses import replace

from mmcore.kernel.constraints import Square
from mmcore.kernel.declaration import Kernel
from mmcore.result import Result
from mmcore_sources.cuda_file.hints.tried_cells import MOST_WORK, TRIED_SECONDS, at_sizes, hint_of, measured, size_of


def allowed_sizes(result: Result, kernel: Kernel) -> str | None:
    """Return a hint with the first larger product that a wrong kernel's assertions allow; None without one."""
    lines = [each.line for each in result.violations if each.kind == "assertion"]
    if not lines:
        return None
    cell = replace(result.cell, device="emulator", timings=(), timeout=4 * TRIED_SECONDS, baseline="", against="")
    square = any(isinstance(each, Square) for each in kernel.constraints)
    m, n, k = cell.m, cell.n, cell.k if square else min(cell.k, 64)
    while True:
        m, n, k = 2 * m, 2 * n, 2 * k if square else k
        tried = at_sizes(cell, kernel, m, n, k)
        if tried.m * tried.n * tried.k > MOST_WORK or (tried.m, tried.n) == (cell.m, cell.n):
            return None
        if kernel.violations(tried.problem(kernel), kernel.config(**tried.config)):
            continue
        found = measured(tried)
        if found is None:
            return None
        if all(each.kind != "assertion" for each in found.violations):
            is_right = "where the product is right" if found.verified else "where the product is wrong, too"
            return hint_of(f"the assertion in line {lines[0]} holds at {size_of(tried)}, {is_right}", tried)

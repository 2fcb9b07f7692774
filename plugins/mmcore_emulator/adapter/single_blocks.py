"""The elements of C that one block of a product computes, verified without a run of the other blocks."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mmcore.devices.loaded_kernel import LoadedKernel
from mmcore.kernel.problem import Problem
from mmcore.planning.plan import Plan
from mmcore.verify.inputs import Matrices, draw
from mmcore.verify.outcome import Verification
from mmcore.verify.verify_launches import host_arrays, rows_of, verify_part
from mmcore_emulator.adapter.conversions import execute
from mmcore_emulator.adapter.device import emulated_runs
from mmcore_emulator.isa.table import effect, is_of_shared_memory
from mmcore_emulator.machine.observer import Observer
from mmcore_emulator.ptx.instructions import Function, Instruction

LARGEST = 4200**2
"""Elements of the largest matrix of such a product."""

_SECONDS_OF_STEP, _SECONDS_OF_ELEMENT = (
    1e-4,
    1.5e-8,
)  # of a run: for each step along k, and for each element of a matrix
_MOST_PARTS = 16  # of C that one block writes


@dataclass(frozen=True)
class BlockProduct:
    """The rows of A, the columns of B, and the elements of C that one block has written."""

    loaded: LoadedKernel
    problem: Problem  # of these rows and columns
    matrices: Matrices
    c: NDArray[Any]
    rows: NDArray[np.intp]  # of these elements in C
    columns: NDArray[np.intp]

    def verified(self) -> Verification:
        """Return whether the elements are right; a wrong one has its place in C."""
        verification = verify_part(self.loaded, self.problem, self.matrices, self.c)
        wrong = verification.mismatch
        moved = wrong and replace(wrong, row=int(self.rows[wrong.row]), column=int(self.columns[wrong.column]))
        return replace(verification, mismatch=moved)


def block_products(
    loaded: LoadedKernel,
    problem: Problem,
    seed: int,
    numbers: Sequence[int],
    most_work: float,
    observers: tuple[Observer, ...] = (),
) -> Iterator[BlockProduct]:
    """Run single blocks of a kernel with one launch, and yield what each has written, if that is a few tiles of C.

    Args:
        loaded: the kernel.
        problem: the product.
        seed: the seed of A and B, which are uniform.
        numbers: the numbers of the blocks in launch order.
        most_work: the work after which a block is stopped.
        observers: observers of the launches.

    Raises TimeLimit, and other errors of a run.
    """
    matrices = draw(problem, seed)
    host = host_arrays(loaded.plan, matrices)
    loaded.upload(host)
    before = host["C"]
    for number in numbers:
        for launch in emulated_runs(loaded, lambda translation: Observer()):
            launch.alone, launch.only, launch.most_work, launch.write = True, number, most_work, None
            launch.observers = observers
            execute(launch)
        after = np.empty_like(before)
        loaded.buffers["C"].download(after)
        yield from _parts(loaded, problem, matrices, before, after)
        before = after


def verified_blocks(
    loaded: LoadedKernel, problem: Problem, seed: int, most_work: float = math.inf
) -> Verification | None:
    """Return the verification of the first block of a product or, if it is right, the last; None if none was possible.

    Arguments and errors are those of :func:`block_products`.
    """
    verification = None
    numbers = dict.fromkeys((0, loaded.plan.launches[0].grid_dim.size - 1))
    for part in block_products(loaded, problem, seed, [*numbers], most_work):
        verification = part.verified()
        if not verification.verified:
            break
    return verification


def largest_matrix(problem: Problem) -> int:
    """Return the number of elements of the largest matrix."""
    return max(problem.m * problem.k, problem.k * problem.n, problem.m * problem.n)


def are_independent(planned: Plan, functions: Sequence[Function]) -> bool:
    """Return whether each block of a plan computes its elements of C without the other blocks."""
    if len(planned.launches) != 1 or planned.kernel.algorithm or planned.workspaces:
        return False
    (launch,) = planned.launches
    alone = not (launch.cooperative or launch.cluster) and not any(each.cluster for each in functions)
    return alone and not any(_communicates(at) for function in functions for at in function.body)


def seconds_of_blocks(planned: Plan, count: int, rate: float) -> float:
    """Return an estimate of the seconds that some blocks take, with their inputs; ``rate`` is that of a product."""
    problem, launches = planned.problem, planned.launches
    blocks = sum(launch.grid_dim.size for launch in launches)
    threads = max((launch.block_dim.size for launch in launches), default=0)
    elements = max(threads, problem.m * problem.n // max(1, blocks))
    allocated = problem.m * problem.k + problem.k * problem.n + 2 * problem.m * problem.n
    return count * (rate * elements + _SECONDS_OF_STEP) * problem.k + _SECONDS_OF_ELEMENT * allocated


def _communicates(at: Instruction) -> bool:
    """Return whether an instruction combines values of several blocks, or waits for another one."""
    does = effect(at)
    combines = does.kind in ("atomic", "remote store") or does.step == "reduce"
    return combines or (does.kind in ("load", "store") and does.strong and not is_of_shared_memory(at))


def _parts(
    loaded: LoadedKernel, problem: Problem, matrices: Matrices, before: NDArray[Any], after: NDArray[Any]
) -> Iterator[BlockProduct]:
    """Yield the rows that have changed in the same columns of C; nothing if there are many kinds of rows."""
    c, bits = rows_of(loaded.plan, "C", after), f"u{after.itemsize}"
    changed = c.view(bits) != rows_of(loaded.plan, "C", before).view(bits)
    of_columns: dict[bytes, list[int]] = {}
    for row in np.flatnonzero(changed.any(axis=1)).tolist():
        of_columns.setdefault(changed[row].tobytes(), []).append(row)
    for several in of_columns.values() if len(of_columns) <= _MOST_PARTS else ():
        rows, columns = np.array(several), np.flatnonzero(changed[several[0]])
        part = Matrices(matrices.a[rows], matrices.b[:, columns], matrices.c[np.ix_(rows, columns)])
        small = replace(problem, m=rows.size, n=columns.size, lda=0, ldb=0, ldc=0)
        yield BlockProduct(loaded, small, part, c[np.ix_(rows, columns)], rows, columns)

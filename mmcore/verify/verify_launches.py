"""The verification of a loaded kernel: run on random inputs, its product and everything it must not touch compared."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mmcore.devices.base import HostArray, Products
from mmcore.devices.loaded_kernel import LoadedKernel
from mmcore.devices.violations import Violation
from mmcore.kernel.problem import Problem
from mmcore.planning.plan import Plan
from mmcore.verify.comparison import verify_product
from mmcore.verify.elements import is_poison
from mmcore.verify.inputs import Matrices, draw, other_seed, rearranged
from mmcore.verify.mixed_inputs import draw_mixed, draw_wide
from mmcore.verify.outcome import Verification
from mmcore.verify.tolerance import PARTS

UNREPEATABLE = "unrepeatable"

# Instructions that flush subnormal numbers to zero: with .ftz, and atomic additions to global memory.
_FLUSHING = re.compile(r"\.ftz\.|\b(?:red|atom)\.[\w.:]*\badd\.f32")
_FLUSHING_HALVES = re.compile(r"\.ftz\.f16")
# Products of tensor cores of types in which float32 numbers come in parts, and the least part of such a type.
_OF_PARTS = re.compile(r"mma[\w.:]*[.:](tf32|bf16|f16)\b")
_LEAST_PART = {"tf32": 2.0**-136, "bf16": 2.0**-133, "f16": 0.0}  # float16 holds numbers that the kernel has scaled
# Differences of floating-point numbers, as in compensated sums: inf - inf is NaN.
_DIFFERENCE = re.compile(r"\b(?:sub|neg)\.[\w.]*f(?:16|32|64)")
# Up to so many operations, a device computes every element of the reference; 8192³ are half of them.
_MOST_DEVICE_FLOPS = 2e12
# A product that was right once is verified again by sampled rows and projections of all of them, unless it is small.
_FULL_FLOPS = 1e8


@dataclass(frozen=True)
class Verified:
    """The outcome of verifying a kernel's launches once, as in a :class:`~mmcore.result.Result`."""

    verification: Verification | None
    violations: tuple[Violation, ...]
    host_seconds: float

    @property
    def right(self) -> bool:
        """True if the product is right, without any violation."""
        return self.verification is not None and self.verification.verified and not self.violations


def verify_launches(
    loaded: LoadedKernel,
    problem: Problem,
    matrices: Matrices,
    full_flops: float | None = None,
    launch: Callable[[], list[Violation]] | None = None,
) -> Verified:
    """Make a kernel's launches once and verify what they did; the inputs stay on the device.

    Args:
        loaded: the kernel.
        problem: the product, with the requested leading dimensions.
        matrices: the inputs: :func:`mixed_inputs`, or such as are timed (:func:`mmcore.verify.inputs.draw`).
        full_flops: as :func:`verify_product` takes it.
        launch: makes the launches and returns their violations; the kernel's own ``run`` by default.
    """
    host = host_arrays(loaded.plan, matrices)
    loaded.upload(host)
    begin = time.perf_counter()
    violations = (launch or loaded.run)()
    seconds = time.perf_counter() - begin
    if any(violation.fatal for violation in violations):
        return Verified(None, tuple(violations), seconds)
    result = np.empty_like(host["C"])
    loaded.buffers["C"].download(result)
    violations += _overwritten_inputs(loaded, host) + _overwritten_gaps(loaded.plan, result)
    c, buffers = rows_of(loaded.plan, "C", result), loaded.buffers
    # What the kernel has left of A and B is what it was given.
    sampled = violations or problem.flops > _MOST_DEVICE_FLOPS
    products = None if sampled else loaded.device.products(loaded.plan.problem, buffers["A"], buffers["B"])
    verification = verify_part(loaded, problem, matrices, c, full_flops, products)
    return Verified(verification, tuple(violations), seconds)


def verify_part(
    loaded: LoadedKernel,
    problem: Problem,
    matrices: Matrices,
    c: NDArray[Any],
    full_flops: float | None = None,
    products: Products | None = None,
) -> Verification:
    """Return whether ``c`` is the product of ``matrices``, all or some rows of A and columns of B of a kernel's.

    The tolerance is that of the kernel's code. Arguments are those of :func:`mmcore.verify.comparison.verify_product`.
    """
    kernel, parts = loaded.plan.kernel, _parts(loaded)
    return verify_product(
        problem,
        kernel.accumulator,
        matrices,
        c,
        full_flops,
        products,
        algorithm=kernel.algorithm or (PARTS if parts else ""),
        quantum=_quantum(loaded),
        keeps_infinities=not parts and not _DIFFERENCE.search(loaded.compiled.ptx),
    )


def verify_again(loaded: LoadedKernel, problem: Problem, seed: int, *, mixed: bool = False) -> Verified:
    """Verify twice more, on other inputs; a violation says that the product was right before if it is not now.

    These are of mixed kinds, or such as are timed where it was verified with ``mixed`` ones; the second time they are
    only :func:`~mmcore.verify.inputs.rearranged`, for kernels that remember.
    """
    inputs = draw(problem, other_seed(seed)) if mixed else mixed_inputs(loaded, problem, other_seed(seed))
    verified = verify_launches(loaded, problem, inputs, _FULL_FLOPS)
    if verified.right:
        verified = verify_launches(loaded, problem, rearranged(problem, inputs, seed), _FULL_FLOPS)
    if verified.right or any(violation.kind == "timeout" for violation in verified.violations):
        return verified
    again = Violation(UNREPEATABLE, "it was verified at first, and run again on other inputs it is wrong")
    return replace(verified, violations=(again, *verified.violations))


def mixed_inputs(loaded: LoadedKernel, problem: Problem, seed: int, inputs: str = "usual") -> Matrices:
    """Return inputs of several kinds for a kernel, or "wide" ones; of one kind if its errors are norm-wise."""
    if loaded.plan.kernel.algorithm:
        return draw(problem, seed)
    if inputs == "wide":
        return draw_wide(problem, loaded.plan.kernel.accumulator, seed)
    return draw_mixed(problem, loaded.plan.kernel.accumulator, seed, flushes=_flushes(loaded))


def _flushes(loaded: LoadedKernel) -> bool:
    """Return whether the kernel's code takes subnormal numbers for zero somewhere."""
    return loaded.plan.kernel.dtype != "float64" and bool(_FLUSHING.search(loaded.compiled.ptx))


def _quantum(loaded: LoadedKernel) -> float:
    """Return the magnitude below which a number may count as zero, or the part of a number that may be lost."""
    flushed = 0.0
    if _flushes(loaded):
        flushed = 2.0**-14 if _FLUSHING_HALVES.search(loaded.compiled.ptx) else 2.0**-126
    return max([_LEAST_PART[part] for part in _parts(loaded)] + [flushed])


def _parts(loaded: LoadedKernel) -> set[str]:
    """Return the types of parts in which the kernel's code multiplies float32 numbers on tensor cores."""
    return set(_OF_PARTS.findall(loaded.compiled.ptx)) if loaded.plan.kernel.dtype == "float32" else set()


def upload_inputs(loaded: LoadedKernel, matrices: Matrices) -> None:
    """Bring A and B to the device, and C where the kernel adds to it, or to zeros; else C is poison, as allocated."""
    kernel, host = loaded.plan.kernel, host_arrays(loaded.plan, matrices)
    adds = kernel.accumulate or kernel.initial_c == "zeros"
    loaded.upload({label: host[label] for label in ("ABC" if adds else "AB")})


def host_arrays(planned: Plan, matrices: Matrices) -> dict[str, HostArray]:
    """Return A, B and C as the device gets them, one run of elements each; packed if it takes no leading dimension."""
    views = {"A": matrices.a, "B": matrices.b, "C": matrices.c}
    views |= {label: views[label].T for label in planned.problem.column_major}
    arrays = {label: np.ascontiguousarray(view) for label, view in views.items()}
    arrays |= {label: each if (each := views[label]).base is None else each.base for label in planned.kernel.strided}
    return {label: rows.reshape(-1)[: planned.problem.span(label)] for label, rows in arrays.items()}


def rows_of(planned: Plan, matrix: str, flat: HostArray) -> HostArray:
    """Return the elements of "A", "B" or "C" in device order as a view of its rows and columns."""
    row, column = planned.problem.strides(matrix)
    shape = planned.problem.shape(matrix)
    return np.lib.stride_tricks.as_strided(flat, shape, (row * flat.itemsize, column * flat.itemsize))


def _overwritten_inputs(loaded: LoadedKernel, host: dict[str, HostArray]) -> list[Violation]:
    violations = []
    for label in ("A", "B"):
        after = np.empty_like(host[label])
        loaded.buffers[label].download(after)
        changed = after.view(f"u{after.itemsize}") != host[label].view(f"u{after.itemsize}")
        if changed.any():
            message = f"element {int(changed.argmax())} of {label}, which the kernel may only read, was changed"
            violations.append(Violation("input-overwritten", message, label))
    return violations


def _overwritten_gaps(planned: Plan, flat: HostArray) -> list[Violation]:
    """Return a violation if an element between C's rows (or columns), poisoned before, was written."""
    problem = planned.problem
    count, length = problem.stored_shape("C")
    lines_of_c = flat[: (count - 1) * problem.ldc].reshape(count - 1, problem.ldc)
    written = np.argwhere(~is_poison(lines_of_c[:, length:]))
    if not written.size:
        return []
    line, behind = (int(index) for index in written[0])
    lines = ("column", "row") if "C" in problem.column_major else ("row", "column")
    place = f"{lines[0]} {line}, {lines[1]} {length + behind} of C"
    message = f"{place}, which lies between its {lines[0]}s, was written"
    return [Violation("out-of-bounds-write", message, "C")]

"""cuBLAS as kernels: for each type, the fastest of cuBLASLt's candidates and its heuristic's first choice."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from mmcore import Config, Kernel, Problem, Unsupported, hookimpl
from mmcore_cuda import in_gpu_memory

if TYPE_CHECKING:
    from mmcore.devices.base import Operand

# (type of A and B, accumulator, type of C, matrices by columns); cuBLASLt needs B by columns for 8-bit types.
TYPES = (
    ("float32", "float32", "float32", ""),
    ("tf32", "float32", "float32", ""),
    ("float64", "float64", "float64", ""),
    ("float16", "float32", "float16", ""),
    ("bfloat16", "float32", "bfloat16", ""),
    ("float8_e4m3fn", "float22", "bfloat16", "B"),
    ("int8", "int32", "int32", "B"),
)
BEST = "cublas.best"
"""The baseline of other kernels, in the types and layouts of the kernel under comparison."""

_REASON = "nvmath-python brings cuBLAS: python -m pip install 'mmcore-cuda[cublas]'"


def library_kernel(
    name: str, problem: Problem, accumulator: str, *, tuned: bool = True, emulated: bool = False
) -> Kernel:
    """Return a cuBLASLt product with the types, layouts and factors of ``problem``; its sizes are ignored.

    It is ``tuned`` to the fastest candidate, or the heuristic's choice; ``emulated`` by a narrower type if requested.
    """
    how = "the fastest of its candidates" if tuned else "as its heuristic chooses"
    how += " that emulate the type" * emulated
    return Kernel(
        name=name,
        title="cuBLAS" if name == BEST else f"cuBLASLt, {how}",
        call=functools.partial(_call, accumulator, tuned, emulated),
        dtype=problem.dtype,
        accumulator=accumulator,
        output=problem.output,
        alpha=problem.alpha,
        beta=problem.beta,
        column_major=problem.column_major,
        initial_c=problem.initial_c,
        min_compute_capability=(8, 9) if problem.dtype.startswith("float8") else (7, 5),
    )


def _call(
    accumulator: str, tuned: bool, emulated: bool, problem: Problem, config: Config, operands: Mapping[str, Operand]
) -> Callable[[int], object]:
    if not all(in_gpu_memory(operand.address) for operand in operands.values()):
        raise Unsupported("cuBLAS multiplies matrices in a GPU's memory only")
    try:
        from mmcore_libraries.cublas.cublaslt import CublasLt
    except ImportError:
        raise Unsupported(_REASON) from None
    except Exception as error:  # the shared libraries could not be loaded
        raise Unsupported(f"{_REASON} ({error})") from None
    return CublasLt(problem, accumulator, operands, tuned=tuned, emulated=emulated)


@hookimpl
def mmcore_kernels() -> list[Kernel]:
    """Return two kernels for each type, the fastest candidate and the heuristic's choice, and the emulated types."""
    found = []
    for dtype, accumulator, output, column_major in TYPES:
        problem = Problem(16, 16, 16, dtype, output, column_major=column_major)
        for suffix, tuned in (("", True), ("_heuristic", False)):
            found.append(library_kernel(f"cublas.{dtype}{suffix}", problem, accumulator, tuned=tuned))
    for dtype in ("float32", "float64"):
        found.append(library_kernel(f"cublas.{dtype}_emulated", Problem(16, 16, 16, dtype), dtype, emulated=True))
    return found


@hookimpl
def mmcore_baselines(kernel: Kernel) -> Kernel | None:
    """Return the fastest of cuBLASLt's candidates, or None for a kernel that is cuBLAS itself."""
    if kernel.call is not None and kernel.name.startswith("cublas."):
        return None
    return library_kernel(BEST, kernel.problem(16, 16, 16), kernel.accumulator)

"""cuBLAS's own emulation of float64 by bytes, and of float32 by bfloat16."""

from __future__ import annotations

import ctypes
import functools
from typing import Any

import numpy as np
from cuda.pathfinder import load_nvidia_dynamic_lib
from nvmath.bindings import cublasLt

from mmcore.errors import Unsupported
from mmcore.kernel.problem import Problem

COMPUTE_TYPES = {"float32": 78, "float64": 79}
"""Values of cublasComputeType_t that nvmath-python does not name: 32F_EMULATED_16BFX9 and 64F_EMULATED_FIXEDPOINT."""

# Values of cublasLtEmulationDescAttributes_t, cublasEmulationStrategy_t and cublasLtMatmulAlgoCapAttributes_t.
_STRATEGY, _WHENEVER_POSSIBLE, _SUPPORTS_EMULATION = 0, 2, 22
_LEAST_BYTES = 128 << 20
_PARTS = 10  # bytes of each element of A and B, cut into parts, with a reserve


@functools.cache
def emulation_descriptor() -> int:
    """Return the address of a descriptor that asks for emulation whenever possible.

    Raises Unsupported if this cuBLAS does not have emulation.
    """
    library = ctypes.CDLL(str(load_nvidia_dynamic_lib("cublasLt").abs_path))
    if not hasattr(library, "cublasLtEmulationDescCreate"):
        raise Unsupported("this cuBLAS emulates no type: it is older than 13.1")
    descriptor, strategy = ctypes.c_void_p(), ctypes.c_int32(_WHENEVER_POSSIBLE)
    failed = library.cublasLtEmulationDescCreate(ctypes.byref(descriptor))
    failed = failed or library.cublasLtEmulationDescSetAttribute(
        descriptor, _STRATEGY, ctypes.byref(strategy), ctypes.sizeof(strategy)
    )
    if failed or descriptor.value is None:
        raise Unsupported(f"cuBLAS refuses to emulate: status {failed}")
    return descriptor.value


def emulates(algorithm: Any) -> bool:
    """Return whether an algorithm emulates the type, instead of computing in it."""
    answer, written = np.zeros(1, np.int32), np.zeros(1, np.uint64)
    cublasLt.matmul_algo_cap_get_attribute(
        *(int(algorithm.ctypes.data), _SUPPORTS_EMULATION, int(answer.ctypes.data), answer.nbytes),
        int(written.ctypes.data),
    )
    return bool(answer[0])


def workspace_bytes(problem: Problem) -> int:
    """Return the size of a workspace for the parts of A and B, and for products of parts."""
    m, n, k = problem.m, problem.n, problem.k
    return _LEAST_BYTES + _PARTS * (m + n) * k + 16 * m * n

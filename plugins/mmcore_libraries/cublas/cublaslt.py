"""A product by cuBLASLt through nvmath-python's bindings: set up once, then enqueued on a stream repeatedly."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from cuda.core import Device, Stream
from cuda.core.graph import GraphBuilder
from nvmath.bindings import cublasLt

from mmcore.devices.base import Operand
from mmcore.errors import Unsupported
from mmcore.kernel.problem import Problem
from mmcore_cuda.cuda_module import device_errors
from mmcore_cuda.event_timer import GraphTimer
from mmcore_libraries.cublas.emulation import COMPUTE_TYPES, emulates, emulation_descriptor, workspace_bytes
from mmcore_libraries.cublas.padded import Padded

WORKSPACE_BYTES = 32 << 20
"""The same size that PyTorch allocates for cuBLAS on Hopper."""

# Values of cudaDataType_t and cublasComputeType_t, which nvmath-python does not name in this module.
_DATA_TYPES = {
    "float32": 0,
    "tf32": 0,
    "float64": 1,
    "float16": 2,
    "int8": 3,
    "int32": 10,
    "bfloat16": 14,
    "float8_e4m3fn": 28,
    "float8_e5m2": 29,
}
_COMPUTE_16F, _COMPUTE_32F, _COMPUTE_64F, _COMPUTE_32I, _COMPUTE_32F_FAST_TF32 = 64, 68, 70, 72, 77
_TRANSPOSED = 1

_CANDIDATES = 32
# Each candidate is timed in rounds of about _ROUND_SECONDS. After the first round, candidates that take more than
# _PROMISING times as long as the fastest are dropped.
_ROUNDS, _ROUND_SECONDS, _PROMISING = 7, 2e-3, 1.15
_chosen: dict[tuple[Problem, str, bool], Any] = {}


class CublasLt:
    """A product of three matrices in device memory; calling it with a stream's handle enqueues the product there.

    For 8-bit floats, cuBLASLt needs sizes that are multiples of 16. Others are padded, and the copies are part of the
    product. cuBLASLt reads matrices by columns. A matrix stored by rows is its transpose by columns, so C by rows is
    computed as Cᵀ = Bᵀ·Aᵀ.

    Args:
        problem: the product.
        accumulator: the type of its sums.
        operands: the matrices "A", "B" and "C".
        tuned: whether to time cuBLASLt's candidates and use the fastest, instead of its heuristic's first choice.
        emulated: whether to use its emulation of the type by a narrower one, and nothing else.

    Raises:
        Unsupported: cuBLASLt has nothing for such a product.
    """

    def __init__(
        self,
        problem: Problem,
        accumulator: str,
        operands: Mapping[str, Operand],
        *,
        tuned: bool,
        emulated: bool = False,
    ) -> None:
        self._device, self._emulated = Device(), emulated
        self._handle = _handle(self._device.device_id)
        self._padded = Padded(self._device, problem, operands) if Padded.is_needed(problem) else None
        if self._padded is not None:
            problem, operands = self._padded.problem, self._padded.operands
        by_columns = "C" in problem.column_major
        first, second = ("A", "B") if by_columns else ("B", "A")
        compute_type = COMPUTE_TYPES[problem.dtype] if emulated else _compute_type(problem, accumulator)
        self._operation = cublasLt.matmul_desc_create(compute_type, _scale_type(problem))
        attributes = cublasLt.MatmulDescAttribute
        for attribute, matrix in ((attributes.TRANSA, first), (attributes.TRANSB, second)):
            transposed = (matrix in problem.column_major) != by_columns
            self._set(cublasLt.matmul_desc_set_attribute, self._operation, attribute, transposed * _TRANSPOSED)
        if accumulator == "float22":
            self._set(cublasLt.matmul_desc_set_attribute, self._operation, attributes.FAST_ACCUM, 1, np.int8)
        if emulated:
            # nvmath-python has no name for this attribute.
            self._set(cublasLt.matmul_desc_set_attribute, self._operation, 38, emulation_descriptor(), np.uint64)
        self._layouts = [_layout(problem, matrix) for matrix in (first, second, "C")]
        self._addresses = [operands[matrix].address for matrix in (first, second, "C")]
        scale = {_DATA_TYPES["float64"]: np.float64, _DATA_TYPES["int32"]: np.int32}.get(
            _scale_type(problem), np.float32
        )
        self._factors = np.array([problem.alpha, problem.beta], scale)
        stream = self._device.create_stream()
        self._workspace_bytes = workspace_bytes(problem) if emulated else WORKSPACE_BYTES
        with device_errors(f"the {self._workspace_bytes} bytes of cuBLAS's workspace cannot be allocated"):
            self._workspace = self._device.allocate(self._workspace_bytes, stream=stream)
            stream.sync()
        algorithms = list(self._algorithms(_CANDIDATES if tuned else 1))
        if not algorithms:
            if emulated:
                raise Unsupported(f"this cuBLAS emulates no product of {problem.dtype} on {self._device.name}")
            raise Unsupported(f"cuBLAS has no product of {problem.dtype} for {problem} in this layout")
        key = problem, accumulator, emulated
        if tuned and key not in _chosen:
            _chosen[key] = self._fastest(algorithms)
        self._algorithm = _chosen[key] if tuned else algorithms[0]

    def __call__(self, stream: int) -> None:
        if self._padded is None:
            self._put(stream, self._algorithm)
        else:
            self._padded.copy_in(stream)
            self._put(stream, self._algorithm)
            self._padded.copy_out(stream)

    def _put(self, stream: int, algorithm: Any) -> None:
        a, b, c = self._addresses
        a_layout, b_layout, c_layout = self._layouts
        factors, size = int(self._factors.ctypes.data), self._factors.itemsize
        workspace = int(self._workspace.handle)
        cublasLt.matmul(
            *(self._handle, self._operation, factors, a, a_layout, b, b_layout, factors + size, c, c_layout),
            *(c, c_layout, algorithm.ctypes.data, workspace, self._workspace_bytes, stream),
        )

    def _algorithms(self, count: int) -> Iterator[Any]:
        """Yield the algorithms that cuBLASLt's heuristic proposes, best first."""
        preference = cublasLt.matmul_preference_create()
        attribute = cublasLt.MatmulPreferenceAttribute.MAX_WORKSPACE_BYTES
        self._set(cublasLt.matmul_preference_set_attribute, preference, attribute, self._workspace_bytes, np.uint64)
        found = np.zeros(count, cublasLt.matmul_heuristic_result_dtype)
        returned = ctypes.c_int()
        a, b, c = self._layouts
        try:
            cublasLt.matmul_algo_get_heuristic(
                *(self._handle, self._operation, a, b, c, c, preference, count),
                *(int(found.ctypes.data), ctypes.addressof(returned)),
            )
        except cublasLt.cuBLASLtError:  # raised if there is none
            return
        finally:
            cublasLt.matmul_preference_destroy(preference)
        for result in found[: returned.value]:
            algorithm = np.array(result["algo"])
            if result["state"] == 0 and (not self._emulated or emulates(algorithm)):
                yield algorithm

    def _fastest(self, algorithms: list[Any]) -> Any:
        """Return the algorithm with the shortest median round, timing the promising ones in turn."""
        stream = self._device.create_stream()
        timers = [self._timer(stream, each) for each in algorithms]
        try:
            once = [timer.seconds(1) for timer in timers for _ in range(2)][1::2]
            count = max(1, int(_ROUND_SECONDS / max(min(once), 1e-6)))
            first = [timer.seconds(count) for timer in timers]
            promising = [index for index, seconds in enumerate(first) if seconds <= _PROMISING * min(first)]
            rounds = [[timers[index].seconds(count) for index in promising] for _ in range(_ROUNDS)]
        finally:
            for timer in timers:
                timer.close()
        return algorithms[promising[int(np.argmin(np.median(rounds, axis=0)))]]

    def _timer(self, stream: Stream, algorithm: Any) -> GraphTimer:
        def work(target: Stream | GraphBuilder) -> None:
            self._put(int((target.stream if isinstance(target, GraphBuilder) else target).handle), algorithm)

        return GraphTimer(self._device, stream, work)

    @staticmethod
    def _set(set_attribute: Any, of: int, attribute: int, value: int, dtype: Any = np.int32) -> None:
        content = np.array([value], dtype)
        set_attribute(of, attribute, int(content.ctypes.data), content.nbytes)


@functools.cache
def _handle(device_id: int) -> int:
    """Return the process's cuBLASLt handle for the current device."""
    handle: int = cublasLt.create()
    return handle


def _compute_type(problem: Problem, accumulator: str) -> int:
    if problem.dtype == "tf32":
        return _COMPUTE_32F_FAST_TF32
    types = {"float64": _COMPUTE_64F, "int32": _COMPUTE_32I, "float16": _COMPUTE_16F}
    return types.get(accumulator, _COMPUTE_32F)


def _scale_type(problem: Problem) -> int:
    return _DATA_TYPES[problem.output if problem.output in ("float64", "int32") else "float32"]


def _layout(problem: Problem, matrix: str) -> int:
    """Return the layout that cuBLASLt sees: by columns, so a matrix stored by rows is transposed."""
    count, length = problem.stored_shape(matrix)
    layout: int = cublasLt.matrix_layout_create(
        _DATA_TYPES[problem.dtype_of(matrix).name], length, count, problem.leading(matrix)
    )
    return layout

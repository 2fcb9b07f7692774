"""Operands padded to multiples of 16, which cuBLASLt requires for 8-bit floats."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from cuda.bindings import driver
from cuda.core import Device

from mmcore.devices.base import Operand
from mmcore.errors import DeviceError
from mmcore.kernel.geometry import ceil_div
from mmcore.kernel.problem import Problem

_MULTIPLE = 16
_MATRICES = "ABC"


class Padded:
    """Device memory for operands padded with zeros, and the copies to and from it.

    Attributes:
        problem: the padded product, each matrix packed.
        operands: its matrices "A", "B" and "C".
    """

    def __init__(self, device: Device, problem: Problem, operands: Mapping[str, Operand]) -> None:
        m, n, k = (ceil_div(size, _MULTIPLE) * _MULTIPLE for size in (problem.m, problem.n, problem.k))
        self.problem = replace(problem, m=m, n=n, k=k, lda=0, ldb=0, ldc=0)
        self._small, self._originals = problem, operands
        stream = device.create_stream()
        self._memory = {
            matrix: device.allocate(self.problem.span(matrix) * self.problem.dtype_of(matrix).itemsize, stream=stream)
            for matrix in _MATRICES
        }
        for memory in self._memory.values():
            memory.fill(b"\0", stream=stream)
        stream.sync()
        self.operands = {
            matrix: Operand(
                int(memory.handle),
                self.problem.shape(matrix),
                self.problem.strides(matrix),
                self.problem.dtype_of(matrix),
            )
            for matrix, memory in self._memory.items()
        }

    @staticmethod
    def is_needed(problem: Problem) -> bool:
        """Return whether cuBLASLt requires padding for these sizes or leading dimensions."""
        sizes = (problem.m, problem.n, problem.k, *map(problem.leading, _MATRICES))
        return problem.dtype.startswith("float8") and any(size % _MULTIPLE for size in sizes)

    def copy_in(self, stream: int) -> None:
        """Enqueue the copies of A, B and, if it is read, C on a stream."""
        for matrix in _MATRICES if self._small.accumulate else "AB":
            self._copy(matrix, self._originals[matrix].address, self.operands[matrix].address, stream, inwards=True)

    def copy_out(self, stream: int) -> None:
        """Enqueue the copy of C on a stream."""
        self._copy("C", self.operands["C"].address, self._originals["C"].address, stream, inwards=False)

    def _copy(self, matrix: str, source: int, target: int, stream: int, *, inwards: bool) -> None:
        count, length = self._small.stored_shape(matrix)
        itemsize = self._small.dtype_of(matrix).itemsize
        pitches = [each.leading(matrix) * itemsize for each in (self._small, self.problem)]
        copy = driver.CUDA_MEMCPY2D()
        copy.srcMemoryType = copy.dstMemoryType = driver.CUmemorytype.CU_MEMORYTYPE_DEVICE
        copy.srcDevice, copy.dstDevice = source, target
        copy.srcPitch, copy.dstPitch = pitches if inwards else reversed(pitches)
        copy.WidthInBytes, copy.Height = length * itemsize, count
        (error,) = driver.cuMemcpy2DAsync(copy, stream)
        if error != driver.CUresult.CUDA_SUCCESS:
            raise DeviceError(f"{matrix} cannot be padded: {error.name}")

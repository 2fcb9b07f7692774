"""Matrices in GPU memory, each between two guard zones."""

from __future__ import annotations

import numpy as np

from cuda.core import Buffer as CudaBuffer
from cuda.core import Stream
from mmcore.devices.base import HostArray
from mmcore.devices.violations import Violation
from mmcore.verify.poison import POISON_HALFWORD, is_poison

#: Bytes of forbidden ground before and behind each matrix; a power of two, so that matrices stay aligned.
GUARD_BYTES = 1 << 20


def host_view(array: HostArray) -> CudaBuffer:
    """A contiguous host array as a buffer that cuda.core copies to and from; it must outlive the copy."""
    return CudaBuffer.from_handle(array.ctypes.data, array.nbytes, owner=array)


class OwnedBuffer:
    """One allocation: guard zone, matrix, room that may be read past its end, guard zone; all poisoned at first.

    Args:
        label: what violations call it.
        memory: the allocation.
        nbytes: size of the matrix.
        stream: where its copies are ordered.
    """

    def __init__(self, label: str, memory: CudaBuffer, nbytes: int, stream: Stream) -> None:
        self.label = label
        self._memory = memory
        self._nbytes = nbytes
        self._stream = stream
        memory.fill(POISON_HALFWORD.to_bytes(2, "little"), stream=stream)

    @property
    def address(self) -> int:
        return int(self._memory.handle) + GUARD_BYTES

    def window(self, nbytes: int) -> CudaBuffer:
        """The first ``nbytes`` of the matrix."""
        return self._part(GUARD_BYTES, nbytes)

    def upload(self, data: HostArray) -> None:
        self.window(data.nbytes).copy_from(host_view(data), stream=self._stream)
        self._stream.sync()

    def download(self, out: HostArray) -> None:
        self.window(out.nbytes).copy_to(host_view(out), stream=self._stream)
        self._stream.sync()

    def guard_zone_violations(self) -> list[Violation]:
        end = GUARD_BYTES + self._nbytes
        violations = []
        before = self._damage(0, GUARD_BYTES)
        if len(before):
            last_run = before[np.flatnonzero(np.diff(before, prepend=-2) > 1)[-1]]
            distance = GUARD_BYTES - int(last_run) * 2
            violations.append(self._guard_zone_violation(f"memory {distance} bytes before the start of {self.label}"))
        behind = self._damage(end, int(self._memory.size) - end)
        if len(behind):
            distance = int(behind[0]) * 2
            violations.append(
                self._guard_zone_violation(f"memory {distance} bytes behind the last element of {self.label}")
            )
        return violations

    def close(self) -> None:
        self._memory.close(self._stream)

    def _part(self, offset: int, nbytes: int) -> CudaBuffer:
        return CudaBuffer.from_handle(int(self._memory.handle) + offset, nbytes, owner=self._memory)

    def _damage(self, offset: int, nbytes: int) -> HostArray:
        """Which 16-bit words of a poisoned zone are no longer poison."""
        words = np.empty(nbytes // 2, np.uint16)
        if nbytes:
            self._part(offset, nbytes).copy_to(host_view(words), stream=self._stream)
            self._stream.sync()
        return np.flatnonzero(~is_poison(words))

    def _guard_zone_violation(self, where: str) -> Violation:
        return Violation("out-of-bounds-write", f"{where} was overwritten", self.label)


class BorrowedBuffer:
    """The caller's own GPU memory: used where it lies, and left to the caller."""

    def __init__(self, label: str, address: int, owner: object) -> None:
        self.label = label
        self.address = address
        self._owner = owner

    def window(self, nbytes: int) -> CudaBuffer:
        """The first ``nbytes``."""
        return CudaBuffer.from_handle(self.address, nbytes, owner=self._owner)

    def upload(self, data: HostArray) -> None:
        raise TypeError("a borrowed buffer is the caller's to fill")

    def download(self, out: HostArray) -> None:
        raise TypeError("a borrowed buffer is the caller's to read")

    def guard_zone_violations(self) -> list[Violation]:
        return []

    def close(self) -> None:
        self._owner = None

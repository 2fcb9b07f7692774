"""Matrices in GPU memory, each between two guard zones."""

from __future__ import annotations

from typing import Any

import numpy as np
from cuda.core import Buffer as CudaBuffer
from cuda.core import LegacyPinnedMemoryResource, Stream

from mmcore.devices.base import Buffer, HostArray
from mmcore.devices.violations import Violation
from mmcore.verify.elements import POISON_HALFWORD, is_poison

#: Bytes of each guard zone; a power of two, so that matrices stay aligned.
GUARD_BYTES = 1 << 20


def host_view(array: HostArray) -> CudaBuffer:
    """Return a buffer of cuda.core on a contiguous host array, which must outlive the copy."""
    return CudaBuffer.from_handle(array.ctypes.data, array.nbytes, owner=array)


def pinned_copy(array: HostArray) -> Any:
    """Return pinned host memory with a copy of ``array``."""
    buffer = LegacyPinnedMemoryResource().allocate(array.nbytes)
    np.from_dlpack(buffer).view(np.uint8)[:] = array.reshape(-1).view(np.uint8)
    return buffer


class BorrowedBuffer:
    """The caller's own GPU memory, without guard zones; ``owner`` keeps it allocated, and only the caller frees it."""

    def __init__(self, label: str, address: int, owner: object, stream: Stream) -> None:
        self.label = label
        self.address = address
        self._owner = owner
        self._stream = stream

    def window(self, nbytes: int, offset: int = 0) -> CudaBuffer:
        """Return the ``nbytes`` that begin ``offset`` bytes after the first element."""
        return CudaBuffer.from_handle(self.address + offset, nbytes, owner=self._owner)

    def upload(self, data: HostArray) -> None:
        self.window(data.nbytes).copy_from(host_view(data), stream=self._stream)
        self._stream.sync()

    def download(self, out: HostArray, offset: int = 0) -> None:
        self.window(out.nbytes, offset).copy_to(host_view(out), stream=self._stream)
        self._stream.sync()

    def guard_zone_violations(self) -> list[Violation]:
        return []

    def close(self) -> None:
        self._owner = None


class OwnedBuffer(BorrowedBuffer):
    """Memory with a guard zone, a matrix, its over-read area and a guard zone; all poisoned."""

    def __init__(self, label: str, memory: CudaBuffer, nbytes: int, stream: Stream) -> None:
        super().__init__(label, int(memory.handle) + GUARD_BYTES, memory, stream)
        self._memory = memory
        # The poison has two bytes.
        self._nbytes = nbytes + nbytes % 2
        memory.fill(POISON_HALFWORD.to_bytes(2, "little"), stream=stream)

    def guard_zone_violations(self) -> list[Violation]:
        places = []
        before = self._overwritten(-GUARD_BYTES, GUARD_BYTES)
        if len(before):
            last_run = before[np.flatnonzero(np.diff(before, prepend=-2) > 1)[-1]]
            places.append(f"{GUARD_BYTES - int(last_run) * 2} bytes before the start of {self.label}")
        behind = self._overwritten(self._nbytes, int(self._memory.size) - GUARD_BYTES - self._nbytes)
        if len(behind):
            places.append(f"{int(behind[0]) * 2} bytes behind the last element of {self.label}")
        return [Violation("out-of-bounds-write", f"memory {place} was overwritten", self.label) for place in places]

    def close(self) -> None:
        self._memory.close(self._stream)

    def _overwritten(self, offset: int, nbytes: int) -> HostArray:
        """Return the indices of a poisoned zone's 16-bit words that are no longer poison."""
        words = np.empty(nbytes // 2, np.uint16)
        if len(words):
            self.download(words, offset)
        return np.flatnonzero(~is_poison(words))


def window(buffer: Buffer, nbytes: int) -> CudaBuffer:
    """Return the ``nbytes`` that begin with the first element of a GPU's buffer."""
    assert isinstance(buffer, BorrowedBuffer)
    return buffer.window(nbytes)

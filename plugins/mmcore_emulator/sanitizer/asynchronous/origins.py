"""The origin in global memory of what bulk copies and cp.async have written to shared memory."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from mmcore_emulator.machine.asynchronous.events import BLOCK_WORDS, Transfer
from mmcore_emulator.numerics.types import Flags, Integers

_CHUNK_WORDS = 4  # The 16 bytes that a descriptor or a swizzle moves at least.
_CHUNK_BYTES = 4 * _CHUNK_WORDS
_INSTEAD = "; line 0 is {} from {} on, fastest axis first, so {} needs {}, and {} is there"
_OTHER_ORDER = "; the instruction reads a matrix that is {}-major, and {} is {}-major"


class Origins:
    """The origin of each 16 bytes of the shared memory of a batch's blocks; 0 for none, negative until it lands."""

    def __init__(self, blocks: int) -> None:
        self._origin = np.zeros(blocks * BLOCK_WORDS // _CHUNK_WORDS, np.int64)

    def send(self, words: Integers, origin: Integers) -> None:
        """Note that threads issue copies."""
        self._origin[words[:, ::_CHUNK_WORDS] // _CHUNK_WORDS] = -origin

    def land(self, words: Integers) -> None:
        """Note that copies by threads land; a copy of less than 16 bytes has no origin."""
        chunks = words[:, ::_CHUNK_WORDS] // _CHUNK_WORDS
        self._origin[chunks] = abs(self._origin[chunks]) if words.shape[1] == _CHUNK_WORDS else 0

    def land_in_bulk(self, words: Integers, origin: Integers) -> None:
        """Note that bulk copies land; words less than 0 are none."""
        chunks = words[:, ::_CHUNK_WORDS]
        self._origin[chunks[chunks >= 0] // _CHUNK_WORDS] = origin[:, : chunks.shape[1]][chunks >= 0]

    def forget(self, words: Integers) -> None:
        """Note that threads write words."""
        self._origin[words // _CHUNK_WORDS] = 0

    def misread(self, transfer: Transfer) -> tuple[Flags, int] | None:
        """Return which matrices have neighbours that were none in global memory, and the first such word.

        Only matrices with an origin of every chunk count. None means that there is no such matrix.
        """
        chunks = transfer.words[:, ::_CHUNK_WORDS].reshape(-1, *transfer.shape) // _CHUNK_WORDS
        origin = self._origin[chunks]
        if not (origin > 0).any():
            return None
        differs = _are_no_neighbours(origin)
        wrong: Flags = np.asarray(differs.any(axis=(1, 2)) & (origin > 0).all(axis=(1, 2)))
        return (wrong, int(chunks[wrong][differs[wrong]][0]) * _CHUNK_WORDS) if wrong.any() else None

    def mistake(self, transfer: Transfer, numbers: Integers, copy: Transfer) -> str:
        """Return the changes that give descriptors the matrices of a copy, as a clause, or what they read without one.

        The descriptors are those of a transfer that reads matrices, by their numbers. A change of their fields is named
        only if it is the only one of them.
        """
        several = [[*self._changes(transfer, number, copy)] for number in {int(numbers[0]), int(numbers[-1])}]
        found: list[str] = []
        fields: list[str] = []
        for (texts, of_descriptor), *others in zip(*several, strict=True):
            if text := next((each for each in texts if all(each in other for other, _ in others)), None):
                (fields if of_descriptor else found).append(text)
        found += fields if len(fields) == 1 else []
        return f"; {', or '.join(found)}" if found else self._read_instead(transfer, int(numbers[0]), copy)

    def _changes(self, transfer: Transfer, number: int, copy: Transfer) -> Iterator[tuple[list[str], bool]]:
        """Yield the right changes of each property, and whether it is one of the descriptor's."""
        for texts, places, of_descriptor in transfer.changes(number, copy) if transfer.changes else ():
            origin = self._origin[places // _CHUNK_BYTES]
            right = (origin > 0).all(axis=(1, 2)) & ~_are_no_neighbours(origin, _row_pitch(copy)).any(axis=(1, 2))
            yield [texts[each] for each in np.flatnonzero(right).tolist()], of_descriptor

    def _read_instead(self, transfer: Transfer, number: int, copy: Transfer) -> str:
        """Return what a descriptor reads and what it needs at the first difference, by indices of the copy's tensor."""
        pitch, tensor = _row_pitch(copy), copy.tensor
        if tensor is None or not pitch:
            return ""
        words = transfer.words[number, ::_CHUNK_WORDS].reshape(1, *transfer.shape)
        origin = self._origin[words // _CHUNK_WORDS]
        differs = _are_no_neighbours(origin, pitch)[0]
        if not differs.any():
            return ""
        name = copy.tensor_name or "the tensor"
        if copy.major and transfer.major and copy.major != transfer.major:
            return _OTHER_ORDER.format(transfer.major, name, copy.major)
        line, chunk = np.argwhere(differs)[0].tolist()
        first, read = (int(each) - tensor.address for each in (origin[0, 0, 0], origin[0, line, chunk]))
        needed = first + line * pitch + chunk * _CHUNK_BYTES
        indices = [(each % pitch // tensor.itemsize, each // pitch) for each in (first, needed, read)]
        if any(not (0 <= x < tensor.extents[0] and 0 <= y < tensor.extents[1]) for x, y in indices):
            return ""
        where = f"line {line}" + (f" from byte {chunk * _CHUNK_BYTES} on" if chunk else "")
        return _INSTEAD.format(name, indices[0], where, *indices[1:])


def _row_pitch(copy: Transfer) -> int:
    """Return the bytes from one row of a copy's box to the next in global memory; 0 without a tensor of two axes."""
    tensor = copy.tensor
    return tensor.strides[1] * (tensor.steps[1] if tensor.steps else 1) if tensor and tensor.rank == 2 else 0


def _are_no_neighbours(origin: Integers, pitch: int = 0) -> Flags:
    """Return which chunks [matrices, lines, chunks] are not where the first ones of their matrix lead to.

    ``pitch`` is the distance of lines in bytes; 0 for that of the first two.
    """
    lines, along = np.arange(origin.shape[1])[:, np.newaxis], np.arange(origin.shape[2])
    step = origin[:, 1:2, :1] - origin[:, :1, :1] if origin.shape[1] > 1 else 0
    return np.asarray(origin != origin[:, :1, :1] + lines * (pitch or step) + along * _CHUNK_BYTES)

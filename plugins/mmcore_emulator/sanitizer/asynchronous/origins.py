"""The origin in global memory of what bulk copies and cp.async have written to shared memory."""

from __future__ import annotations

import numpy as np

from mmcore_emulator.machine.asynchronous.events import BLOCK_WORDS, Transfer
from mmcore_emulator.numerics.types import Flags, Integers

_CHUNK_WORDS = 4  # The 16 bytes that a descriptor or a swizzle moves at least.
_CHUNK_BYTES = 4 * _CHUNK_WORDS


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

    def mistake(self, transfer: Transfer, number: int, copy: Transfer) -> str:
        """Return the changes that give a descriptor the matrix of a copy, as a clause; empty if there are none.

        The descriptor is that of a transfer that reads a matrix, by its number. A change of its fields is named only if
        it is the only one of them.
        """
        found: list[str] = []
        fields: list[str] = []
        for texts, places, of_descriptor in transfer.changes(number, copy) if transfer.changes else ():
            origin = self._origin[places // _CHUNK_BYTES]
            right = (origin > 0).all(axis=(1, 2)) & ~_are_no_neighbours(origin).any(axis=(1, 2))
            if right.any():
                (fields if of_descriptor else found).append(texts[int(right.argmax())])
        found += fields if len(fields) == 1 else []
        return f"; {', or '.join(found)}" if found else ""


def _are_no_neighbours(origin: Integers) -> Flags:
    """Return which chunks [matrices, lines, chunks] are not where the first ones of their matrix lead to."""
    lines, along = np.arange(origin.shape[1])[:, np.newaxis], np.arange(origin.shape[2])
    step = origin[:, 1:2, :1] - origin[:, :1, :1] if origin.shape[1] > 1 else 0
    return np.asarray(origin != origin[:, :1, :1] + lines * step + along * _CHUNK_BYTES)

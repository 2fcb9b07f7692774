"""Where in global memory the contents of shared memory come from, and whether matrices there are read as they came."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mmcore_emulator.machine.asynchronous.events import BLOCK_WORDS, Transfer

_CHUNK_WORDS = 4  # of 16 bytes, the least that a descriptor or a swizzle moves


class Origins:
    """The address that each 16 bytes of the shared memory of a batch's ``blocks`` were copied from, where they were."""

    def __init__(self, blocks: int) -> None:
        self._origin = np.zeros(blocks * BLOCK_WORDS // _CHUNK_WORDS, np.int64)  # 0 for none, less until it lands

    def send(self, words: NDArray[np.int64], origin: NDArray[np.int64]) -> None:
        """Copies by threads begin."""
        self._origin[words[:, ::_CHUNK_WORDS] // _CHUNK_WORDS] = -origin

    def land(self, words: NDArray[np.int64]) -> None:
        """Copies by threads have landed; none of less than 16 bytes has an origin."""
        chunks = words[:, ::_CHUNK_WORDS] // _CHUNK_WORDS
        self._origin[chunks] = abs(self._origin[chunks]) if words.shape[1] == _CHUNK_WORDS else 0

    def land_in_bulk(self, words: NDArray[np.int64], origin: NDArray[np.int64]) -> None:
        """Bulk copies have landed; words less than 0 are none."""
        chunks = words[:, ::_CHUNK_WORDS]
        self._origin[chunks[chunks >= 0] // _CHUNK_WORDS] = origin[:, : chunks.shape[1]][chunks >= 0]

    def forget(self, words: NDArray[np.int64]) -> None:
        """Threads have written there."""
        self._origin[words // _CHUNK_WORDS] = 0

    def misread(self, transfer: Transfer) -> tuple[NDArray[np.bool_], int] | None:
        """Which of some matrices have neighbours that are none in global memory, and a word of such; None if none.

        Matrices are judged whose every chunk comes from somewhere.
        """
        chunks = transfer.words[:, ::_CHUNK_WORDS].reshape(-1, *transfer.shape) // _CHUNK_WORDS
        origin = self._origin[chunks]
        if not (origin > 0).any():
            return None
        lines, along = np.arange(transfer.shape[0])[:, np.newaxis], np.arange(transfer.shape[1])
        step = origin[:, 1:2, :1] - origin[:, :1, :1] if transfer.shape[0] > 1 else 0
        differs = origin != origin[:, :1, :1] + lines * step + along * 16
        wrong = differs.any(axis=(1, 2)) & (origin > 0).all(axis=(1, 2))
        if not wrong.any():
            return None
        row = int(wrong.argmax())
        return wrong, int(chunks[row].reshape(-1)[differs[row].reshape(-1).argmax()]) * _CHUNK_WORDS

"""Changes of one field of a matrix descriptor, from which a check finds the field that is wrong."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from mmcore_emulator.isa.asynchronous.wgmma_operands import SPANS, Descriptor, chunk_addresses
from mmcore_emulator.machine.asynchronous.events import BLOCK_BYTES, Change
from mmcore_emulator.machine.asynchronous.tensor_maps import CHUNK
from mmcore_emulator.numerics.types import Integers

_MOST_BYTES = 16384  # of an offset, and between two start addresses


@dataclass(frozen=True)
class Matrices:
    """Matrices that descriptors describe, each in the shared memory of a block; arguments as of chunk_addresses."""

    parts: Descriptor
    blocks: Integers
    rows: int
    k: int
    element_bytes: int
    major: str

    def changes(self, number: int) -> Iterator[Change]:
        """Yield the changes of each field of a descriptor, and the exchange of its offsets."""
        start, leading, stride, _, swizzle = (int(each[number]) for each in self.parts)
        spans = [span for span in SPANS if span != swizzle]
        shifts = [sign * shift for shift in range(CHUNK, _MOST_BYTES + 1, CHUNK) for sign in (1, -1)]
        offsets = range(CHUNK, _MOST_BYTES + 1, CHUNK)
        wrong = "the descriptor's {} is wrong ({} would be right)"
        yield self._changed(number, [wrong.format("swizzle", each) for each in spans], swizzle=spans)
        for name in ("stride", "leading"):
            texts = [wrong.format(f"{name} byte offset", each) for each in offsets]
            yield self._changed(number, texts, **{name: offsets})
        starts = [(start + shift) % BLOCK_BYTES for shift in shifts]
        yield self._changed(number, ["the descriptor's start address is wrong"] * len(starts), start=starts)
        exchanged = ["the descriptor's leading and stride byte offsets are exchanged"]
        yield self._changed(number, exchanged, leading=[stride], stride=[leading])

    def _changed(self, number: int, texts: Sequence[str], **fields: Sequence[int]) -> Change:
        same = {name: np.repeat(values[number], len(texts)) for name, values in self.parts._asdict().items()}
        changed = {name: np.array(values, same[name].dtype) for name, values in fields.items()}
        addresses = chunk_addresses(Descriptor(**same | changed), self.rows, self.k, self.element_bytes, self.major)
        return Change(texts, (addresses.astype(np.int64) & (BLOCK_BYTES - 1)) + int(self.blocks[number]) * BLOCK_BYTES)

"""Changes of one property of a matrix in shared memory, from which a check finds the one that is wrong.

The properties are the order that an instruction names, the swizzle of the tensor map, and a descriptor's fields.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from mmcore_emulator.isa.asynchronous.wgmma_operands import SPANS, Descriptor, chunk_addresses
from mmcore_emulator.machine.asynchronous.events import BLOCK_BYTES, Change, Transfer
from mmcore_emulator.machine.asynchronous.tensor_maps import CHUNK, TensorLayout, swizzled
from mmcore_emulator.numerics.types import Integers

_MOST_BYTES = 16384  # of an offset, and between two start addresses
_ORDERS = ("K", "MN")  # by the value of the instruction's constant
_ARTICLES = ("a", "an")
_TRANSPOSED = "the wgmma's constant {}, {}, is {} for {} {}-major matrix, and the copy is {}-major ({} would be right)"


@dataclass(frozen=True)
class Matrices:
    """Matrices that descriptors describe, each in the shared memory of a block; arguments as of chunk_addresses."""

    parts: Descriptor
    blocks: Integers
    rows: int
    k: int
    element_bytes: int
    major: str
    constant: tuple[str, str] | None = None  # name and place of the constant that says the order, if there is one

    def changes(self, number: int, copy: Transfer) -> Iterator[Change]:
        """Yield the other order, the swizzles of the copy's tensor map, and the changes of a descriptor's fields.

        Where the order of the copied array is known, the instruction needs that order, and none of the others helps.
        """
        if copy.major != self.major:
            yield from self._other_order(number)
        if copy.major not in ("", self.major):
            return
        yield from self._other_maps(number, copy)
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

    def _other_order(self, number: int) -> Iterator[Change]:
        if self.constant:
            value = _ORDERS.index(self.major)
            other = _ORDERS[1 - value]
            text = _TRANSPOSED.format(*self.constant, value, _ARTICLES[value], self.major, other, 1 - value)
            yield replace(self, major=other)._changed(number, [text])._replace(of_descriptor=False)

    def _other_maps(self, number: int, copy: Transfer) -> Iterator[Change]:
        """Yield the changes of the swizzle of a tensor map that leave its rows where they are."""
        written = copy.tensor
        spans = [span for span in SPANS if written and _refits(written, span)]
        if not written or not spans:
            return
        name = f"the tensor map of {copy.tensor_name} " if copy.tensor_name else "the copy's tensor map "
        has = f"has a swizzle of {written.swizzle} bytes" if written.swizzle else "has no swizzle"
        places = self._changed(number, [""]).places
        block = places & -BLOCK_BYTES
        # A place contains the chunk that the map has put there, which another map puts elsewhere.
        moved = [block + swizzled(swizzled(places - block, span), written.swizzle) for span in spans]
        values = [f"CU_TENSOR_MAP_SWIZZLE_{f'{span}B' if span else 'NONE'}" for span in spans]
        texts = [f"{name}{has} ({each} would fit the descriptor)" for each in values]
        yield Change(texts, np.concatenate(moved), of_descriptor=False)

    def _changed(self, number: int, texts: Sequence[str], **fields: Sequence[int]) -> Change:
        same = {name: np.repeat(values[number], len(texts)) for name, values in self.parts._asdict().items()}
        changed = {name: np.array(values, same[name].dtype) for name, values in fields.items()}
        addresses = chunk_addresses(Descriptor(**same | changed), self.rows, self.k, self.element_bytes, self.major)
        return Change(texts, (addresses.astype(np.int64) & (BLOCK_BYTES - 1)) + int(self.blocks[number]) * BLOCK_BYTES)


def _refits(written: TensorLayout, span: int) -> bool:
    """Return True if a tensor map may have another swizzle of ``span`` bytes with as many bytes from row to row."""
    other = replace(written, swizzle=span)
    return span != written.swizzle and other.row_pitch == written.row_pitch and not other.problems()

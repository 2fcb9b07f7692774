"""The operands of ``wgmma.mma_async``: its forms, its registers, and the matrices of descriptors.

A matrix in shared memory is made of 16-byte chunks, along K (K-major) or along M or N (MN-major). Eight lines of chunks
form a group. Reference: PTX ISA, "Asynchronous Warpgroup Level Matrix Shared Memory
Layout"; CUTLASS, the comments on make_gmma_desc in cute/atom/mma_traits_sm90_gmma.hpp, which agree with it.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from mmcore_emulator.machine.asynchronous.tensor_maps import CHUNK, swizzled
from mmcore_emulator.numerics.types import Values

WARPGROUP = 128
"""Threads that execute the instruction together."""
ROWS = 64
"""Rows of A and of the accumulators, in every form."""
DEPTH_BYTES = 32
"""Bytes of a row of A or of a column of B, in every form."""

SPANS = (0, 128, 64, 32)
_BITS = {"f16": 16, "bf16": 16, "tf32": 32, "e4m3": 8, "e5m2": 8, "s8": 8, "u8": 8, "b1": 1}
_EIGHT = ("e4m3", "e5m2")
# The types of the accumulators, of A and of B.
_TYPES: set[tuple[str, ...]] = (
    {("f16", "f16", "f16"), ("f32", "f16", "f16"), ("f32", "bf16", "bf16"), ("f32", "tf32", "tf32")}
    | {(accumulator, a, b) for accumulator in ("f16", "f32") for a in _EIGHT for b in _EIGHT}
    | {("s32", a, b) for a in ("s8", "u8") for b in ("s8", "u8")}
    | {("s32", "b1", "b1")}
)
_SHAPE = re.compile(r"m64n(\d+)k(\d+)")


@dataclass(frozen=True)
class WgmmaKind:
    """One form of ``wgmma.mma_async``: D = A·B + D, or A·B, with A of M×K and B of K×N elements."""

    # Columns of B, and elements of a product's sum; A has 64 rows.
    n: int
    k: int
    # PTX types.
    accumulator: str
    a: str
    b: str
    saturates: bool = False  # true if sums of integers saturate (``.satfinite``)

    @property
    def registers(self) -> int:
        """Number of 32-bit registers of each thread for the accumulators: N/2, or N/4 with two in each."""
        return self.n // (4 if self.accumulator == "f16" else 2)

    @property
    def transposable(self) -> bool:
        """True if matrices in shared memory may be K-major or MN-major; else they are K-major."""
        return _BITS[self.a] == 16

    def operands(self, a_in_registers: bool) -> tuple[str, ...]:
        """Return the names of the operands, in order.

        "d" is a list of registers, "a" such a list or a descriptor, "b" a descriptor, "scale_d" a predicate that adds
        D. The others are constants: "scale_a", "scale_b" (1 or -1), "trans_a", "trans_b" (1 for MN-major).
        """
        scales = () if self.accumulator == "s32" else ("scale_a", "scale_b")
        transposes = ("trans_b",) if a_in_registers else ("trans_a", "trans_b")
        return ("d", "a", "b", "scale_d", *scales, *(transposes if self.transposable else ()))


def parse_wgmma(opcode: tuple[str, ...]) -> WgmmaKind | None:
    """Return the form of ``wgmma.mma_async`` of an opcode; None for others (``.sp`` too)."""
    if opcode[:4] != ("wgmma", "mma_async", "sync", "aligned") or len(opcode) < 8:
        return None
    shape, saturates = _SHAPE.fullmatch(opcode[4]), opcode[5] == "satfinite"
    types, operation = opcode[5 + saturates :][:3], opcode[5 + saturates :][3:]
    if not shape or types not in _TYPES or operation != (("and", "popc") if "b1" in types else ()):
        return None
    accumulator, a, b = types
    n, k = int(shape[1]), int(shape[2])
    sizes = range(8, 257, 8) if accumulator != "s32" else (8, 24, *range(16, 257, 16))
    if n not in sizes or k * _BITS[a] != 8 * DEPTH_BYTES or (saturates and a not in ("s8", "u8")):
        return None
    return WgmmaKind(n, k, accumulator, a, b, saturates)


class Descriptor(NamedTuple):
    """The content of matrix descriptors, as arrays of one shape (PTX ISA, "Matrix Descriptor Format")."""

    start: Values  # address of the first chunk, in bytes, its lowest 18 bits; uint64, as are the next two
    leading: Values  # leading dimension byte offset
    stride: Values  # stride dimension byte offset
    base_offset: Values  # number of the 128 bytes with which the swizzle's pattern starts, modulo 8
    swizzle: Values  # bytes within which chunks change places: 0, 32, 64 or 128


def decode(descriptor: Values) -> Descriptor:
    """Return the content of descriptors (uint64)."""
    start, leading, stride = ((_field(descriptor, first, 14) << np.uint64(4)) for first in (0, 16, 32))
    swizzle = np.array(SPANS)[_field(descriptor, 62, 2).astype(np.int64)]
    return Descriptor(start, leading, stride, _field(descriptor, 49, 3).astype(np.int64), swizzle)


def _field(word: Values, first: int, bits: int) -> Values:
    return np.asarray((word >> np.uint64(first)) & np.uint64((1 << bits) - 1))


def chunk_addresses(parts: Descriptor, rows: int, k: int, element_bytes: int, major: str) -> Values:
    """Return the addresses of the 16-byte chunks of matrices in shared memory.

    Args:
        parts: content of G descriptors, [G] each.
        rows: M for operand A (64), N for operand B.
        k: elements along K.
        element_bytes: 1, 2 or 4.
        major: "K" or "MN".

    Returns:
        uint64 [G, rows, k · element_bytes / 16] for K-major matrices, each chunk 16 bytes along K.
        For MN-major ones [G, k, rows · element_bytes / 16], each chunk 16 bytes along M or N.
    """
    spans = {int(span) for span in np.unique(parts.swizzle)}
    if len(spans) == 1:
        return _chunks_of_span(parts, rows, k, element_bytes, major, spans.pop())
    addresses = None
    for span in spans:
        selected = parts.swizzle == span
        some = _chunks_of_span(Descriptor(*(values[selected] for values in parts)), rows, k, element_bytes, major, span)
        addresses = np.empty((len(selected), *some.shape[1:]), np.uint64) if addresses is None else addresses
        addresses[selected] = some
    assert addresses is not None
    return addresses


def _chunks_of_span(parts: Descriptor, rows: int, k: int, element_bytes: int, major: str, span: int) -> Values:
    fixed, leading, stride = _steps(rows, k, element_bytes, major, span)
    start, by_leading, by_stride = (values.reshape(-1, 1, 1) for values in (parts.start, parts.leading, parts.stride))
    addresses = start + (fixed + leading * by_leading + stride * by_stride)
    return swizzled(addresses, span, parts.base_offset.reshape(-1, 1, 1))


@functools.lru_cache(maxsize=64)
def _steps(rows: int, k: int, element_bytes: int, major: str, span: int) -> tuple[Values, Values, Values]:
    """Return bytes, leading offsets and stride offsets of each chunk, uint64 that broadcast to [lines, chunks].

    Lines are along M or N, chunks along K, in a K-major matrix; the other way round in an MN-major one. A group has
    eight lines, and as many chunks as fit a line of the swizzle.
    """
    width = max(span, CHUNK) // CHUNK
    lines, length = (rows, k) if major == "K" else (k, rows)
    line = np.arange(lines, dtype=np.uint64)[:, None]
    chunk = np.arange(length * element_bytes // CHUNK, dtype=np.uint64)
    group, across = line // np.uint64(8), chunk // np.uint64(width)
    within_group = (line % np.uint64(8)) * np.uint64(width * CHUNK)
    none = np.zeros(1, np.uint64)
    if major == "K":
        # With a swizzle, an instruction's 32 bytes are consecutive, and the leading offset is not used.
        return (within_group + chunk * np.uint64(CHUNK), none, group) if span else (within_group, chunk, group)
    within = within_group + (chunk % np.uint64(width)) * np.uint64(CHUNK)
    # Without a swizzle the two offsets change their roles.
    return (within, across, group) if span else (within, group, across)

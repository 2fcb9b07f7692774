"""CUDA C++ of copies in im2col mode and of products of single bits, for the GPU and the emulator.

load.cu, store.cu and bits.cu are templates, whose words in capitals are replaced.
"""

from __future__ import annotations

from itertools import product
from pathlib import Path

_HERE = Path(__file__).parent
_HEAD = """
struct __align__(64) Map { unsigned long long words[16]; };
__device__ unsigned address(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
"""
_LEFT_AND_RIGHT = {
    "global": ("a", "b"),
    "shared": ("__cvta_generic_to_shared(left)", "__cvta_generic_to_shared(right)"),
    "generic": ("left", "b"),
}


def _filled(name: str, **words: str) -> str:
    text = (_HERE / f"{name}.cu").read_text(encoding="utf-8")
    for word, value in words.items():
        text = text.replace(word, value)
    return f"\n{text}"


def _copy(name: str, rank: int) -> str:
    coordinates = ", ".join(f"%{3 + axis}" for axis in range(rank))
    offsets = ", ".join(f"%{8 + axis}" for axis in range(rank - 2))
    return _filled(name, COORDINATES=coordinates, OFFSETS=offsets, RANK=str(rank))


def bits_name(operation: str, layout: str, space: str) -> str:
    """Return the name of a kernel of bits."""
    return f"bits_{operation}_{layout}_{space}"


def _bits(operation: str, layout: str, space: str) -> str:
    left, right = _LEFT_AND_RIGHT[space]
    words = {"NAME": bits_name(operation, layout, space), "OPERATION": operation, "LAYOUT": layout}
    return _filled("bits", **words, SPACE="" if space == "generic" else f".{space}", LEFT=left, RIGHT=right)


COPIES = _HEAD + "".join(_copy(name, rank) for name, rank in product(("load", "store"), (3, 4, 5)))
"""Kernels load3, load4, load5, store3, store4 and store5."""
BITS = "".join(_bits(*words) for words in product(("xor", "and"), ("row", "col"), _LEFT_AND_RIGHT))
"""Kernels of products of bits."""

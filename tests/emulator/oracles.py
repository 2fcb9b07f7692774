"""Results of the corpus's kernels, and their arguments, in Python."""

from __future__ import annotations

from typing import Any

import numpy as np

from mmcore_cuda.nvrtc.cuda_headers import cuda_headers

HEADERS = cuda_headers().options
HALVES = np.linspace(-2, 2, 32).astype(np.float16)
BFLOATS = (np.linspace(-9, 9, 32).astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
_RNG = np.random.default_rng(3)
# Small whole numbers for products, and three steps of a sum.
A_OF_64, B_OF_64, HALVES_OF_64, HALVES_OF_8 = (
    _RNG.integers(-8, 9, shape).astype(np.float16) for shape in ((16, 64), (64, 8), (64, 16), (8, 16))
)
STEPS = _RNG.integers(-9, 9, (3, 64)).astype(np.float32)
ORDER = (3, 7, 0, 15, 2, 1, 9, 4, 8, 6, 5, 14, 11, 10, 13, 12)
WORD = 2**32 - 1


def zeros(count: int, dtype: Any = np.int32) -> Any:
    return np.zeros(count, dtype)


def ints(*numbers: int) -> Any:
    return np.array(numbers, np.int32)


def words(*numbers: int) -> Any:
    return np.array(numbers, np.uint32)


def lop3(a: int, b: int = 1, c: int = 0, table: int = 0x40) -> int:
    return sum((table >> (4 * (a >> i & 1) + 2 * (b >> i & 1) + (c >> i & 1)) & 1) << i for i in range(32))


def case(thread: int, index: int) -> int:
    return [thread + 100, thread * thread + 1, 6, 9, 50 - thread, thread ^ 85, 0, thread + 100][index]


def collatz(x: int) -> tuple[int, int]:
    """Return the number of steps to 1, and the sum of the numbers before it."""
    count = total = 0
    while x > 1:
        x, count, total = (3 * x + 1 if x % 2 else x // 2), count + 1, total + x
    return count, total


def nested_loops(x: int) -> int:
    total = 0
    for a in (a for a in range(x % 7 if x >= 0 else 0) if a != 3):
        for b in range(a + x % 3 + 1):
            total = total + a * b if (a + b) % 2 else total - b
            if total > 40:
                return -total
    return total


def rolled(block: int) -> Any:
    fixed = np.arange(64) + 64 * block
    dynamic = 10 * fixed[::-1]
    for extra in (1, 3, 5):
        fixed = np.roll(fixed, -1) + dynamic + extra
    return fixed


def folded(i: int) -> int:
    mine, x = {slot: i * j for j, slot in enumerate(ORDER)}, 0
    for j in range(16):
        x = 31 * x + mine[ORDER[(j + i) % 16]] & WORD
    return x


WARPS = np.random.default_rng(1).integers(0, 1000, (2, 32), dtype=np.uint32)


def counted(block: int, threads: int) -> int:
    count = sum(t > (4, 63, -1, 61)[block] for t in range(threads))
    return count + 100 * (count > 0) + 1000 * (count == threads) + 10000 * block


def in_order(seed: int, which: int) -> int:
    return sorted((seed * (i + 3) * 7919) % 101 for i in range(8))[which]


def median(seed: int) -> int:
    return in_order(seed + seed % 4, 3) + in_order(seed, 4)


def small_arguments(t: int) -> int:
    def byte(x: int) -> int:
        return (x + 128) % 256 - 128

    x = (t < 5) ^ (190 + t > 200) ^ (t > 5) ^ t % 2 ^ (t > 4)
    total = t * t + 3 * (t + 1) + 2 * (t + 2) + (t + 3)
    return x + 10 * byte(-byte(t * 9) - (65530 + t) % 65536) + 10000 * total


def copied(counts: list[int], size: int) -> Any:
    """Return rows of 4 words: the copied ones, then zeros up to ``size`` bytes, then the number of the row."""
    rows = np.arange(100, 228).reshape(32, 4)
    for number, (row, count) in enumerate(zip(rows, counts, strict=True)):
        row[count:] = 0
        row[size // 4 :] = number
    return rows.reshape(-1)

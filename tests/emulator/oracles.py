"""What kernels of the corpus compute, and their arguments, in Python."""

from __future__ import annotations

from typing import Any

import numpy as np


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

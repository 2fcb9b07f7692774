"""A matrix product in Triton. This module is imported when the kernel is compiled: it needs Triton."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit  # type: ignore[untyped-decorator]
def matmul(A, B, C, m, n, k, lda, ldb, ldc, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):  # type: ignore[no-untyped-def]
    """Compute a BM×BN tile of C in each program, with masks at the edges of the matrices."""
    rows = tl.program_id(1) * BM + tl.arange(0, BM)
    columns = tl.program_id(0) * BN + tl.arange(0, BN)
    depth = tl.arange(0, BK)
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for begin in range(0, k, BK):
        inside = begin + depth < k
        a = tl.load(A + rows[:, None] * lda + (begin + depth), mask=(rows[:, None] < m) & inside, other=0.0)
        b = tl.load(B + (begin + depth)[:, None] * ldb + columns, mask=inside[:, None] & (columns < n), other=0.0)
        # "ieee" keeps the precision of float32 inputs, which Triton rounds to tf32 by default.
        total = tl.dot(a, b, total, input_precision="ieee")
    tl.store(C + rows[:, None] * ldc + columns, total, mask=(rows[:, None] < m) & (columns < n))

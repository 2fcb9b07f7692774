"""A matrix product in CuTe DSL. This module is imported when the kernel is compiled: it needs the DSL."""

import cutlass
from cutlass import Float32, Int32, cute


@cute.kernel  # type: ignore[untyped-decorator]
def matmul(
    A: cute.Pointer,
    B: cute.Pointer,
    C: cute.Pointer,
    m: Int32,
    n: Int32,
    k: Int32,
    lda: Int32,
    ldb: Int32,
    ldc: Int32,
    TILE: cutlass.Constexpr,
) -> None:
    """Compute a tile of C in each block, from tiles of A and B in shared memory with zeros beyond the matrices."""
    x, y, _ = cute.arch.thread_idx()
    block_x, block_y, _ = cute.arch.block_idx()
    a = cute.make_tensor(A, cute.make_layout((m, k), stride=(lda, 1)))
    b = cute.make_tensor(B, cute.make_layout((k, n), stride=(ldb, 1)))
    c = cute.make_tensor(C, cute.make_layout((m, n), stride=(ldc, 1)))
    tile = cute.make_layout((TILE, TILE), stride=(TILE, 1))
    tile_a = cute.make_tensor(cute.arch.alloc_smem(Float32, TILE * TILE), tile)
    tile_b = cute.make_tensor(cute.arch.alloc_smem(Float32, TILE * TILE), tile)
    row, column = block_y * TILE + y, block_x * TILE + x
    total = Float32(0.0)
    for begin in range(0, k, TILE):
        tile_a[y, x] = a[row, begin + x] if row < m and begin + x < k else Float32(0.0)
        tile_b[y, x] = b[begin + y, column] if begin + y < k and column < n else Float32(0.0)
        cute.arch.sync_threads()
        for p in cutlass.range_constexpr(TILE):
            total += tile_a[y, p] * tile_b[p, x]
        cute.arch.sync_threads()
    if row < m and column < n:
        c[row, column] = total

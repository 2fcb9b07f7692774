"""upc.kernel11: tiles in shared memory and a tail tile, for any size."""

from mmcore import Int32Index, Kernel, SquareBlock, hookimpl


@hookimpl
def mmcore_kernels() -> Kernel:
    """Return the lecture's last kernel."""
    return Kernel(
        name="upc.kernel11",
        title="kernel10 for any size: a tail tile takes the rest of k, and the store is guarded",
        reference="UPC Barcelona, Tarjetas Gráficas y Aceleradores, CUDA – Producto de Matrices, slides 21–29",
        configs=[{"block": (b, b), "TILE": "{block.x}"} for b in (32, 16, 8)],
        over_read="tiles",
        constraints=(SquareBlock(), Int32Index()),
    )

"""upc.kernel10: tiles in shared memory, for sizes that are multiples of the block."""

from mmcore import Int32Index, Kernel, Multiple, SquareBlock, hookimpl


@hookimpl
def mmcore_kernels() -> Kernel:
    """Return the lecture's first tiled kernel."""
    return Kernel(
        name="upc.kernel10",
        title="Tiles of A and B in shared memory: a b-th of the global loads",
        reference="UPC Barcelona, Tarjetas Gráficas y Aceleradores, CUDA – Producto de Matrices, slides 14–19",
        configs=[{"block": (b, b), "TILE": "{block.x}"} for b in (32, 16, 8)],
        constraints=(Multiple(("m", "n", "k"), of="block.x"), SquareBlock(), Int32Index()),
    )

"""upc.kernel11_naive_guard: the lecture's first try at any size, which is not sufficient."""

from mmcore import Int32Index, Kernel, Multiple, SquareBlock, hookimpl


@hookimpl
def mmcore_kernels() -> Kernel:
    """Return the kernel that the lecture marks as not sufficient."""
    return Kernel(
        name="upc.kernel11_naive_guard",
        title="Not sufficient: kernel10 wrapped in kernel01's bounds test",
        reference="UPC Barcelona, Tarjetas Gráficas y Aceleradores, CUDA – Producto de Matrices, slide 20",
        configs=[{"block": (b, b), "TILE": "{block.x}"} for b in (32, 16, 8)],
        constraints=(Multiple(("m", "n", "k"), of="block.x"), SquareBlock(), Int32Index()),
        known_bugs=(
            "It drops the remainder of k when k is not a multiple of the block.",
            "Its barrier stands in a divergent branch when m or n is not a multiple of the block.",
        ),
    )

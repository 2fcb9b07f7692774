"""upc.kernel01: one thread per element of C, with a bounds test, for any size."""

from mmcore import FlatBlock, Int32Index, Kernel, hookimpl


@hookimpl
def mmcore_kernels() -> Kernel:
    """Return the lecture's element-by-element kernel."""
    return Kernel(
        name="upc.kernel01",
        title="One thread per element of C, with a bounds test: any size",
        reference="UPC Barcelona, Tarjetas Gráficas y Aceleradores, CUDA – Producto de Matrices, slides 8–13",
        configs=[{"block": (b, b)} for b in (32, 16, 8)],
        constraints=(FlatBlock(), Int32Index()),
    )

"""upc.kernel00: one thread per element of C, on a grid that must fit exactly."""

from mmcore import FlatBlock, Int32Index, Kernel, Multiple, Square, hookimpl


@hookimpl
def mmcore_kernels() -> Kernel:
    """Return the lecture's first kernel; its grid is rounded down, as in the lecture: 641 / 32 gives 20×20."""
    return Kernel(
        name="upc.kernel00",
        title="One thread per element of C, without a bounds test",
        reference="UPC Barcelona, Tarjetas Gráficas y Aceleradores, CUDA – Producto de Matrices, slides 2–7 and 13",
        configs=[{"block": (b, b)} for b in (32, 16, 8)],
        grid=lambda problem, config: (problem.n // config.block.x, problem.n // config.block.y),
        constraints=(Square(), Multiple("n", of="block.x"), Multiple("m", of="block.y"), FlatBlock(), Int32Index()),
    )

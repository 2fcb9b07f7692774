"""hpsee.simple: one thread per element of C, with a bounds test and one width."""

from mmcore import FlatBlock, Int32Index, Kernel, Square, hookimpl


@hookimpl
def mmcore_kernels() -> Kernel:
    """Return the lecture's simple kernel."""
    return Kernel(
        name="hpsee.simple",
        title="One thread per element of C, with a bounds test: any width",
        reference="HP-SEE, Matrix Multiplication in CUDA, slide 2",
        configs=[{"block": (b, b)} for b in (16, 32)],
        constraints=(Square(), FlatBlock(), Int32Index()),
    )

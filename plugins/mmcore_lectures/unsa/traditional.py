"""unsa.traditional: one thread per element of C, with the width compiled in."""

from mmcore import FlatBlock, Int32Index, Kernel, Square, hookimpl


@hookimpl
def mmcore_kernels() -> Kernel:
    """Return the laboratory's program 1."""
    return Kernel(
        name="unsa.traditional",
        title="One thread per element of C, with a bounds test and the width compiled in",
        reference="UNSA, Laboratorio Multiplicación de Matrices con CUDA, section 1.1, listing 1",
        configs=[{"block": (b, b)} for b in (20, 5, 10, 25)],
        defines={"WIDTH": "{n}"},
        constraints=(Square(), FlatBlock(), Int32Index()),
    )

"""poznan.v1: a single block of threads walks over the whole of C."""

from mmcore import FlatBlock, Int32Index, Kernel, Multiple, Square, hookimpl


@hookimpl
def mmcore_kernels() -> Kernel:
    """Return the report's version 1."""
    return Kernel(
        name="poznan.v1",
        title="A single block of threads walks over the whole of C",
        reference="Politechnika Poznańska, Programowanie CUDA na NVIDIA GPU, section 3.1, page 5, listing 1",
        configs=[{"block": (b, b)} for b in (16, 8, 22)],
        grid=lambda problem, config: (1,),
        constraints=(Square(), Multiple("n", of="block.x"), Multiple("m", of="block.y"), FlatBlock(), Int32Index()),
    )

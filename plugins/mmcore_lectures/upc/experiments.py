"""UPC's experiments: GFLOP/s over the sizes, the cost of remainders, and the cost of copies."""

from mmcore import hookimpl
from mmcore_tools.experiments import Preset

_REFERENCE = "UPC Barcelona, Tarjetas Gráficas y Aceleradores, CUDA – Producto de Matrices"
_KERNELS = ("upc.kernel01", "upc.kernel11")


@hookimpl
def mmcore_presets() -> list[Preset]:
    """Return the lecture's three experiments."""
    return [
        Preset(
            name="upc-sizes",
            title="GFLOP/s from n = 128 to 3200, element by element and tiled, in blocks of 8, 16 and 32",
            reference=_REFERENCE,
            shows="The rate grows with n until the GPU is full, tiles raise it, and the block's edge matters.",
            kernels=_KERNELS,
            sizes=tuple(range(128, 3201, 32)),
            blocks=(8, 16, 32),
            quick_sizes=(32, 64, 96, 128, 160),
            max_time=0.1,
        ),
        Preset(
            name="upc-remainders",
            title="GFLOP/s at every n from 1000 to 1100, in blocks of 16 and 32",
            reference=_REFERENCE,
            shows="Remainders cost: the rate peaks at multiples of the block's edge and falls behind each.",
            kernels=_KERNELS,
            sizes=tuple(range(1000, 1101)),
            blocks=(16, 32),
            quick_sizes=tuple(range(60, 70)),
            max_time=0.1,
        ),
        Preset(
            name="upc-transfers",
            title="Kernel and end-to-end time, with pageable and pinned host memory",
            reference=_REFERENCE,
            shows="Pinned memory shortens the copies and leaves the kernel alone; their share falls as n grows.",
            kernels=_KERNELS,
            sizes=(128, 256, 512, 640, 1024, 1536, 2048, 2560, 3200),
            blocks=(32,),
            measures=("kernel-warm", "end-to-end-pageable", "end-to-end-pinned"),
            quick_sizes=(64, 128),
            max_time=0.5,
        ),
    ]

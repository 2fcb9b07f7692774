"""Poznań's two experiments: versions 1 to 3, and versions 3 to 5."""

from mmcore import hookimpl
from mmcore_tools.experiments import Preset

_REFERENCE = "Politechnika Poznańska, Programowanie CUDA na NVIDIA GPU"


@hookimpl
def mmcore_presets() -> list[Preset]:
    """Return the report's two series of measurements."""
    return [
        Preset(
            name="poznan-first",
            title="Versions 1 to 3 at 176, 352 and 528, in blocks of 8, 16 and 22",
            reference=_REFERENCE,
            shows="One block uses one multiprocessor, many use them all, and tiles spare the memory.",
            kernels=("poznan.v1", "poznan.v2", "poznan.v3"),
            sizes=(176, 352, 528),
            blocks=(8, 16, 22),
            quick_sizes=(88,),
            quick_blocks=(8, 22),
            max_time=0.5,
        ),
        Preset(
            name="poznan-second",
            title="Versions 3 to 5 from 128 to 640, in blocks of 8 and 16",
            reference=_REFERENCE,
            shows="Loading the next tiles ahead gains little; four elements of C per thread gain most.",
            kernels=("poznan.v3", "poznan.v4a", "poznan.v4b", "poznan.v5"),
            sizes=(128, 256, 384, 512, 640),
            blocks=(8, 16),
            quick_sizes=(64, 128),
            max_time=0.5,
        ),
    ]

"""UNSA's experiment: the blocks that can compute n = 500, and their speed."""

from mmcore import hookimpl
from mmcore_tools.experiments import Preset


@hookimpl
def mmcore_presets() -> list[Preset]:
    """Return the laboratory's table, with the blocks that it cannot have run."""
    return [
        Preset(
            name="unsa-blocks",
            title="n = 500 in blocks from 5×5 to 50×50: how fast, and what is refused",
            reference="UNSA, Laboratorio Multiplicación de Matrices con CUDA, section 1.3, table 1",
            shows="Blocks of 35×35 and more have more threads than a GPU allows: the published times of 50×50 are no "
            "kernel's.",
            kernels=("unsa.traditional", "unsa.tiled"),
            sizes=(500,),
            blocks=tuple(range(5, 51, 5)),
            quick_sizes=(100,),
            max_time=0.5,
        )
    ]

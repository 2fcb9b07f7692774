"""Lezione 9's experiment: the cost of the threads' order, with and without shared memory."""

from mmcore import hookimpl
from mmcore_tools.experiments import Preset


@hookimpl
def mmcore_presets() -> list[Preset]:
    """Return the experiment: the lecture's kernels and mmcore's variants, which differ only in the threads' order."""
    return [
        Preset(
            name="lezione9-coalescing",
            title="x along the rows against x along the columns, without and with shared memory, in double precision",
            reference="Lezione 9, Unità 1, il prodotto di matrici, slides 2–12; the columns are mmcore's own",
            shows="Shared memory spares loads; which way x runs decides what each of those that remain costs.",
            kernels=("lezione9.kernel1", "mmcore.kernel1_columns", "lezione9.kernel2", "mmcore.kernel2_columns"),
            sizes=(128, 256, 512, 640, 1024, 2048),
            blocks=(32,),
            quick_sizes=(64, 128),
            max_time=0.5,
        )
    ]

"""wangzyon/NVIDIA_SGEMM_PRACTICE: kernels 1 to 7, with the launches of its src/utils.cu.

Blocks along x are counted by M there, although they walk along columns, so that matrices must be square.
"""

from __future__ import annotations

from bench.studies.public_kernels.declared import Repository
from mmcore import Multiple, Square, ceil_div

REPOSITORY = Repository(
    "NVIDIA_SGEMM_PRACTICE",
    "wangzyon",
    {"arguments": ("m", "n", "k", "alpha", "A", "B", "beta", "C"), "alpha": 0.5, "beta": 2},
)
# Template's parameters, threads, edge of the tile.
_LAUNCHES = {
    1: ("", (32, 32), 32),
    2: ("<32>", (1024,), 32),
    3: ("<64, 64, 8, 8>", (512,), 64),
    **dict.fromkeys((4, 5, 6, 7), ("<128, 128, 8, 8, 8>", (256,), 128)),
}

KERNELS = tuple(
    REPOSITORY.kernel(
        f"kernel{number}",
        f"src/kernel/kernel_{number}.cuh",
        "simt",
        f"mysgemm_v{number}{parameters}",
        configs=[{"block": threads, "EDGE": edge}],
        grid=lambda problem, config: (ceil_div(problem.m, config.EDGE), ceil_div(problem.n, config.EDGE)),
        constraints=(Square(), Multiple(("m", "n", "k"), edge)),
    )
    for number, (parameters, threads, edge) in _LAUNCHES.items()
)

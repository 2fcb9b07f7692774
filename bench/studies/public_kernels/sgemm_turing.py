"""yzhaiustc/Optimizing-SGEMM-on-NVIDIA-Turing-GPUs: kernels 1 to 11, launched as its utils.cu does.

All matrices are stored by columns. Kernels 1 to 10 compute whole tiles only.
"""

from __future__ import annotations

from bench.studies.public_kernels.declared import Repository
from mmcore import Multiple, ceil_div

REPOSITORY = Repository(
    "Optimizing-SGEMM-on-NVIDIA-Turing-GPUs",
    "yzhaiustc",
    {"arguments": ("m", "n", "k", "alpha", "A", "B", "beta", "C"), "column_major": "ABC", "alpha": 0.5, "beta": 2},
)
# Threads, edge of the tile, and columns of A that are loaded at once.
_LAUNCHES = {
    1: ((32, 32), 32, 1),
    2: ((32, 32), 32, 32),
    3: ((1024,), 32, 32),
    4: ((1024,), 32, 32),
    5: ((256,), 32, 32),
    6: ((256,), 32, 32),
    7: ((256,), 64, 16),
    8: ((256,), 128, 8),
    9: ((256,), 128, 8),
    10: ((256,), 128, 8),
    11: ((256,), 128, 8),
}

KERNELS = tuple(
    REPOSITORY.kernel(
        f"kernel{number}",
        f"include/kernel{number}.cuh",
        "simt",
        f"mysgemm_v{number}",
        configs=[{"block": threads, "EDGE": edge}],
        grid=lambda problem, config: (ceil_div(problem.m, config.EDGE), ceil_div(problem.n, config.EDGE)),
        constraints=(Multiple(("m", "n"), edge), Multiple("k", depth)),
    )
    for number, (threads, edge, depth) in _LAUNCHES.items()
)

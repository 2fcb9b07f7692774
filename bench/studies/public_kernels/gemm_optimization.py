"""leimao/CUDA-GEMM-Optimization: templates from one thread for each element to warp tiles and wmma.

Template parameters and launches are those of the ``launch_`` functions; leading dimensions are passed.
"""

from __future__ import annotations

from typing import Any

from bench.studies.public_kernels.declared import PublicKernel, Repository
from mmcore import Multiple, Scalar, ceil_div

_FACTORS = {"float32": ("float", 0.5, 2), "float16": ("__half", 0.5, 1)}


def _arguments(scalar: str) -> tuple[str | Scalar, ...]:
    size = {name: Scalar(name, "uint64") for name in ("m", "n", "k", "lda", "ldb", "ldc")}
    alpha, beta = Scalar("alpha", scalar), Scalar("beta", scalar)
    return (size["m"], size["n"], size["k"], alpha, "A", size["lda"], "B", size["ldb"], beta, "C", size["ldc"])


REPOSITORY = Repository("CUDA-GEMM-Optimization", "leimao", {"include": ("../include",)})
_BLOCK = "2d_block_tiling"
_THREAD = f"{_BLOCK}_2d_thread_tiling"
_WARP = f"{_BLOCK}_2d_warp_tiling_2d_thread_tiling_matrix_transpose"
_VECTOR = "vectorized_memory_access"


def _kernel(
    name: str,
    file: str,
    tile: tuple[int, int],
    threads: tuple[int, ...],
    parameters: str = "",
    *,
    family: str = "simt",
    dtype: str = "float32",
    **further: Any,
) -> PublicKernel:
    """A kernel whose tiles are so high and wide, columns along x unless ``grid`` says otherwise."""
    element, alpha, beta = _FACTORS[dtype]
    declared: dict[str, Any] = {
        "grid": lambda problem, config: (ceil_div(problem.n, tile[1]), ceil_div(problem.m, tile[0])),
        "dtype": dtype,
        "accumulator": dtype,
        "output": dtype,
        "alpha": alpha,
        "beta": beta,
        "arguments": _arguments(dtype),
    }
    values = f"<{', '.join(filter(None, (element, parameters)))}>"
    return REPOSITORY.kernel(
        name, f"src/{file}.cu", family, f"gemm_{name}{values}", block=threads, **{**declared, **further}
    )


def _whole(edge: int, depth: int) -> dict[str, Any]:
    """Whole tiles only: in columns beyond n or k these clear more elements of a vector than it has."""
    return {"constraints": (Multiple(("m", "n"), edge), Multiple("k", depth))}


_V03, _V04 = "64, 64, 8, 8", "128, 128, 16, 8, 8"
_V06 = "128, 128, 16, 32, 64, 8, 8, 4, 8"
_V07 = "128, 128, 16, 16, 16, 32, 64, 16, 16, 16, 256"
_SHARED = (128, 128)

KERNELS = (
    _kernel(
        "v00",
        "00_non_coalesced_global_memory_access",
        (32, 32),
        (32, 32),
        grid=lambda problem, config: (ceil_div(problem.m, 32), ceil_div(problem.n, 32)),
    ),
    _kernel("v01", "01_coalesced_global_memory_access", (32, 32), (32, 32)),
    _kernel("v02", f"02_{_BLOCK}", (32, 32), (32, 32), "32, 32, 32"),
    _kernel("v02_vectorized", f"02_{_BLOCK}_{_VECTOR}", (32, 32), (32, 32), "32, 32, 32", **_whole(32, 32)),
    _kernel("v03", f"03_{_BLOCK}_1d_thread_tiling", (64, 64), (512,), _V03),
    _kernel("v03_vectorized", f"03_{_BLOCK}_1d_thread_tiling_{_VECTOR}", (64, 64), (512,), _V03, **_whole(64, 8)),
    _kernel("v04", f"04_{_THREAD}", _SHARED, (256,), _V04),
    _kernel("v04_vectorized", f"04_{_THREAD}_{_VECTOR}", _SHARED, (256,), _V04, **_whole(128, 16)),
    _kernel("v05", f"05_{_THREAD}_matrix_transpose", _SHARED, (256,), _V04),
    _kernel("v05_vectorized", f"05_{_THREAD}_matrix_transpose_{_VECTOR}", _SHARED, (256,), _V04, **_whole(128, 16)),
    _kernel("v06", f"06_{_WARP}", _SHARED, (256,), _V06),
    _kernel("v06_vectorized", f"06_{_WARP}_{_VECTOR}", _SHARED, (256,), _V06, **_whole(128, 16)),
    _kernel(
        "v06_vectorized_double_buffered",
        f"06_{_WARP}_{_VECTOR}_double_buffered",
        _SHARED,
        (256,),
        _V06,
        **_whole(128, 16),
    ),
    *(
        _kernel(
            name,
            f"07_{_WARP}_wmma{file}",
            _SHARED,
            (256,),
            _V07,
            family="wmma",
            dtype="float16",
            constraints=(Multiple(("m", "n"), 128), Multiple("k", 16)),
        )
        for name, file in (
            ("v07", ""),
            ("v07_vectorized", f"_{_VECTOR}"),
            ("v07_vectorized_double_buffered", f"_{_VECTOR}_double_buffered"),
        )
    ),
)

"""NVIDIA/cuda-samples: the tiled product three times, and tensor cores by wmma in five types.

The tensor-core samples compute D = αAB + βC. Each block reads its tile of C before it writes that of D, so that one
matrix serves as both. The sizes of the ``compute_`` kernels are macros without #ifndef.
"""

from __future__ import annotations

from typing import Any

from bench.studies.public_kernels.declared import Exactly, PublicKernel, Repository, Sizes
from mmcore import Config, Launch, Multiple, Problem, Scalar, Square, ceil_div
from mmcore.kernel.properties import DeviceProperties

REPOSITORY = Repository("cuda-samples", "cuda_samples", {})
_FEATURES = "Samples/3_CUDA_Features"
_TILED: dict[str, Any] = {
    "grid": lambda problem, config: (problem.n // config.block.x, problem.m // config.block.y),
    "constraints": (Multiple(("m", "n", "k"), "block.x"),),
}


def _driver_launch(problem: Problem, config: Config, device: DeviceProperties) -> Launch:
    edge = config.block.x
    return Launch((problem.n // edge, problem.m // edge), config.block, shared_bytes=2 * edge * edge * 4)


def _types(dtype: str, output: str, scalar: str, *, factors: tuple[float, float] = (1.1, 1.2)) -> dict[str, Any]:
    return {
        "dtype": dtype,
        "accumulator": output,
        "output": output,
        "column_major": "B",
        "alpha": factors[0],
        "beta": factors[1],
        "arguments": (
            ("A", "B", "C", "C", Scalar("alpha", scalar), Scalar("beta", scalar))
            if scalar != "int32"
            else ("A", "B", "C", "C", Scalar(1), Scalar(1))
        ),
        "min_compute_capability": (8, 0),
    }


def _whole(
    name: str, folder: str, entry: str, sizes: Sizes, waves: int, shared: int, types: dict[str, Any], **further: Any
) -> PublicKernel:
    """A ``compute_`` kernel: so many blocks for each multiprocessor, which loop over tiles of a fixed size."""

    def rule(problem: Problem, config: Config, device: DeviceProperties) -> Launch:
        return Launch((waves * device.multiprocessors,), (256,), shared)

    return REPOSITORY.kernel(
        name,
        f"{_FEATURES}/{folder}/{folder}.cu",
        "wmma",
        entry,
        block=(256,),
        launch=rule,
        constraints=(Exactly(sizes.m, sizes.n, sizes.k),),
        sizes=(sizes,),
        **types,
        **further,
    )


def _simple(
    name: str, folder: str, entry: str, tile: int, k: int, types: dict[str, Any], **further: Any
) -> PublicKernel:
    """A ``simple_`` kernel: a warp for each tile."""
    first, last = types["arguments"][:4], types["arguments"][4:]
    return REPOSITORY.kernel(
        name,
        f"{_FEATURES}/{folder}/{folder}.cu",
        "wmma",
        entry,
        block=(128, 4),
        grid=lambda problem, config: (ceil_div(problem.m, 4 * tile), ceil_div(problem.n, 4 * tile)),
        **{"constraints": (Multiple(("m", "n"), tile), Multiple("k", k)), **types, **further}
        | {"arguments": (*first, "m", "n", "k", *last)},
    )


_HALF = _types("float16", "float32", "float32")
_BFLOAT16 = _types("bfloat16", "float32", "float32")
_TF32 = _types("tf32", "float32", "float32")
_DOUBLE = _types("float64", "float64", "float64")
_INTEGER = _types("uint8", "int32", "int32", factors=(1, 1))

KERNELS = (
    REPOSITORY.kernel(
        "matrixmul",
        "Samples/0_Introduction/matrixMul/matrixMul.cu",
        "simt",
        "MatrixMulCUDA<{block.x}>",
        configs=[{"block": (edge, edge)} for edge in (32, 16)],
        arguments=("C", "A", "B", "k", "n"),
        **_TILED,
    ),
    REPOSITORY.kernel(
        "matrixmul_nvrtc",
        "Samples/0_Introduction/matrixMul_nvrtc/matrixMul_kernel.cu",
        "simt",
        "matrixMulCUDA_block{block.x}",
        configs=[{"block": (edge, edge)} for edge in (32, 16)],
        arguments=("C", "A", "B", "k", "n"),
        **_TILED,
    ),
    REPOSITORY.kernel(
        "matrixmul_drv",
        "Samples/0_Introduction/matrixMulDrv/matrixMul_kernel.cu",
        "simt",
        "matrixMul_bs{block.x}_64bit",
        configs=[{"block": (edge, edge)} for edge in (32, 16, 8)],
        arguments=("C", "A", "B", Scalar("k", "uint64"), Scalar("n", "uint64")),
        launch=_driver_launch,
        constraints=_TILED["constraints"],
    ),
    _whole("half_gemm", "cudaTensorCoreGemm", "compute_gemm", Sizes(4096, 4096, 4096), 1, 65536, _HALF),
    _simple("half_simple", "cudaTensorCoreGemm", "simple_wmma_gemm", 16, 16, _HALF),
    _whole("bf16_gemm", "bf16TensorCoreGemm", "compute_bf16gemm", Sizes(8192, 8192, 8192), 2, 73728, _BFLOAT16),
    _whole(
        "bf16_gemm_async",
        "bf16TensorCoreGemm",
        "compute_bf16gemm_async_copy",
        Sizes(8192, 8192, 8192),
        2,
        73728,
        _BFLOAT16,
    ),
    _simple(
        "bf16_simple",
        "bf16TensorCoreGemm",
        "simple_wmma_bf16gemm",
        16,
        16,
        _BFLOAT16,
        wrong="it loads B's tile from row warpN * N and column i, which have changed places",
    ),
    _whole("tf32_gemm", "tf32TensorCoreGemm", "compute_tf32gemm", Sizes(8192, 8192, 4096), 2, 73728, _TF32),
    _whole(
        "tf32_gemm_async", "tf32TensorCoreGemm", "compute_tf32gemm_async_copy", Sizes(8192, 8192, 4096), 2, 73728, _TF32
    ),
    _simple("tf32_simple", "tf32TensorCoreGemm", "simple_wmma_tf32gemm", 16, 8, _TF32),
    _whole("dmma", "dmmaTensorCoreGemm", "compute_dgemm", Sizes(8192, 8192, 4096), 2, 69632, _DOUBLE),
    _whole("dmma_async", "dmmaTensorCoreGemm", "compute_dgemm_async_copy", Sizes(8192, 8192, 4096), 3, 69632, _DOUBLE),
    _whole(
        "dmma_cg_async", "dmmaTensorCoreGemm", "compute_dgemm_cg_async_copy", Sizes(8192, 8192, 4096), 3, 69632, _DOUBLE
    ),
    _simple("dmma_simple", "dmmaTensorCoreGemm", "simple_wmma_gemm", 8, 4, _DOUBLE),
    _whole("imma", "immaTensorCoreGemm", "compute_gemm_imma", Sizes(4096, 4096, 4096), 1, 65536, _INTEGER),
    _simple(
        "imma_simple",
        "immaTensorCoreGemm",
        "simple_wmma_gemm_imma",
        16,
        16,
        _INTEGER,
        constraints=(Multiple(("m", "n", "k"), 16), Square()),  # it steps through A by m
    ),
)

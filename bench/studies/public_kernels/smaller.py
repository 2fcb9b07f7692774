"""Repositories with a few kernels each.

Cjkkkk/CUDA_gemm, nicolaswilde/cuda-sgemm, lzhengchun/matrix-cuda, Liu-xiandong/How_to_optimize_in_GPU and
NVIDIA-developer-blog/code-samples.
"""

from __future__ import annotations

from bench.studies.public_kernels.declared import Repository
from mmcore import Multiple, Square, ceil_div

CUDA_GEMM = Repository("CUDA_gemm", "cjkkkk", {"include": ("include",)})
CUDA_SGEMM = Repository("cuda-sgemm", "nicolaswilde", {"arguments": ("A", "B", "C", "m", "n", "k")})
MATRIX_CUDA = Repository("matrix-cuda", "lzhengchun", {"dtype": "int32"})
HOW_TO_OPTIMIZE = Repository("How_to_optimize_in_GPU", "liu_xiandong", {"arguments": ("A", "B", "C", "m", "n", "k")})
CODE_SAMPLES = Repository("code-samples", "code_samples", {})

_DENSE = "<96, 32, 64, 6, 4, false>"
_DENSE_TILES = (Multiple("m", 96), Multiple("n", 64), Multiple("k", 32))
_LEGACY = "src/cuda/dense_legacy.cu"

KERNELS = (
    CUDA_GEMM.kernel(
        "dense",
        "src/cuda/dense.cu",
        "simt",
        f"MatrixMulCUDA6{_DENSE}",
        block=(16, 16),
        arguments=("A", "B", "C", "m", "k", "n", "alpha", "beta"),
        grid=lambda problem, config: (problem.n // 64, problem.m // 96),
        constraints=_DENSE_TILES,
        alpha=2,
        beta=2,
    ),
    CUDA_GEMM.kernel(
        "bank_conflict_avoid",
        "src/cuda/bank_conflict_avoid.cu",
        "simt",
        f"BankConflictAvoidMatMul{_DENSE}",
        block=(16, 16),
        arguments=("A", "B", "C", "k", "n"),
        grid=lambda problem, config: (problem.n // 64, problem.m // 96),
        constraints=_DENSE_TILES,
    ),
    CUDA_GEMM.kernel(
        "double_buffer",
        "src/cuda/double_buffer.cu",
        "simt",
        f"DoubleBufferMatMul{_DENSE}",
        block=(16, 16),
        arguments=("A", "B", "C", "k", "n"),
        grid=lambda problem, config: (problem.n // 64, problem.m // 96),
        constraints=_DENSE_TILES,
        wrong="it assigns to variables that it declares const, so that nvcc rejects this instance too",
    ),
    *(
        CUDA_GEMM.kernel(
            name,
            _LEGACY,
            "simt",
            f"{function}<{edge}>",
            configs=[{"block": block, "EDGE": edge}],
            arguments=("A", "B", "C", "k", "n"),
            grid=lambda problem, config: (problem.n // config.EDGE, problem.m // config.EDGE),
            constraints=(Multiple(("m", "n", "k"), edge),),
        )
        for name, function, edge, block in (
            ("legacy", "MatrixMulCUDA", 32, (32, 32)),
            ("legacy2", "MatrixMulCUDA2", 32, (8, 32)),
            ("legacy3", "MatrixMulCUDA3", 32, (8, 32)),
            ("legacy4", "MatrixMulCUDA4", 64, (16, 16)),
        )
    ),
    CUDA_SGEMM.kernel("naive", "sgemm.cu", "simt", "naiveSgemm", block=(32, 32)),
    *(
        CUDA_SGEMM.kernel(
            f"v{number}",
            "sgemm.cu",
            "simt",
            f"mySgemmV{number}Aligned",
            block=(16, 16),
            grid=lambda problem, config: (ceil_div(problem.n, 128), ceil_div(problem.m, 128)),
            constraints=(Multiple(("m", "n"), 128), Multiple("k", 8)),
        )
        for number in (1, 2, 3)
    ),
    # Its m×n and n×k matrices are our m×k and k×n ones.
    MATRIX_CUDA.kernel(
        "naive", "matrix_cuda.cu", "simt", "gpu_matrix_mult", block=(16, 16), arguments=("A", "B", "C", "m", "k", "n")
    ),
    MATRIX_CUDA.kernel(
        "square",
        "matrix_cuda.cu",
        "simt",
        "gpu_square_matrix_mult",
        block=(16, 16),
        arguments=("A", "B", "C", "n"),
        constraints=(Square(),),
    ),
    *(
        HOW_TO_OPTIMIZE.kernel(
            f"sgemm_v{number}",
            f"sgemm/sgemm_v{number}.cu",
            "simt",
            "Sgemm<128, 8, 128, 8, 8, false>",
            block=(16, 16),
            grid=lambda problem, config: (problem.n // 128, problem.m // 128),
            constraints=(Multiple(("m", "n"), 128), Multiple("k", 8)),
        )
        for number in (1, 3)
    ),
    CODE_SAMPLES.kernel(
        "nvml_matrixmul",
        "posts/nvml/matrixMul.cu",
        "simt",
        "matrixMulCUDA<{block.x}>",
        configs=[{"block": (edge, edge)} for edge in (32, 16)],
        arguments=("C", "A", "B", "k", "n"),
        grid=lambda problem, config: (problem.n // config.block.x, problem.m // config.block.y),
        constraints=(Multiple(("m", "n", "k"), "block.x"),),
    ),
    CODE_SAMPLES.kernel(
        "wmma_example",
        "posts/tensor-cores/simpleTensorCoreGEMM.cu",
        "wmma",
        "wmma_example",
        block=(128, 4),
        arguments=("A", "B", "C", "m", "n", "k", "alpha", "beta"),
        grid=lambda problem, config: (ceil_div(problem.m, 64), ceil_div(problem.n, 64)),
        constraints=(Multiple(("m", "n", "k"), 16),),
        dtype="float16",
        accumulator="float32",
        output="float32",
        column_major="ABC",
        alpha=2,
        beta=2,
    ),
)

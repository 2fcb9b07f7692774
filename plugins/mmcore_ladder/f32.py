"""ladder.f32: float32 on CUDA cores, from one thread per element to a kernel for any size and layout."""

from pathlib import Path

from mmcore import (
    Config,
    DeviceProperties,
    Int32Index,
    Kernel,
    Launch,
    Multiple,
    Problem,
    Scalar,
    Space,
    ceil_div,
    hookimpl,
    named_tiling,
)
from mmcore.kernel.arguments import Argument
from mmcore.planning.kernel_choice import Choice
from mmcore.registry import registry
from mmcore_ladder import f32_spaces
from mmcore_ladder.layouts import LAYOUTS, StrideInBytes
from mmcore_ladder.shares import stream_k, threads_of_warps

_WHOLE_TILES = (Multiple("m", of="BM"), Multiple("n", of="BN"), Multiple("k", of="BK"))


def _rows_along_x(problem: Problem, config: Config) -> tuple[int, int]:
    """Return a grid with x along the rows of C."""
    return ceil_div(problem.m, config.BM), ceil_div(problem.n, config.BN)


_SIZES = ("m", "n", "k", "lda", "ldb")


def resident(config: Config) -> int:
    """Return how many blocks the registers of a multiprocessor hold; the source defines the same number as BLOCKS."""
    sums, threads = config.TM * config.TN, config.block.x
    most = 256 if sums > 64 else 384 if sums > 32 and threads <= 128 else 512 if sums > 16 else 768
    return max(1, int(most // threads))


def _any_exists(config: Config) -> bool:
    """Return whether 09_any supports the config."""
    if config.BM % config.WM or config.BN % config.WN or config.WM * config.WN != 32 * config.TM * config.TN:
        return False
    lanes = (config.WM // config.TM, config.WN // config.TN)
    threads, most = config.block.x, 256 if config.TM * config.TN > 64 else 512
    if lanes not in ((4, 8), (8, 4)) or not 64 <= threads <= most or config.TM * config.TN > 128:
        return False
    if max(config.TM, config.TN) > 2 * min(config.TM, config.TN):
        return False
    pitches = config.BM + config.BN + 8
    shared_bytes = config.STAGES * config.BK * pitches * 4 * resident(config)
    shares = min(config.BM, config.BN) * config.BK // 4 % threads == 0
    return bool(threads >= max(config.BM, config.BN) and shares and shared_bytes <= 220 << 10)


def _launch_any(problem: Problem, config: Config, device: DeviceProperties) -> list[Launch]:
    """Return the product's launch and, if blocks share the last wave's tiles, the launch that adds their parts."""

    def wide(matrix: str) -> int:
        """Return 4, the elements of a 16-byte copy, if all stored rows (or columns) are aligned to it, else 1."""
        _, length = problem.stored_shape(matrix)
        return 1 if length % 4 or problem.leading(matrix) % 4 else 4

    # Copies of 16 bytes need elements that are contiguous along the tile's rows.
    wide_a = wide("A") if "A" in problem.column_major else 1
    wide_b = wide("B") if "B" not in problem.column_major else 1
    pitch_a = config.BM + (4 if "A" not in problem.column_major else 0)
    pitch_b = config.BN + (4 if "B" in problem.column_major else 0)

    def product(blocks: int, parts: Argument, whole: Scalar) -> Launch:
        return Launch(
            grid=(blocks,),
            block=config.block,
            shared_bytes=config.STAGES * config.BK * (pitch_a + pitch_b) * 4,
            entry=f"any<{wide_a}, {wide_b}>",
            arguments=("A", "B", "C", parts, *_SIZES, "ldc", whole),
        )

    return stream_k(problem, config, device, resident(config), product)


_BIG = {"BM": 128, "BN": 256, "BK": 8, "WM": 32, "WN": 128, "TM": 8, "TN": 16}


def _any(layout: str, column_major: str) -> Kernel:
    """Return 09_any for one layout; "_tn", for example, stores A by columns."""
    stored = {"": "A and B by rows", "A": "A by columns", "B": "B by columns", "AB": "A and B by columns"}[column_major]
    return Kernel(
        name=f"ladder.f32.09_any{layout}",
        source=Path("f32_09_any.cu"),
        title=f"any product, {stored}: fragments loaded ahead, blocks ordered for L2, the last wave shared",
        reference="block order: Philippe Tillet, Triton's tutorial on matrix multiplication, 2021; fragments loaded "
        "ahead: Junjie Lai and André Seznec, Performance Upper Bound Analysis and Optimization of SGEMM on Fermi and "
        "Kepler GPUs, 2013; shared tiles: Muhammad Osama and others, Stream-K, 2023",
        configs=Space(
            {
                "BM": (32, 64, 128, 256),
                "BN": (32, 64, 128, 256),
                "BK": (8, 16),
                "WM": (16, 32, 64, 128),
                "WN": (16, 32, 64, 128),
                "TM": (4, 8, 16),
                "TN": (4, 8, 16),
                "STAGES": (3, 4),
                "GROUP": (8,),
                "block": threads_of_warps,
            },
            where=_any_exists,
            default=[{**_BIG, "STAGES": 4, "GROUP": 8}],
        ),
        entry="any<1, 1>",
        launch=_launch_any,
        tiling=named_tiling,
        column_major=column_major,
        variant_of="ladder.f32.09_any" if layout else "",
        defines={"A_BY_COLUMNS": str(int("A" in column_major)), "B_BY_COLUMNS": str(int("B" in column_major))},
        constraints=(StrideInBytes(2**30, "lda and ldb are less than 2³⁰"),),
        min_compute_capability=(8, 0),
    )


@hookimpl
def mmcore_kernels() -> list[Kernel]:
    """Return the rungs, from the lowest to the highest."""
    return [
        Kernel(
            name="ladder.f32.01_naive",
            source=Path("f32_01_naive.cu"),
            title="one thread per element of C, x along the rows: not coalesced",
            reference="Lezione 9, Unità 1, il prodotto di matrici, slides 2–9: kernel1, here in float32",
            configs=[{"BM": 32, "BN": 32, "block": lambda config: (config.BM, config.BN)}],
            grid=_rows_along_x,
            constraints=(Int32Index(),),
        ),
        Kernel(
            name="ladder.f32.02_coalesced",
            source=Path("f32_02_coalesced.cu"),
            title="x along the columns: a warp's loads are neighbours in memory",
            reference="NVIDIA, CUDA C++ Best Practices Guide: Coalesced Access to Global Memory",
            configs=[{"BM": 32, "BN": 32, "block": lambda config: (config.BN, config.BM)}],
            constraints=(Int32Index(),),
        ),
        Kernel(
            name="ladder.f32.03_tiles",
            source=Path("f32_03_tiles.cu"),
            title="tiles of A and B in shared memory: a TILE-th of the global loads",
            reference="NVIDIA, CUDA C++ Programming Guide: Shared Memory, matrix multiplication",
            configs=[{"TILE": 32, "block": lambda config: (config.TILE, config.TILE)}],
            constraints=(Int32Index(),),
        ),
        Kernel(
            name="ladder.f32.04_column_of_registers",
            source=Path("f32_04_column_of_registers.cu"),
            title="each thread has TM rows of a column: B's element is loaded once for all of them",
            reference="Vasily Volkov and James Demmel, Benchmarking GPUs to Tune Dense Linear Algebra, 2008",
            configs=f32_spaces.COLUMNS,
            constraints=_WHOLE_TILES,
        ),
        Kernel(
            name="ladder.f32.05_register_tile",
            source=Path("f32_05_register_tile.cu"),
            title="each thread has TM×TN elements of C: TM + TN loads for TM·TN multiply-adds",
            reference="Rajib Nath, Stanimire Tomov and Jack Dongarra, An Improved MAGMA GEMM for Fermi GPUs, 2010",
            configs=f32_spaces.TILES,
            constraints=_WHOLE_TILES,
        ),
        Kernel(
            name="ladder.f32.06_vectors",
            source=Path("f32_06_vectors.cu"),
            title="loads and stores of 16 bytes; A's tile is stored transposed",
            reference="Simon Boehm, How to Optimize a CUDA Matmul Kernel for cuBLAS-like Performance, 2022",
            configs=f32_spaces.VECTORS,
            constraints=_WHOLE_TILES,
        ),
        Kernel(
            name="ladder.f32.07_warp_tiles",
            source=Path("f32_07_warp_tiles.cu"),
            title="a warp has a compact rectangle of C: fewer passes over shared memory for the same loads",
            reference="Andrew Kerr, Duane Merrill, Julien Demouth and John Tran, CUTLASS: Fast Linear Algebra in CUDA "
            "C++, 2017",
            configs=f32_spaces.WARP_TILES,
            constraints=_WHOLE_TILES,
        ),
        Kernel(
            name="ladder.f32.08_async",
            source=Path("f32_08_async.cu"),
            title="cp.async fetches tiles ahead of their use, in STAGES stages; A's tile by rows, swizzled",
            reference="NVIDIA, CUDA C++ Programming Guide: Asynchronous Data Copies, multi-stage pipelines",
            configs=f32_spaces.ASYNC,
            constraints=_WHOLE_TILES,
            min_compute_capability=(8, 0),
        ),
        *(_any(layout, column_major) for layout, column_major in LAYOUTS.items()),
    ]


@hookimpl(trylast=True)
def mmcore_best_kernel(problem: Problem, device: DeviceProperties) -> Choice | None:
    """Return the kernel to use where none is tuned: it supports every size and reads nothing past the matrices."""
    kernel = registry().kernel("ladder.f32.03_tiles")
    if not kernel.computes(problem):
        return None
    return Choice(kernel, kernel.fitting_config(problem), "nothing is tuned for such a product on this device")

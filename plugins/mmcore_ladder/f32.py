"""ladder.f32: float32 on CUDA cores, from a thread for each element to a kernel for any product."""

from pathlib import Path

from mmcore import Config, Int32Index, Kernel, Multiple, Problem, ceil_div, hookimpl

_WHOLE_TILES = (Multiple("m", of="BM"), Multiple("n", of="BN"), Multiple("k", of="BK"))


def _rows_along_x(problem: Problem, config: Config) -> tuple[int, int]:
    """A grid with x along the rows of C."""
    return ceil_div(problem.m, config.BM), ceil_div(problem.n, config.BN)


def _threads_of_registers(config: Config) -> tuple[int]:
    """One thread for TM×TN elements of a tile."""
    return (config.BM // config.TM * (config.BN // config.get("TN", 1)),)


def _threads_of_warps(config: Config) -> tuple[int]:
    """A warp for WM×WN elements of a tile."""
    return (config.BM // config.WM * (config.BN // config.WN) * 32,)


@hookimpl
def mmcore_kernels() -> list[Kernel]:
    """The rungs, from the lowest."""
    return [
        Kernel(
            name="ladder.f32.1_naive",
            source=Path("f32_1_naive.cu"),
            title="one thread per element of C, x along the rows: not coalesced",
            reference="Lezione 9, Unità 1, il prodotto di matrici, slides 2–9: kernel1, here in float32",
            configs=[{"BM": b, "BN": b, "block": lambda config: (config.BM, config.BN)} for b in (32, 16)],
            grid=_rows_along_x,
            constraints=(Int32Index(),),
        ),
        Kernel(
            name="ladder.f32.2_coalesced",
            source=Path("f32_2_coalesced.cu"),
            title="x along the columns: a warp's loads are neighbours in memory",
            reference="NVIDIA, CUDA C++ Best Practices Guide: Coalesced Access to Global Memory",
            configs=[{"BM": b, "BN": b, "block": lambda config: (config.BN, config.BM)} for b in (32, 16)],
            constraints=(Int32Index(),),
        ),
        Kernel(
            name="ladder.f32.3_tiles",
            source=Path("f32_3_tiles.cu"),
            title="tiles of A and B in shared memory: a TILE-th of the global loads",
            reference="NVIDIA, CUDA C++ Programming Guide: Shared Memory, matrix multiplication",
            configs=[{"TILE": tile, "block": lambda config: (config.TILE, config.TILE)} for tile in (32, 16)],
            constraints=(Int32Index(),),
        ),
        Kernel(
            name="ladder.f32.4_column_of_registers",
            source=Path("f32_4_column_of_registers.cu"),
            title="each thread has TM rows of a column: B's element is loaded once for all of them",
            reference="Vasily Volkov and James Demmel, Benchmarking GPUs to Tune Dense Linear Algebra, 2008",
            configs=[
                {"BM": 64, "BN": 64, "BK": 8, "TM": 8, "block": _threads_of_registers},
                {"BM": 128, "BN": 64, "BK": 16, "TM": 16, "block": _threads_of_registers},
            ],
            constraints=_WHOLE_TILES,
        ),
        Kernel(
            name="ladder.f32.5_register_tile",
            source=Path("f32_5_register_tile.cu"),
            title="each thread has TM×TN elements of C: TM + TN loads for TM·TN multiply-adds",
            reference="Rajib Nath, Stanimire Tomov and Jack Dongarra, An Improved MAGMA GEMM for Fermi GPUs, 2010",
            configs=[
                {"BM": 128, "BN": 128, "BK": 8, "TM": 8, "TN": 8, "block": _threads_of_registers},
                {"BM": 64, "BN": 64, "BK": 8, "TM": 4, "TN": 4, "block": _threads_of_registers},
            ],
            constraints=_WHOLE_TILES,
        ),
        Kernel(
            name="ladder.f32.6_vectors",
            source=Path("f32_6_vectors.cu"),
            title="loads and stores of 16 bytes; A's tile is stored transposed",
            reference="Simon Boehm, How to Optimize a CUDA Matmul Kernel for cuBLAS-like Performance, 2022",
            configs=[
                {"BM": 128, "BN": 128, "BK": 8, "TM": 8, "TN": 8, "block": _threads_of_registers},
                {"BM": 128, "BN": 128, "BK": 16, "TM": 8, "TN": 8, "block": _threads_of_registers},
            ],
            constraints=_WHOLE_TILES,
        ),
        Kernel(
            name="ladder.f32.7_warp_tiles",
            source=Path("f32_7_warp_tiles.cu"),
            title="a warp has a compact rectangle of C: fewer passes over shared memory for the same loads",
            reference="Andrew Kerr, Duane Merrill, Julien Demouth and John Tran, CUTLASS: Fast Linear Algebra in CUDA "
            "C++, 2017",
            configs=[
                {**tile, "WM": 32, "WN": 64, "TM": 8, "TN": 8, "block": _threads_of_warps}
                for tile in ({"BM": 128, "BN": 128, "BK": 8}, {"BM": 128, "BN": 128, "BK": 16})
            ],
            constraints=_WHOLE_TILES,
        ),
        Kernel(
            name="ladder.f32.8_async",
            source=Path("f32_8_async.cu"),
            title="cp.async fetches tiles ahead of their use, in STAGES stages; A's tile by rows, swizzled",
            reference="NVIDIA, CUDA C++ Programming Guide: Asynchronous Data Copies, multi-stage pipelines",
            configs=[
                {**tile, "WM": 32, "WN": 64, "TM": 8, "TN": 8, "block": _threads_of_warps}
                for tile in (
                    {"BM": 64, "BN": 128, "BK": 16, "STAGES": 3},
                    {"BM": 128, "BN": 128, "BK": 16, "STAGES": 3},
                )
            ],
            constraints=_WHOLE_TILES,
            min_compute_capability=(8, 0),
        ),
    ]

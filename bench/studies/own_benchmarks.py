"""Kernels by mmcore's clock and by the benchmark function of their compiler or their repository, in turns.

It needs a GPU, PyTorch, and Triton or CuTe DSL. ``triton.testing.do_bench`` empties the L2 cache before each launch and
times that launch by two events; ``do_bench_cudagraph`` times the launches of a CUDA graph.
``cutlass.testing.benchmark`` times many launches by two events around all of them, queued by the host or by a graph. A
program is fast.cu's, built by its Makefile from the checkout, as it is or with other inputs. It times eight launches of
each kernel after a pause of five seconds.
"""

from __future__ import annotations

import fnmatch
import functools
import json
import os
import re
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from bench.studies.public_kernels.declared import CHECKOUTS
from bench.studies.study import machine_info, write
from mmcore import Config, Problem, ceil_div
from mmcore.cell import LIBRARY, Cell, Timing
from mmcore.devices.base import Device
from mmcore.executor.choose_device import open_device
from mmcore.measure import measure
from mmcore.registry import referenced_kernel

SIZES = (1024, 4096, 8192)
SECONDS = 0.3
REPETITIONS = 3
FAST_CU, FAST_CU_SIZE = "bench.studies.public_kernels.corpus:fast_cu.matmul_12", 8192
_PRINTED = re.compile(r"KERNEL (\d+)\n.*?elapsed time: \(([\d.]+)\) s", re.DOTALL)

Clocks = Mapping[str, Callable[[], float]]
"""Functions that measure a kernel in seconds, by the name of the clock."""


def main(results: Path, *, kernel: str = "*", checkouts: Path | None = None, program: Sequence[str] = ()) -> None:
    """Measure with the clocks that are installed, and write the results.

    Args:
        results: file to write.
        kernel: name or pattern of the kernels; the rows of others are kept.
        checkouts: folder with a checkout of fast.cu.
        program: fast.cu's program, as NAME=PATH with a name for its row.
    """
    device = open_device("cuda")
    before = json.loads(results.read_text(encoding="utf-8"))["rows"] if results.exists() else []
    rows: list[dict[str, Any]] = [row for row in before if not fnmatch.fnmatch(row["kernel"], kernel)]
    for name, clocks in (("triton.matmul_f16", triton_clocks), ("cutedsl.matmul", cute_clocks)):
        subject = referenced_kernel(name)
        for n in SIZES if fnmatch.fnmatch(name, kernel) else ():
            try:
                theirs = clocks(subject.square_problem(n), subject.usual_configs[0])
            except ImportError as error:
                print(f"{name} is skipped: {error}")
                break
            clocks_of_ours = {**_mmcore(device, name, n, "warm"), **_mmcore(device, name, n, "cold")}
            rows += measured(device, name, n, {**clocks_of_ours, **theirs})
    if program and checkouts:
        os.environ[CHECKOUTS] = str(checkouts.resolve())
        ours = _mmcore(device, FAST_CU, FAST_CU_SIZE, "warm")
        rested = _mmcore(device, FAST_CU, FAST_CU_SIZE, "warm", "after a pause", pause=5, max_seconds=0.012)
        programs = dict(each.split("=", 1) for each in program)
        theirs = {name: functools.partial(program_seconds, Path(path), 12) for name, path in programs.items()}
        rows += measured(device, FAST_CU, FAST_CU_SIZE, {**ours, **rested, **theirs})
    write(results, machine_info(device.facts), rows=rows)


def measured(device: Device, kernel: str, n: int, clocks: Clocks) -> list[dict[str, Any]]:
    """Return a row for each clock: the median, in microseconds, of repetitions in turns with the other clocks.

    The last row has mmcore's rate in percent of cuBLAS's.
    """
    found: dict[str, list[float]] = {clock: [] for clock in clocks}
    for _ in range(REPETITIONS):
        for clock, seconds in clocks.items():
            found[clock].append(1e6 * seconds())
    name = kernel.rpartition(":")[2]
    rows = [
        {"kernel": name, "n": n, "clock": clock, "microseconds": median(each), "repetitions": each}
        for clock, each in found.items()
    ]
    timings = (Timing("kernel", "warm", max_seconds=SECONDS),)
    against = measure(Cell(kernel, n, n, n, timings=timings, baseline=LIBRARY), device).to_json()
    rows[-1]["percent_of_cublas"] = against["percent_of_baseline"]
    print(*map(json.dumps, rows), sep="\n", flush=True)
    return rows


def _mmcore(device: Device, kernel: str, n: int, how: str, *words: str, pause: float = 0, **limits: Any) -> Clocks:
    def seconds() -> float:
        time.sleep(pause)
        timing = Timing("kernel", how, **{"max_seconds": SECONDS, **limits})
        result = measure(Cell(kernel, n, n, n, timings=(timing,)), device)
        if not result.verified or result.kernel_seconds is None:
            raise SystemExit(f"{result}: {result.failures()}")
        return result.kernel_seconds

    return {", ".join(["mmcore", how, *words]): seconds}


def triton_clocks(problem: Problem, config: Config) -> Clocks:
    """Return Triton's benchmark functions on ``triton.matmul_f16``; raise ImportError without Triton."""
    from triton.testing import do_bench, do_bench_cudagraph

    from mmcore_sources.triton.matmul_kernel import matmul

    operands = *_operands(problem, "float16"), problem.m, problem.n, problem.k, problem.lda, problem.ldb, problem.ldc
    grid = ceil_div(problem.n, config.BN), ceil_div(problem.m, config.BM)
    constants = {name: config[name] for name in ("BM", "BN", "BK", "num_warps", "num_stages")}

    def timed_by(function: Any) -> Callable[[], float]:
        launch = lambda: matmul[grid](*operands, **constants)  # noqa: E731
        return lambda: float(function(launch, rep=round(1000 * SECONDS), return_mode="median")) / 1e3

    return {"do_bench": timed_by(do_bench), "do_bench_cudagraph": timed_by(do_bench_cudagraph)}


def cute_clocks(problem: Problem, config: Config) -> Clocks:
    """Return CuTe DSL's benchmark functions on ``cutedsl.matmul``; raise ImportError without the DSL."""
    import cutlass
    from cuda.bindings import driver
    from cutlass import cute
    from cutlass.cute.runtime import make_ptr
    from cutlass.testing import JitArguments, benchmark

    from mmcore_sources.cutedsl.matmul_kernel import matmul

    grid, tile = (ceil_div(problem.n, config.TILE), ceil_div(problem.m, config.TILE), 1), config.TILE

    @cute.jit
    def launch(a, b, c, m, n, k, stream):  # type: ignore[no-untyped-def]
        matmul(a, b, c, m, n, k, k, n, n, tile).launch(grid=grid, block=(tile, tile, 1), stream=stream)

    matrices = list(_operands(problem, "float32"))
    global_memory = cute.AddressSpace.gmem
    pointers = [make_ptr(cutlass.Float32, each.data_ptr(), global_memory, assumed_align=16) for each in matrices]
    _, stream = driver.cuStreamCreate(driver.CUstream_flags.CU_STREAM_NON_BLOCKING)
    arguments = *pointers, *map(cutlass.Int32, (problem.m, problem.n, problem.k)), stream
    compiled = cute.compile(launch, *arguments)

    def seconds(*, graphs: bool) -> float:
        assert matrices  # they own the memory of the pointers
        taken = JitArguments(*arguments)
        options = {"warmup_iterations": 3, "iterations": 20, "use_cuda_graphs": graphs}
        return float(benchmark(compiled, stream=stream, kernel_arguments=taken, **options)) / 1e6

    return {
        "cutlass.testing.benchmark": lambda: seconds(graphs=False),
        "cutlass.testing.benchmark, graph": lambda: seconds(graphs=True),
    }


def _operands(problem: Problem, dtype: str) -> Any:
    """Yield A, B and C in PyTorch's memory, with magnitudes in [0.5, 1) and random signs as in mmcore."""
    import torch

    kept = {"device": "cuda", "dtype": getattr(torch, dtype)}
    made = torch.Generator("cuda").manual_seed(1)
    for shape in ((problem.m, problem.k), (problem.k, problem.n)):
        magnitudes = torch.rand(shape, device="cuda", generator=made) / 2 + 0.5
        signs = torch.randint(2, shape, device="cuda", generator=made) * 2 - 1
        yield (magnitudes * signs).to(**kept)
    yield torch.empty((problem.m, problem.n), **kept)


def program_seconds(program: Path, number: int) -> float:
    """Run fast.cu's program and return the seconds that it prints for a kernel."""
    printed = subprocess.run([program], capture_output=True, text=True, check=True, timeout=300).stdout
    return float(dict(_PRINTED.findall(printed))[str(number)])

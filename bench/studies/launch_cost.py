"""What a launch costs the host: mmcore's path beside cuda.core's bare ``launch`` and CuPy's RawKernel.

``python -m bench.studies.launch_cost RESULTS.json`` measures and writes µs of host time per launch; it needs a GPU, and
CuPy for that column.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from cuda.core import Device as Gpu
from cuda.core import LaunchConfig, ObjectCode, launch

from mmcore.api import kernels
from mmcore.devices.loaded_kernel import LoadedKernel
from mmcore.executor.choose_device import open_device
from mmcore.planning.plan import plan
from mmcore_cuda.module import CudaModule
from mmcore_pytest.saved_results import describe

KERNEL, N, BLOCK = "upc.kernel01", 32, 16
LAUNCHES, REPETITIONS = 2000, 31


def main(path: Path) -> None:
    """Measure and write the results."""
    opened = open_device("cuda")
    kernel = kernels()[KERNEL]
    planned = plan(kernel, kernel.problem(N, N, N), kernel.config(BLOCK), opened.properties)
    machine: dict[str, Any] = {}
    with LoadedKernel(planned, opened) as loaded:
        assert isinstance(loaded.module, CudaModule)
        gpu = Gpu(0)
        stream = gpu.create_stream()
        ways = {"mmcore": _ours(loaded, stream), "cuda.core launch": _bare(loaded, stream), **_cupy(loaded, planned)}
        readings: dict[str, list[float]] = {way: [] for way in ways}
        for _ in range(REPETITIONS):
            for way, repeat in ways.items():
                gpu.sync()
                begin = time.perf_counter()
                repeat()
                readings[way].append((time.perf_counter() - begin) / LAUNCHES)
                gpu.sync()
    describe(machine, opened.facts)
    costs = {way: round(statistics.median(values) * 1e6, 3) for way, values in readings.items()}
    path.write_text(json.dumps({"machine_info": machine, "microseconds": costs}, indent=1) + "\n")
    print(json.dumps(costs))


def _ours(loaded: LoadedKernel, stream: Any) -> Callable[[], None]:
    assert isinstance(loaded.module, CudaModule)
    launches = loaded.module.bind(loaded.calls)

    def repeat() -> None:
        for _ in range(LAUNCHES):
            launches(stream)

    return repeat


def _bare(loaded: LoadedKernel, stream: Any) -> Callable[[], None]:
    (call,) = loaded.launches
    module = ObjectCode.from_cubin(loaded.compiled.cubin)
    kernel = module.get_kernel(call.function.symbol)
    config = LaunchConfig(grid=tuple(call.launch.grid), block=tuple(call.launch.block))
    arguments = _arguments(loaded)

    def repeat() -> None:
        for _ in range(LAUNCHES):
            launch(stream, config, kernel, *arguments)

    return repeat


def _cupy(loaded: LoadedKernel, planned: Any) -> dict[str, Callable[[], None]]:
    try:
        import cupy
    except ImportError:
        return {}
    (call,) = loaded.launches
    kernel = cupy.RawModule(code=planned.kernel.source_text()).get_function(planned.entries[0])
    grid, block, arguments = tuple(call.launch.grid), tuple(call.launch.block), _arguments(loaded)

    def repeat() -> None:
        for _ in range(LAUNCHES):
            kernel(grid, block, arguments)

    return {"CuPy RawKernel": repeat}


def _arguments(loaded: LoadedKernel) -> tuple[Any, ...]:
    """Addresses and scalars, as mmcore passes them."""
    (call,) = loaded.launches
    return tuple(
        argument if isinstance(argument, np.generic) else np.uint64(argument.address)  # type: ignore[union-attr]
        for argument in call.arguments
    )


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit("usage: python -m bench.studies.launch_cost RESULTS.json")
    main(Path(sys.argv[1]))

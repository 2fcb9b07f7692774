"""The host time of a launch: mmcore's path beside cuda.core's bare ``launch`` and CuPy's RawKernel, in µs.

It needs a GPU, and CuPy for that row.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from cuda.core import Device as Gpu
from cuda.core import LaunchConfig, ObjectCode, launch

from bench.studies.study import command_line, machine_info, write
from mmcore.api import kernels
from mmcore.devices.loaded_kernel import LoadedKernel
from mmcore.executor.choose_device import open_device
from mmcore.planning.plan import plan
from mmcore_cuda.module import CudaModule

KERNEL, N, BLOCK = "upc.kernel01", 32, 16
LAUNCHES, REPETITIONS = 2000, 31


def main() -> None:
    """Measure and write the results."""
    path = command_line("launch_cost", __doc__).parse_args().results
    opened = open_device("cuda")
    kernel = kernels()[KERNEL]
    planned = plan(kernel, kernel.problem(N, N, N), kernel.config(BLOCK), opened.properties)
    with LoadedKernel(planned, opened) as loaded:
        gpu = Gpu(0)
        ways = _ways(loaded, gpu.create_stream())
        readings: dict[str, list[float]] = {way: [] for way in ways}
        for _ in range(REPETITIONS):
            for way, launch_once in ways.items():
                gpu.sync()
                begin = time.perf_counter()
                for _ in range(LAUNCHES):
                    launch_once()
                readings[way].append((time.perf_counter() - begin) / LAUNCHES)
                gpu.sync()
    costs = {way: round(statistics.median(values) * 1e6, 3) for way, values in readings.items()}
    write(path, {**machine_info(opened.facts), "microseconds": costs})
    print(json.dumps(costs))


def _ways(loaded: LoadedKernel, stream: Any) -> dict[str, Callable[[], None]]:
    """Return functions that launch the kernel once, by name."""
    assert isinstance(loaded.module, CudaModule)
    launches = loaded.module.bind(loaded.calls)
    (call,) = loaded.launches
    grid, block = tuple(call.launch.grid), tuple(call.launch.block)
    # Addresses and scalars, as mmcore passes them.
    arguments = tuple(
        argument if isinstance(argument, np.generic) else np.uint64(argument.address)  # type: ignore[union-attr]
        for argument in call.arguments
    )
    bare = ObjectCode.from_cubin(loaded.compiled.cubin).get_kernel(call.function.symbol)
    config = LaunchConfig(grid=grid, block=block)
    ways: dict[str, Callable[[], None]] = {
        "mmcore": partial(launches, stream),
        "cuda.core launch": partial(launch, stream, config, bare, *arguments),
    }
    try:
        import cupy
    except ImportError:
        return ways
    planned = loaded.plan
    raw = cupy.RawModule(code=planned.kernel.source_text()).get_function(planned.entries[0])
    return ways | {"CuPy RawKernel": partial(raw, grid, block, arguments)}


if __name__ == "__main__":
    main()

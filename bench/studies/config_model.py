"""The model that chooses configs, beside exhaustive search.

``measure RESULTS.json`` times every config of the ladder's highest rungs on products of many shapes; it needs a GPU.
``fit RESULTS.json`` fits the model's constants to the times, with and without those of each shape, and prints how its
choices compare with the fastest configs; it needs none.
"""

from __future__ import annotations

import json
import math
import os
import statistics
from collections.abc import Iterable, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from bench.studies.study import facts_of, machine_info, write
from mmcore.compile.compiler import compile_plan
from mmcore.devices.base import Buffer, Device
from mmcore.devices.loaded_kernel import LoadedKernel
from mmcore.errors import MmcoreError
from mmcore.executor.choose_device import open_device
from mmcore.kernel.problem import Problem
from mmcore.kernel.properties import DeviceProperties
from mmcore.planning.plan import Plan, plan
from mmcore.registry import registry
from mmcore.verify.inputs import draw
from mmcore_cuda.tuned_configs.model import Constants, Work, cycles, work_of

KERNELS = (
    *("ladder.f32.09_any", "ladder.f64.03_ring", "ladder.tf32.02_any_nt", "ladder.f16.02_any_nt"),
    *("ladder.bf16.12_any_nt", "ladder.e4m3.01_any_nt"),
)
SHAPES = (
    *((512, 512, 512), (1000, 1000, 1000), (1024, 1024, 1024), (2048, 2048, 2048), (4096, 4096, 4096)),
    *((8192, 8192, 8192), (16, 4096, 4096), (128, 4096, 14336)),
)

PRIOR = Constants(
    multiply=1.0, read=1.0, idle=1.0, fetch=64.0, unaligned=1.5, latency=500.0, step=100.0, together=60.0, tile=300.0,
    store=12.0, exchange=10.0, cluster=600.0, begin=2500.0, launch=6000.0,
)  # fmt: skip
"""Constants as the hardware suggests them, from which the fit departs as far as the times require."""

Shape = tuple[int, int, int]
Product = tuple[str, int, int, int]
"""The name of a kernel, m, n and k."""
Times = dict[Product, dict[str, float]]
"""Seconds by the id of a config, for each product."""


def measure(path: Path) -> None:
    """Time every config, while other processes compile the next ones."""
    device, times, matrices = open_device("cuda"), Times(), dict[Problem, dict[str, Buffer]]()
    several = [(name, config.id) for name in KERNELS for config in registry().kernels[name].item.all_configs.every]
    with ProcessPoolExecutor(max(1, (os.cpu_count() or 2) - 2), mp_context=get_context("spawn")) as pool:
        compiled = {pool.submit(_compile, *each, device.properties, device.architecture): each for each in several}
        for future in as_completed(compiled):
            name, id = compiled[future]
            for shape in future.result():
                planned = _plan(name, id, shape, device.properties)
                if planned.problem not in matrices:
                    matrices[planned.problem] = _matrices(device, planned.problem)
                seconds = _seconds(device, planned, matrices[planned.problem])
                times.setdefault((name, *shape), {})[id] = seconds
    rows = [{"kernel": name, "m": m, "n": n, "k": k, "seconds": times[name, m, n, k]} for name, m, n, k in times]
    write(path, machine_info(facts_of("cuda")), products=rows)


def _plan(name: str, id: str, shape: Shape, device: DeviceProperties) -> Plan:
    kernel = registry().kernels[name].item
    config = next(config for config in kernel.all_configs.every if config.id == id)
    return plan(kernel, kernel.problem(*shape), config, device)


def _compile(name: str, id: str, device: DeviceProperties, architecture: str) -> list[Shape]:
    """Compile a config into the cache, and return the shapes that it supports."""
    supported = []
    for shape in SHAPES:
        try:
            compile_plan(_plan(name, id, shape, device), architecture)
        except MmcoreError:
            continue
        supported.append(shape)
    return supported


def _matrices(device: Device, problem: Problem) -> dict[str, Buffer]:
    """Return random matrices on the device."""
    buffers = {
        matrix: device.allocate(matrix, problem.span(matrix) * problem.dtype_of(matrix).itemsize, 0) for matrix in "ABC"
    }
    drawn = draw(problem, 1)
    buffers["A"].upload(drawn.a)
    buffers["B"].upload(drawn.b)
    return buffers


def _seconds(device: Device, planned: Plan, borrowed: Mapping[str, Buffer]) -> float:
    """Return the median of seven readings of about a millisecond."""
    with LoadedKernel(planned, device, borrowed=borrowed) as loaded:
        timer = loaded.module.timer(loaded.calls)
        assert timer is not None, "a GPU supports timing"
        timer.seconds(1)
        count = max(1, min(400, int(1.2e-3 / timer.seconds(1))))
        seconds = statistics.median(timer.seconds(count) / count for _ in range(7))
        timer.close()
    return seconds


def times_of(document: Any) -> Times:
    """Return the times in a document of results."""
    return {(row["kernel"], row["m"], row["n"], row["k"]): row["seconds"] for row in document["products"]}


def works(times: Times, device: DeviceProperties) -> dict[Product, dict[str, Work]]:
    """Return what the model sees of each measured config."""
    seen: dict[Product, dict[str, Work]] = {}
    for product, seconds in times.items():
        kernel = registry().kernels[product[0]].item
        problem, configs = kernel.problem(*product[1:]), {each.id: each for each in kernel.all_configs.every}
        planned = {id: plan(kernel, problem, configs[id], device) for id in seconds if id in configs}
        seen[product] = {id: work for id, each in planned.items() if (work := work_of(each, device))}
    return seen


def fit(times: Times, seen: Mapping[Product, Mapping[str, Work]]) -> Constants:
    """Return the constants that fit the times' ratios within each product, most of all those of fast configs.

    This is Levenberg's and Marquardt's method, on the constants' logarithms.
    """
    names, begin = list(asdict(PRIOR)), np.log(list(asdict(PRIOR).values()))
    several = [([seen[key][id] for id in seconds], np.log(list(seconds.values()))) for key, seconds in times.items()]

    def residuals(logarithms: NDArray[Any]) -> NDArray[Any]:
        constants = Constants(**dict(zip(names, np.exp(logarithms), strict=True)))
        parts = [0.1 * (logarithms - begin)]
        for works, measured in several:
            weights = np.exp(-2 * (measured - measured.min()))
            error = np.log([cycles(work, constants) for work in works]) - measured
            error -= np.average(error, weights=weights**2)
            parts.append(weights * error / np.sqrt(1 + np.abs(error) / 0.3))  # outliers count for less
        return np.concatenate(parts)

    point, damping = begin, 1e-2
    found = residuals(point)
    for _ in range(30):
        steps = 1e-4 * np.eye(len(point))
        slopes = np.array([(residuals(point + step) - found) / 1e-4 for step in steps]).T
        normal = slopes.T @ slopes
        move = np.linalg.solve(normal + damping * np.diag(np.diag(normal)), -slopes.T @ found)
        tried = residuals(point + np.clip(move, -1, 1))
        if tried @ tried < found @ found:
            point, found, damping = point + np.clip(move, -1, 1), tried, damping / 3
        else:
            damping *= 5
    return Constants(**dict(zip(names, map(float, np.exp(point)), strict=True)))


def ratios(
    products: Iterable[Product], times: Times, seen: Mapping[Product, Mapping[str, Work]], constants: Constants
) -> dict[Product, float]:
    """Return the fastest config's time over the time of the model's choice."""
    found = {}
    for product in products:
        chosen = min(seen[product], key=lambda id: cycles(seen[product][id], constants))
        found[product] = min(times[product].values()) / times[product][chosen]
    return found


def mean(found: Mapping[Any, float]) -> float:
    """Return the geometric mean of some ratios."""
    return math.exp(statistics.fmean(map(math.log, found.values())))


def summary(found: Mapping[Product, float]) -> str:
    """Return the geometric mean and the least of some ratios."""
    product, least = min(found.items(), key=lambda each: each[1])
    return (
        f"{mean(found):.3f} in geometric mean, {least:.3f} at least ({product[0]}, {'×'.join(map(str, product[1:]))})"
    )


def main(command: Literal["measure", "fit"], results: Path) -> None:
    """Measure, or fit the constants and print them and how good the choices are."""
    if command == "measure":
        measure(results)
        return
    times = times_of(json.loads(results.read_text()))
    seen = works(times, DeviceProperties())
    constants = fit(times, seen)
    print(constants)
    print("fitted:", summary(ratios(times, times, seen, constants)))
    for what, of in (("shape", slice(1, None)), ("kernel", slice(1))):
        held: dict[Product, float] = {}
        for group in dict.fromkeys(product[of] for product in times):
            others = fit({product: times[product] for product in times if product[of] != group}, seen)
            held |= ratios([product for product in times if product[of] == group], times, seen, others)
        print(f"each {what}, with constants from the others:", summary(held))
    print("committed constants:", summary(ratios(times, times, seen, Constants())))

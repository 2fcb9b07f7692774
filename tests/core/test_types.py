"""The public names have types: mypy reads this file as it reads a plugin, and a misspelt name is an error."""

from __future__ import annotations

from pathlib import Path
from typing import assert_type

import numpy as np
import pytest

import mmcore
import mmcore_emulator
import mmcore_engines
from mmcore import Config, DeviceProperties, Dim3, Kernel, Launch, Problem, Result, ceil_div, hookimpl
from mmcore_emulator import Report

ROW = 'extern "C" __global__ void row(float* C, int n) { if (threadIdx.x < n) C[threadIdx.x] = 1; }'


def launch(problem: Problem, config: Config, device: DeviceProperties) -> Launch:
    assert_type(config.block, Dim3)
    assert_type(device.threads_per_block, int)
    return Launch(grid=(ceil_div(problem.n, config.block.x), problem.m), block=config.block)


@hookimpl
def mmcore_kernels() -> Kernel:
    return Kernel(name="acme.row", source=Path("row.cu"), configs=[{"block": (32,)}], launch=launch)


def test_a_plugin_keeps_the_types_of_its_hook_and_its_launch_rule() -> None:
    kernel = assert_type(mmcore_kernels(), Kernel)
    assert kernel.name == "acme.row"
    assert kernel.launch is launch


def test_a_result_has_types() -> None:
    kernel = assert_type(mmcore.kernels(), dict[str, Kernel])["upc.kernel01"]
    result = assert_type(mmcore.run(kernel, 16, device="emulator", hazards=False), Result)
    assert assert_type(result.verified, bool)
    assert assert_type(result.kernel_seconds, float | None) is None
    assert assert_type(result.failures(), list[str]) == []


def test_a_launch_of_the_emulator_has_types() -> None:
    product = np.zeros(4, np.float32)
    report = assert_type(mmcore_emulator.launch(ROW, "row", grid=1, block=32, args=[product, 4]), Report)
    assert assert_type(report.ok, bool)
    assert product.sum() == 4


def test_a_misspelt_name_is_an_error_of_the_type_checker_too() -> None:
    assert assert_type(mmcore.__version__, str)
    with pytest.raises(AttributeError):
        mmcore.kernel_names  # type: ignore[attr-defined]  # noqa: B018
    with pytest.raises(AttributeError):
        mmcore_engines.engines  # type: ignore[attr-defined]  # noqa: B018

"""The lectures' kernels: right wherever their constraints allow a launch, not launched anywhere else."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from mmcore import Config, Constraint, Kernel, Problem, ceil_div, kernels
from mmcore.cell import Cell
from mmcore.devices.base import Device, HostArray
from mmcore.devices.loaded_kernel import LoadedKernel
from mmcore.executor.choose_device import open_device
from mmcore.kernel.properties import DeviceProperties
from mmcore.measure import measure
from mmcore.planning.plan import plan
from mmcore.result import Result
from mmcore.verify.inputs import Matrices, draw
from mmcore.verify.verify_launches import host_arrays
from tests import strategies
from tests.command_line import mmcore
from tests.conftest import DEVICES

LECTURE_KERNELS = {
    *("upc.kernel00", "upc.kernel01", "upc.kernel10", "upc.kernel11", "upc.kernel11_naive_guard"),
    *("hpsee.simple", "hpsee.tiled", "unsa.traditional", "unsa.tiled", "lezione9.kernel1", "lezione9.kernel2"),
    *("poznan.v1", "poznan.v2", "poznan.v3", "poznan.v4a", "poznan.v4b", "poznan.v5"),
}
COUNTERPARTS = {"mmcore.kernel1_columns", "mmcore.kernel2_columns"}
KERNELS = [kernel for name, kernel in sorted(kernels().items()) if name in LECTURE_KERNELS | COUNTERPARTS]

each_kernel = pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
each_config = pytest.mark.parametrize(
    ("kernel", "config"),
    [(kernel, config) for kernel in KERNELS for config in kernel.usual_configs],
    ids=lambda value: value.name if isinstance(value, Kernel) else value.id,
)
each_constraint = pytest.mark.parametrize(
    ("kernel", "constraint"),
    [(kernel, constraint) for kernel in KERNELS for constraint in kernel.constraints],
    ids=lambda value: value.name if isinstance(value, Kernel) else type(value).__name__,
)


def draws(count: int) -> settings:
    """Shrinking would run the kernel many times; the failing draw itself is enough."""
    phases, unchecked = (Phase.generate,), list(HealthCheck)
    return settings(max_examples=count, database=None, phases=phases, suppress_health_check=unchecked)


def measured(kernel: Kernel, problem: Problem, config: Config, device: Device) -> Result:
    cell = Cell(kernel.name, problem.m, problem.n, problem.k, config.to_json())
    return measure(cell, device, kernel)


@each_kernel
@draws(4)
@given(data=st.data())
def test_a_kernel_is_right_wherever_it_is_allowed(device: Device, kernel: Kernel, data: st.DataObject) -> None:
    config = data.draw(strategies.configs(kernel), label="config")
    result = measured(kernel, data.draw(strategies.problems(kernel, config), label="problem"), config, device)
    assert result.verified, result.failures()


@each_config
def test_a_kernel_is_right_in_each_of_its_declared_configs(device: Device, kernel: Kernel, config: Config) -> None:
    assert measured(kernel, kernel.square_problem(33, config), config, device).verified


@each_config
def test_the_grid_covers_c_with_one_tile_per_block(device: Device, kernel: Kernel, config: Config) -> None:
    problem = kernel.square_problem(70, config)
    (launch,) = plan(kernel, problem, config, DeviceProperties()).launches
    per_thread = 2 if kernel.name == "poznan.v5" else 1
    blocks = ceil_div(problem.n, per_thread * config.block.x)
    assert launch.grid_dim == ((1, 1, 1) if kernel.name == "poznan.v1" else (blocks, blocks, 1))


@pytest.mark.parametrize(
    ("name", "grid"),
    [
        *(("lezione9.kernel1", (2, 3, 1)), ("lezione9.kernel2", (2, 3, 1))),
        *(("mmcore.kernel1_columns", (3, 2, 1)), ("mmcore.kernel2_columns", (3, 2, 1)), ("upc.kernel11", (3, 2, 1))),
    ],
)
def test_x_counts_rows_in_lezione9_and_columns_elsewhere(device: Device, name: str, grid: tuple[int, ...]) -> None:
    kernel = kernels()[name]
    (launch,) = plan(kernel, kernel.problem(64, 96, 32), kernel.config("32"), DeviceProperties()).launches
    assert launch.grid_dim == grid


@each_config
def test_the_block_alone_names_a_lectures_config(kernel: Kernel, config: Config) -> None:
    assert config.id == f"b{config.block.x}"
    assert kernel.config(config.block_text) == config


@each_constraint
@draws(3)
@given(data=st.data())
def test_a_violated_constraint_is_reported(kernel: Kernel, constraint: Constraint, data: st.DataObject) -> None:
    problem, config = data.draw(strategies.violating(kernel, constraint))
    sizes = [word for size in "mnk" for word in (f"-{size}", str(getattr(problem, size)))]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LoadedKernel, "__init__", launched)
        result = mmcore("run", kernel.name, *sizes, "--device", "emulator", "--block", "x".join(map(str, config.block)))
    assert result.exit_code == 2
    assert str(constraint.violation(problem, config)) in result.stderr
    assert result.stdout == ""


def launched(*args: Any) -> None:
    raise AssertionError("a launch that a constraint forbids was loaded")


def test_kernel10_with_the_right_grid_and_the_wrong_size_reads_out_of_bounds() -> None:
    ran = mmcore("run", "upc.kernel10", "--size=65", "--block=32", "--force", "--device=emulator", "--json")
    result, source = json.loads(ran.stdout), kernels()["upc.kernel10"].source_text().splitlines()
    assert (ran.exit_code, result["grid"]) == (1, [3, 3, 1])
    read, written = result["violations"]
    assert (read["kind"], read["array"], read["source"]) == ("out-of-bounds-read", "A", "kernel10.cu")
    assert "= A[" in source[read["line"] - 1]
    assert (written["kind"], written["array"]) == ("out-of-bounds-write", "C")
    assert "C[" in source[written["line"] - 1]
    # Row 65 is the first that does not exist: the second of the third row of blocks.
    assert read["block"] == written["block"] == [0, 2, 0]
    assert read["thread"] == written["thread"] == [0, 1, 0]


def test_the_width_and_an_undeclared_tile_are_compiled_in() -> None:
    result = mmcore("run", "unsa.tiled", "--size", "20", "--block", "4", "--device", "emulator", "--json")
    assert json.loads(result.stdout)["config"] == {"block": [4, 4, 1], "TILE_WIDTH": 4}
    assert json.loads(result.stdout)["verified"]


@pytest.mark.skipif("cuda" not in DEVICES, reason="there is no GPU to compare the emulator with")
@each_kernel
def test_the_emulator_rounds_as_the_gpu_does(kernel: Kernel) -> None:
    inputs = draw(kernel.square_problem(70, kernel.usual_configs[0]), seed=20)
    emulated, computed = (product(kernel, inputs, open_device(name)) for name in ("emulator", "cuda"))
    np.testing.assert_array_equal(emulated.view(np.uint8), computed.view(np.uint8))


def product(kernel: Kernel, inputs: Matrices, device: Device) -> HostArray:
    """Return C as the device leaves it."""
    (m, k), n = inputs.a.shape, inputs.b.shape[1]
    planned = plan(kernel, kernel.problem(m, n, k), kernel.usual_configs[0], device.properties)
    with LoadedKernel(planned, device) as loaded:
        loaded.upload(host_arrays(planned, inputs))
        assert loaded.run() == []
        result = np.empty(m * n, inputs.c.dtype)
        loaded.buffers["C"].download(result)
    return result


# With an odd number of steps the compiler peels v4a's last one off, and finds its prefetch useless.
@pytest.mark.parametrize(
    ("name", "n"), [("upc.kernel11", 17), ("poznan.v4a", 16), ("poznan.v4b", 16), ("poznan.v5", 32)]
)
def test_the_declared_over_read_is_what_the_kernel_reads(name: str, n: int) -> None:
    """One element less, and the emulator reports the access; as declared, it is silent."""
    kernel, emulator = kernels()[name], open_device("emulator")
    config, problem = kernel.config("8"), kernel.problem(n, n, n)
    declared = kernel.launches(problem, config, emulator.properties)[0].over_read
    assert measured(kernel, problem, config, emulator).verified
    for matrix in "AB":
        short = replace(kernel, over_read=declared | {matrix: declared[matrix] - 1})
        (violation,) = measured(short, problem, config, emulator).violations
        assert (violation.kind, violation.array) == ("out-of-bounds-read", matrix)

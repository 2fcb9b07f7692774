"""Loops along k with a constant number of steps: one block of a product with a larger k shows the fault."""

from __future__ import annotations

from pathlib import Path

import pytest

from mmcore import Config, DeviceProperties, Kernel, Launch, Problem, Square, ceil_div
from mmcore.api import cell
from mmcore.executor.choose_device import open_device
from mmcore_emulator.adapter.examination_report import Examination
from mmcore_emulator.adapter.examine_sizes import examine
from tests.wrong_kernels import kernel

STEPS = "for (int p = 0; p < k; ++p)"
PADDED = "for (int t = 0; t < {limit}; t += 1024)\n        for (int p = t; p < t + 1024; ++p)"
TERM = "sum += A[row * k + p] * B[p * n + column];"
GUARDED = "sum += (p < k ? A[row * k + p] : 0.0f) * (p < k ? B[p * n + column] : 0.0f);"
SLICE = "for (int p = first; p < first + steps; ++p)"


def steps(folder: Path, loop: str, *constraints: Square) -> Kernel:
    return kernel(folder, (STEPS, loop), (TERM, GUARDED), constraints=constraints)


def examined(kernel: Kernel) -> Examination:
    requested, nameless = cell(kernel, 64, device="emulator", seed=1, timings=())
    return examine(requested, open_device("emulator"), kernel=nameless)


@pytest.mark.parametrize("constraints", [(), (Square(),)], ids=["any", "square"])
@pytest.mark.parametrize("count", [700, 1024])
def test_a_constant_number_of_steps_is_wrong_for_a_larger_k(
    tmp_path: Path, count: int, constraints: tuple[Square, ...]
) -> None:
    found = examined(steps(tmp_path, f"for (int p = 0; p < {count}; ++p)", *constraints))
    assert found.wrong is not None
    assert count < found.wrong.cell.k <= count + 64
    assert f"multiplies {count} times for an element of C at any k" in str(found.faults[0])
    assert [row["right"] for row in found.sizes] == [True] * (len(found.sizes) - 1) + [False]


@pytest.mark.parametrize("constraints", [(), (Square(),)], ids=["any", "square"])
def test_steps_up_to_a_multiple_of_a_large_depth_are_right(tmp_path: Path, constraints: tuple[Square, ...]) -> None:
    assert examined(steps(tmp_path, PADDED.format(limit="k"), *constraints)).faults == ()
    assert examined(steps(tmp_path, PADDED.format(limit="1024"), *constraints)).faults


@pytest.mark.parametrize("axis", ["z", "x"])
@pytest.mark.parametrize(("count", "right"), [("200 * ((k + 799) / 800)", True), ("200", False)])
def test_blocks_that_add_to_the_same_elements_are_run_together(
    tmp_path: Path, axis: str, count: str, right: bool
) -> None:
    across, deep = (4, 1) if axis == "x" else (1, 4)

    def launch(problem: Problem, config: Config, device: DeviceProperties) -> Launch:
        (x, y), block = (ceil_div(problem.n, 16), ceil_div(problem.m, 8)), config.block
        return Launch(grid=(across * x, y, deep), block=block)

    changes = [
        (STEPS, f"const int steps = {count}, first = blockIdx.{axis} % 4 * steps;\n    {SLICE}"),
        (TERM, GUARDED),
        ("C[row * n + column] = sum", "atomicAdd(&C[row * n + column], sum)"),
    ]
    changes += [("= blockIdx.x *", "= blockIdx.x / 4 *")] if axis == "x" else []
    found = examined(kernel(tmp_path, *changes, launch=launch, beta=1.0))
    assert (found.faults == ()) == right
    if not right:
        assert found.wrong is not None
        assert not found.wrong.is_part
        assert found.wrong.cell.k > 800
        assert "more steps along k than the 800 multiplications of line 10 for an element of C" in str(found.faults[0])

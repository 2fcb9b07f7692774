"""The lectures' kernels: right wherever their rule allows, refused everywhere else."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import mmcore
import mmcore.api
from mmcore import Constraint, Dim3, Kernel, Launch, DeviceProperties, Problem
from mmcore.cli import main
from mmcore.verify.inputs import Matrices, draw
from mmcore.devices.base import Device, HostArray
from mmcore.devices.loaded import LoadedKernel
from mmcore.planning.plan import plan
from mmcore.runner import run_kernel
from tests import strategies

LECTURE_KERNELS = {
    *("upc.kernel00", "upc.kernel01", "upc.kernel10", "upc.kernel11", "upc.kernel11_naive_guard"),
    *("hpsee.simple", "hpsee.tiled", "unsa.traditional", "unsa.tiled", "lezione9.kernel1", "lezione9.kernel2"),
    *("poznan.v1", "poznan.v2", "poznan.v3", "poznan.v4a", "poznan.v4b", "poznan.v5"),
}
KERNELS = sorted(
    (kernel for kernel in mmcore.kernels().values() if kernel.name in LECTURE_KERNELS), key=lambda k: k.name
)

each_kernel = pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
each_constraint = pytest.mark.parametrize(
    ("kernel", "constraint"),
    [(kernel, constraint) for kernel in KERNELS for constraint in kernel.constraints],
    ids=lambda value: value.name if isinstance(value, Kernel) else type(value).__name__,
)
# Shrinking would run the kernel again and again; the failing draw itself says enough.
some_draws = settings(
    max_examples=20,
    deadline=None,
    database=None,
    phases=(Phase.generate,),
    suppress_health_check=list(HealthCheck),
)


def test_all_seventeen_are_registered() -> None:
    assert {kernel.name for kernel in KERNELS} == LECTURE_KERNELS


@each_kernel
@some_draws
@given(data=st.data())
def test_a_kernel_is_right_at_every_size_and_block_that_its_rule_allows(
    device: Device, kernel: Kernel, data: st.DataObject
) -> None:
    block = data.draw(strategies.blocks(kernel), label="block")
    problem = data.draw(strategies.problems(kernel, block), label="problem")
    outcome = run_kernel(kernel, problem, block, device)
    assert outcome.verified, (outcome.verification, outcome.violations)


@pytest.mark.parametrize(
    ("kernel", "block"),
    [(kernel, block) for kernel in KERNELS for block in kernel.blocks],
    ids=lambda value: value.name if isinstance(value, Kernel) else str(value),
)
def test_a_kernel_is_right_in_each_of_its_declared_blocks(device: Device, kernel: Kernel, block: Dim3) -> None:
    assert run_kernel(kernel, kernel.square_problem(80, block), block, device).verified


@each_constraint
@some_draws
@given(data=st.data())
def test_what_breaks_a_constraint_is_refused_in_its_words_and_never_launched(
    kernel: Kernel, constraint: Constraint, data: st.DataObject
) -> None:
    problem, block = data.draw(strategies.refused(kernel, constraint))
    reason = constraint.refusal(problem, block)
    arguments = ["run", kernel.name, "--device", "emulator", "--block", "x".join(map(str, block))]
    for size in "mnk":
        arguments += [f"-{size}", str(getattr(problem, size))]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LoadedKernel, "__init__", launched)
        result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 2
    assert str(reason) in result.stderr
    assert result.stdout == ""


def launched(*args: Any) -> None:
    raise AssertionError("a refused launch was prepared")


def run_json(*arguments: str) -> tuple[int, dict[str, Any]]:
    result = CliRunner().invoke(main, ["run", *arguments, "--device", "emulator", "--json"])
    return result.exit_code, json.loads(result.stdout)


def test_kernel00_leaves_the_first_remaining_column_unwritten() -> None:
    code, outcome = run_json("upc.kernel00", "--size", "65", "--block", "32", "--force")
    assert code == 1
    assert outcome["grid"] == [2, 2, 1]
    assert outcome["verified"] is False
    assert outcome["first_mismatch"]["row"] == 0
    assert outcome["first_mismatch"]["column"] == 64
    # The last row and the last column.
    assert (outcome["wrong_elements"], outcome["compared_elements"]) == (64 + 65, 65 * 65)


def test_kernel10_with_the_right_grid_and_the_wrong_size_reads_out_of_bounds() -> None:
    code, outcome = run_json("upc.kernel10", "--size", "65", "--block", "32", "--force")
    source = mmcore.kernels()["upc.kernel10"].source.read_text(encoding="utf-8").splitlines()
    assert code == 1
    assert outcome["grid"] == [3, 3, 1]
    read, written = outcome["violations"]
    assert (read["kind"], read["array"], read["source"]) == ("out-of-bounds-read", "A", "kernel10.cu")
    assert "= A[" in source[read["line"] - 1]
    assert (written["kind"], written["array"]) == ("out-of-bounds-write", "C")
    assert "C[" in source[written["line"] - 1]
    # Row 65 is the first that does not exist: the second of the third row of blocks.
    assert read["block"] == written["block"] == [0, 2, 0]
    assert read["thread"] == written["thread"] == [0, 1, 0]


def test_kernel11s_first_try_drops_the_remainder_and_diverges_at_its_barrier() -> None:
    code, outcome = run_json("upc.kernel11_naive_guard", "--size", "65", "--block", "32", "--force")
    assert code == 1
    assert outcome["first_mismatch"]["row"] == outcome["first_mismatch"]["column"] == 0
    assert "divergent-barrier" in {violation["kind"] for violation in outcome["violations"]}


def test_a_block_of_2500_threads_is_refused_with_both_numbers() -> None:
    result = CliRunner().invoke(main, ["run", "unsa.tiled", "--size", "500", "--block", "50", "--device", "emulator"])
    assert result.exit_code == 2
    assert "2500" in result.stderr
    assert "1024" in result.stderr


def test_force_does_not_lift_the_devices_own_limits() -> None:
    with pytest.raises(mmcore.ConstraintViolation, match="2500 threads; the device allows 1024"):
        mmcore.run("unsa.tiled", 500, block=50, force=True, device="emulator")


@each_kernel
def test_a_product_has_the_same_bits_on_every_device(device: Device, kernel: Kernel) -> None:
    """The emulator rounds as the GPU does."""
    block = kernel.block(kernel.blocks[0])
    inputs = draw(kernel.square_problem(70, block), seed=20)
    emulated, computed = (product(kernel, block, inputs, each) for each in (mmcore.api.device("emulator"), device))
    np.testing.assert_array_equal(emulated.view(np.uint8), computed.view(np.uint8))


def product(kernel: Kernel, block: Dim3, inputs: Matrices, device: Device) -> HostArray:
    """C as the device leaves it."""
    (m, k), n = inputs.a.shape, inputs.b.shape[1]
    with LoadedKernel(plan(kernel, kernel.problem(m, n, k), block, device.limits), device) as prepared:
        prepared.upload({"A": inputs.a.reshape(-1), "B": inputs.b.reshape(-1), "C": inputs.c.reshape(-1)})
        assert prepared.run() == []
        result = np.empty(m * n, inputs.c.dtype)
        prepared.buffers["C"].download(result)
    return result


# With an odd number of steps the compiler peels v4a's last one off, and finds its prefetch useless.
@pytest.mark.parametrize(
    ("name", "n"), [("upc.kernel11", 33), ("poznan.v4a", 48), ("poznan.v4b", 48), ("poznan.v5", 48)]
)
@pytest.mark.parametrize("matrix", ["A", "B"])
def test_the_declared_over_read_is_what_the_kernel_reads(name: str, n: int, matrix: str) -> None:
    """One element less, and the emulator reports the access; as declared, it is silent."""
    kernel = mmcore.kernels()[name]
    block = kernel.block(8)

    def short(problem: Problem, block: Dim3, limits: DeviceProperties) -> Launch:
        made = kernel.launch(problem, block, limits)
        assert isinstance(made, Launch)
        return replace(made, over_read=made.over_read | {matrix: made.over_read[matrix] - 1})

    problem = kernel.problem(n, n, n)
    emulator = mmcore.api.device("emulator")
    assert run_kernel(kernel, problem, block, emulator).verified
    (violation,) = run_kernel(replace(kernel, launch=short), problem, block, emulator).violations
    assert (violation.kind, violation.array) == ("out-of-bounds-read", matrix)

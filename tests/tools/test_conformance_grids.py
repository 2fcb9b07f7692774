"""Conformance: what only large grids, large sizes, gaps between rows or a launch rule's answers together show."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mmcore import Config, DeviceProperties, Kernel, Launch, Multiple, Problem, ceil_div
from mmcore.cell import Cell
from mmcore.measure import Phases
from mmcore.plugin_table import Origin, Registered
from mmcore.registry import registry
from mmcore_tools.conform.cases import find_cases
from mmcore_tools.conform.conformance import Conformance
from mmcore_tools.conform.outcome import SKIPPED, groups
from mmcore_tools.conform.worker import launch_failures
from tests import wrong_kernels
from tests.tools.test_conformance import EMULATOR, allows, conformance, failing, few, tiles

__all__ = ["few", "tiles"]

pytestmark = pytest.mark.slow

STRIDED = (
    ("int k)", "int k, int lda, int ldb, int ldc)"),
    ("A[row * k + p] * B[p * n + column]", "A[row * lda + p] * B[p * ldb + column]"),
    ("C[row * n + column]", "C[row * ldc + column]"),
)


def common(found: Conformance, name: str) -> list[str]:
    """Return the common cause of each group of a property's failures."""
    return [said for said, _ in groups(found.of(name))]


@pytest.mark.usefixtures("tiles")
@pytest.mark.parametrize(
    ("right", "wrong", "said"),
    [
        ("C[row * ldc", "C[blockIdx.y * blockDim.y * n + threadIdx.y * ldc", "only with gaps between C's rows"),
        ("A[row * lda", "A[blockIdx.y * blockDim.y * k + threadIdx.y * lda", "only with gaps between A's rows"),
        ("B[p * ldb", "B[p / 64 * 64 * n + p % 64 * ldb", "only with k from 240 on"),
    ],
)
def test_a_forgotten_leading_dimension_is_found(tmp_path: Path, right: str, wrong: str, said: str) -> None:
    found = conformance(wrong_kernels.kernel(tmp_path, *STRIDED, (right, wrong)))
    assert found.failures
    assert common(found, "product") == [said]


@pytest.mark.usefixtures("tiles")
def test_a_write_between_the_rows_of_a_strided_c_is_out_of_bounds(tmp_path: Path) -> None:
    stray = ("= sum;", "= sum; if (column == n - 1 && row < m - 1 && ldc > n) C[row * ldc + n] = sum;")
    assert failing(wrong_kernels.kernel(tmp_path, *STRIDED, stray)) == {"bounds"}


def is_aligned(problem: Problem, config: Config) -> bool:
    """Return whether all rows begin at multiples of four elements."""
    return not any(each % 4 for each in (problem.lda, problem.ldb, problem.ldc))


@pytest.mark.usefixtures("tiles")
def test_gaps_are_found_that_a_constraint_on_leading_dimensions_allows(tmp_path: Path) -> None:
    wrong = wrong_kernels.kernel(tmp_path, *STRIDED, ("row * lda", "row * k"), constraints=(allows(is_aligned),))
    assert common(conformance(wrong), "product") == ["gaps between A's rows"]
    free = replace(wrong, constraints=())
    for kernel, gaps in ((wrong, {4}), (free, {3})):
        cells = [case.cell for case in find_cases(kernel, EMULATOR.properties).allowed]
        assert {cell.lda - cell.k for cell in cells if cell.lda > cell.k} >= gaps


@pytest.mark.usefixtures("tiles")
def test_leading_dimensions_that_are_never_allowed_are_skipped(tmp_path: Path) -> None:
    packed = allows(lambda problem, config: problem == problem.packed)
    found = conformance(wrong_kernels.kernel(tmp_path, *STRIDED, constraints=(packed,)))
    (skipped,) = (each for each in found.outcomes if each.what == "gaps between rows")
    assert (skipped.outcome, found.conforms) == (SKIPPED, True)


def test_wide_and_deep_grids_and_long_products_are_tested(tmp_path: Path) -> None:
    cells = [case.cell for case in find_cases(wrong_kernels.kernel(tmp_path), EMULATOR.properties).allowed]
    rows, columns = 8, 16
    assert any(cell.m > 8 * rows and cell.n > 8 * columns for cell in cells)
    assert any(cell.m > 2 * rows and cell.n > 2 * columns and cell.k > 256 for cell in cells)
    assert all(any(getattr(cell, axis) > 256 for cell in cells) for axis in "mnk")


@pytest.mark.usefixtures("tiles")
def test_a_mistake_that_takes_a_large_grid_is_found(tmp_path: Path) -> None:
    deep = ("= sum;", "= gridDim.x > 1 && gridDim.y > 1 && k > 128 ? 0.0f : sum;")
    assert failing(wrong_kernels.kernel(tmp_path, deep)) == {"product"}


@pytest.mark.usefixtures("few")
def test_a_kernel_that_takes_only_large_sizes_is_tested_there(tmp_path: Path) -> None:
    found = conformance(wrong_kernels.kernel(tmp_path, constraints=(Multiple("k", of=1024),)))
    assert found.conforms, found.failures
    assert found.of("product")
    larger = wrong_kernels.kernel(tmp_path, constraints=(Multiple(("m", "n"), of=640),))
    assert find_cases(larger, EMULATOR.properties).allowed


def launch_rule_failures(kernel: Kernel) -> list[tuple[str, str]]:
    """Return the failures of the launch rule for three products in every config."""
    kernels, phases = registry().kernels, Phases()
    cells = [
        Cell(kernel.name, m, 40, 24, config=config.to_json()).to_json()
        for config in kernel.usual_configs
        for m in (8, 33, 64)
    ]
    kernels[kernel.name] = Registered(kernel, Origin("own", "tests"))
    try:
        return launch_failures(EMULATOR, phases, cells)
    finally:
        del kernels[kernel.name]


def test_a_rule_that_does_not_repeat_its_answer_fails(tmp_path: Path) -> None:
    rows = itertools.cycle([0, 1])

    def launch(problem: Problem, config: Config, device: DeviceProperties) -> Launch:
        x, y, _ = config.block
        return Launch((ceil_div(problem.n, x), ceil_div(problem.m, y) + next(rows)), config.block)

    (failure,) = launch_rule_failures(wrong_kernels.kernel(tmp_path, launch=launch))
    assert failure == ("b16x8", "its launch rule returned different launches for the same product and config")


def always_alike(problem: Problem, config: Config, device: DeviceProperties) -> Launch:
    return Launch((ceil_div(problem.n, 32), ceil_div(problem.m, 8)), (32, 8))


def configs(*blocks: tuple[int, int], **parameters: str) -> dict[str, Any]:
    return {"launch": always_alike, "configs": [{"block": block, **parameters} for block in blocks]}


def test_configs_that_make_no_difference_fail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mmcore_tools.conform.cases.MOST_PER_CONFIG", 6)
    found = conformance(wrong_kernels.kernel(tmp_path, **configs((16, 16), (8, 8))))
    (failure,) = found.failures
    assert (failure.property, failure.what) == ("geometry", "b8")
    assert failure.reason == "b16 and b8 have the same launches, so they are not different configs"


def test_a_macro_or_a_templates_argument_makes_a_difference(tmp_path: Path) -> None:
    assert launch_rule_failures(wrong_kernels.kernel(tmp_path, **configs((16, 16)))) == []
    assert launch_rule_failures(wrong_kernels.kernel(tmp_path, **configs((16, 16), (8, 8), TILE="{block.x}"))) == []
    template: dict[str, Any] = {"entry": "own<{block.x}>", "arguments": ("A", "B", "C", "m", "n", "k")}
    assert launch_rule_failures(wrong_kernels.kernel(tmp_path, **configs((16, 16), (8, 8)), **template)) == []

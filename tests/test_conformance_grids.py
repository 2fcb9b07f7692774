"""Conformance: what only large grids, large sizes, gaps between rows or a launch rule's answers together show."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from mmcore import Config, DeviceProperties, Launch, Multiple, Problem, ceil_div
from mmcore_conform.cases import find_cases
from mmcore_conform.conformance import Conformance
from mmcore_conform.grouping import groups
from mmcore_conform.outcome import SKIPPED
from tests import wrong_kernels
from tests.test_conformance import EMULATOR, conformance, failing, one_capability

__all__ = ["one_capability"]
pytestmark = pytest.mark.usefixtures("one_capability")

STRIDED = (
    ("int k)", "int k, int lda, int ldb, int ldc)"),
    ("A[row * k + p] * B[p * n + column]", "A[row * lda + p] * B[p * ldb + column]"),
    ("C[row * n + column]", "C[row * ldc + column]"),
)


def common(found: Conformance, name: str) -> list[str]:
    """What each group of a property's failures has in common."""
    return [said for said, _ in groups(found.of(name))]


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("C[row * ldc", "C[blockIdx.y * blockDim.y * n + threadIdx.y * ldc"),
        ("A[row * lda", "A[blockIdx.y * blockDim.y * k + threadIdx.y * lda"),
        ("B[p * ldb", "B[p / 64 * 64 * n + p % 64 * ldb"),
    ],
)
def test_a_leading_dimension_that_is_forgotten_between_tiles_is_found(tmp_path: Path, right: str, wrong: str) -> None:
    found = conformance(wrong_kernels.kernel(tmp_path, *STRIDED, (right, wrong)))
    assert common(found, "product") == ["gaps between rows"]


def test_a_write_between_the_rows_of_a_strided_c_is_out_of_bounds(tmp_path: Path) -> None:
    stray = ("= sum;", "= sum; if (column == n - 1 && row < m - 1 && ldc > n) C[row * ldc + n] = sum;")
    assert failing(wrong_kernels.kernel(tmp_path, *STRIDED, stray)) == {"bounds"}


@dataclass(frozen=True)
class Aligned:
    """A third party's constraint: rows begin at multiples of so many elements."""

    step: int
    description: str = "leading dimensions are multiples"

    def violation(self, problem: Problem, config: Config) -> str | None:
        off = [each for each in (problem.lda, problem.ldb, problem.ldc) if each % self.step]
        return f"{off[0]} is not a multiple of {self.step}" if off else None


def test_gaps_are_found_that_a_constraint_on_leading_dimensions_allows(tmp_path: Path) -> None:
    right = wrong_kernels.kernel(tmp_path, *STRIDED, constraints=(Aligned(4),))
    assert failing(right) == set()
    assert failing(wrong_kernels.kernel(tmp_path, *STRIDED, ("row * lda", "row * k"), constraints=(Aligned(4),)))
    cases = find_cases(replace(right, constraints=()), EMULATOR.properties)
    assert {case.cell.lda - case.cell.k for case in cases.allowed if case.gaps} >= {3}


@dataclass(frozen=True)
class Packed:
    """A third party's constraint: no gaps at all."""

    description: str = "the rows are packed"

    def violation(self, problem: Problem, config: Config) -> str | None:
        return None if problem == problem.packed else "there are gaps between the rows"


def test_leading_dimensions_that_are_never_allowed_are_skipped(tmp_path: Path) -> None:
    found = conformance(wrong_kernels.kernel(tmp_path, *STRIDED, constraints=(Packed(),)))
    (skipped,) = (each for each in found.outcomes if each.what == "gaps between rows")
    assert (skipped.outcome, found.conforms) == (SKIPPED, True)


@pytest.mark.parametrize(
    "where", ["blockIdx.x > 7 && blockIdx.y > 7", "gridDim.x > 1 && gridDim.y > 1 && k > 128"], ids=["wide", "deep"]
)
def test_a_mistake_that_takes_a_large_grid_is_found(tmp_path: Path, where: str) -> None:
    assert failing(wrong_kernels.kernel(tmp_path, ("= sum;", f"= {where} ? 0.0f : sum;"))) == {"product"}


@pytest.mark.parametrize("constraint", [Multiple("k", of=1024), Multiple(("m", "n"), of=640)])
def test_a_kernel_that_takes_only_large_sizes_is_tested_there(tmp_path: Path, constraint: Multiple) -> None:
    found = conformance(wrong_kernels.kernel(tmp_path, constraints=(constraint,)))
    assert found.conforms, found.failures
    assert found.of("product")


def test_a_rule_that_does_not_repeat_its_answer_fails(tmp_path: Path) -> None:
    rows = itertools.cycle([0, 1])

    def launch(problem: Problem, config: Config, device: DeviceProperties) -> Launch:
        x, y, _ = config.block
        return Launch((ceil_div(problem.n, x), ceil_div(problem.m, y) + next(rows)), config.block)

    found = conformance(wrong_kernels.kernel(tmp_path, launch=launch))
    reasons = {each.reason for each in found.failures if each.property == "geometry"}
    assert reasons == {"asked 3 times for the same launch, its rule does not give the same one"}


def test_configs_that_make_no_difference_fail(tmp_path: Path) -> None:
    def launch(problem: Problem, config: Config, device: DeviceProperties) -> Launch:
        return Launch((ceil_div(problem.n, 32), ceil_div(problem.m, 8)), (32, 8))

    def configs(*blocks: tuple[int, int], **parameters: str) -> dict[str, list[dict[str, object]]]:
        return {"configs": [{"block": block, **parameters} for block in blocks]}

    assert failing(wrong_kernels.kernel(tmp_path, launch=launch, **configs((16, 16)))) == set()
    found = conformance(wrong_kernels.kernel(tmp_path, launch=launch, **configs((16, 16), (8, 8))))
    (failure,) = found.failures
    assert (failure.property, failure.what) == ("geometry", "b8")
    assert failure.reason == "it is launched in the same way with b16 and with b8, as which both are measured"
    # A macro makes a difference: its source is another.
    assert failing(wrong_kernels.kernel(tmp_path, launch=launch, **configs((16, 16), (8, 8), TILE="{block.x}"))) == set()

"""Conformance: what only large grids, large sizes, gaps between rows or a launch rule's answers together show."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from mmcore import Dim3, Launch, DeviceProperties, Multiple, Problem, ceil_div
from mmcore_conform.trial import UNTRIED
from tests import wrong_kernels
from tests.test_conformance import conformance, failing

STRIDED = (
    ("int k)", "int k, int lda, int ldb, int ldc)"),
    ("A[row * k + p] * B[p * n + column]", "A[row * lda + p] * B[p * ldb + column]"),
    ("C[row * n + column]", "C[row * ldc + column]"),
)
LEADING: dict[str, Any] = {"arguments": ("A", "B", "C", "m", "n", "k", "lda", "ldb", "ldc")}


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("C[row * ldc", "C[blockIdx.y * blockDim.y * n + threadIdx.y * ldc"),
        ("A[row * lda", "A[blockIdx.y * blockDim.y * k + threadIdx.y * lda"),
        ("B[p * ldb", "B[p / 64 * 64 * n + p % 64 * ldb"),
    ],
)
def test_a_leading_dimension_that_is_forgotten_between_tiles_is_found(tmp_path: Path, right: str, wrong: str) -> None:
    assert failing(wrong_kernels.kernel(tmp_path, *STRIDED, (right, wrong), **LEADING))


def test_the_right_leading_dimensions_conform(tmp_path: Path) -> None:
    found = conformance(wrong_kernels.kernel(tmp_path, *STRIDED, **LEADING))
    assert found.conforms, found.failures
    assert "gaps between rows" not in {trial.what for trial in found.trials}


@dataclass(frozen=True)
class Aligned:
    """A third party's constraint: rows begin at multiples of so many elements."""

    step: int
    sentence: str = "leading dimensions are multiples"

    def refusal(self, problem: Problem, block: Dim3) -> str | None:
        off = [each for each in (problem.lda, problem.ldb, problem.ldc) if each % self.step]
        return f"{off[0]} is not a multiple of {self.step}" if off else None


def test_gaps_are_found_that_a_constraint_on_leading_dimensions_allows(tmp_path: Path) -> None:
    declared = LEADING | {"constraints": (Aligned(4),)}
    assert failing(wrong_kernels.kernel(tmp_path, *STRIDED, **declared)) == set()
    assert failing(wrong_kernels.kernel(tmp_path, *STRIDED, ("row * lda", "row * k"), **declared))


@dataclass(frozen=True)
class Packed:
    """A third party's constraint: no gaps at all."""

    sentence: str = "the rows are packed"

    def refusal(self, problem: Problem, block: Dim3) -> str | None:
        return None if problem == problem.packed else "there are gaps between the rows"


def test_leading_dimensions_that_are_never_allowed_are_untried(tmp_path: Path) -> None:
    found = conformance(wrong_kernels.kernel(tmp_path, *STRIDED, **LEADING, constraints=(Packed(),)))
    (untried,) = (trial for trial in found.trials if trial.what == "gaps between rows")
    assert (untried.verification, found.conforms) == (UNTRIED, True)


@pytest.mark.parametrize(
    "where", ["blockIdx.x > 7 && blockIdx.y > 7", "gridDim.x > 1 && gridDim.y > 1 && k > 128"], ids=["wide", "deep"]
)
def test_a_mistake_that_takes_a_large_grid_is_found(tmp_path: Path, where: str) -> None:
    assert failing(wrong_kernels.kernel(tmp_path, ("= sum;", f"= {where} ? 0.0f : sum;"))) == {"product"}


@pytest.mark.parametrize("constraint", [Multiple("k", of=1024), Multiple(("m", "n"), of=640)])
def test_a_kernel_that_takes_only_large_sizes_is_tried_there(tmp_path: Path, constraint: Multiple) -> None:
    found = conformance(wrong_kernels.kernel(tmp_path, constraints=(constraint,)))
    assert found.conforms, found.failures
    assert found.of("product")


def test_a_rule_that_answers_now_so_now_so_fails(tmp_path: Path) -> None:
    rows = itertools.cycle([0, 1])

    def launch(problem: Problem, block: Dim3, limits: DeviceProperties) -> Launch:
        return Launch((ceil_div(problem.n, block.x), ceil_div(problem.m, block.y) + next(rows)), block)

    found = conformance(wrong_kernels.kernel(tmp_path, launch=launch))
    reasons = {trial.reason for trial in found.failures if trial.aspect == "geometry"}
    assert reasons == {"asked 3 times for the same launch, its rule does not give the same one"}


def test_blocks_that_make_no_difference_fail(tmp_path: Path) -> None:
    def launch(problem: Problem, block: Dim3, limits: DeviceProperties) -> Launch:
        return Launch((ceil_div(problem.n, 32), ceil_div(problem.m, 8)), (32, 8))

    assert failing(wrong_kernels.kernel(tmp_path, launch=launch, blocks=((16, 16),))) == set()
    found = conformance(wrong_kernels.kernel(tmp_path, launch=launch, blocks=((16, 16), (8, 8))))
    (failure,) = found.failures
    assert (failure.aspect, failure.what) == ("geometry", "8×8 blocks")
    assert failure.reason == "it is launched in the same way in 16×16 and in 8×8 blocks, as which both are measured"

"""Kernels that are no matrix products: their results, and the hazards of broken variants."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from mmcore_emulator import launch
from mmcore_emulator.profiler.counters import Line
from tests.emulator.api.programs import PROGRAMS, Program, broken, reduction, tensor_core, transpose


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda each: each.__name__)
def test_a_program_computes_what_numpy_does_without_a_hazard(program: Callable[[], Program]) -> None:
    made = program()
    report = launch(
        made.path, made.kernel, grid=made.grid, block=made.block, args=made.arguments, timeout=60, **made.further
    )
    assert report.ok, report
    assert not report.warnings, report
    for number, expected in made.expected.items():
        array = made.arguments[number]
        assert isinstance(array, np.ndarray)
        np.testing.assert_allclose(array.astype(np.float64), expected, rtol=made.tolerance, atol=made.tolerance)


@pytest.mark.parametrize(
    ("program", "macro", "kind", "line"), [pytest.param(*each, id=f"{each[0].__name__}-{each[1]}") for each in broken()]
)
def test_the_hazard_of_a_broken_program_is_found_at_its_line(
    program: Callable[[], Program], macro: str, kind: str, line: int
) -> None:
    made = program()
    report = launch(
        made.path,
        made.kernel,
        grid=made.grid,
        block=made.block,
        args=made.arguments,
        options=[f"-D{macro}"],
        timeout=60,
        **made.further,
    )
    assert (kind, line) in {(each.kind, each.line) for each in report.hazards}, report
    assert {each.source for each in report.hazards} == {made.path.name}


def test_padding_avoids_the_bank_conflicts_of_a_transpose() -> None:
    made = transpose()
    counts = []
    for options in ((), ("-DNO_PADDING",)):
        report = launch(
            made.path, made.kernel, grid=made.grid, block=made.block, args=made.arguments, options=options, check=False
        )
        counts.append(report.counters.shared_bank_conflicts)
    assert counts[0] == 0 < counts[1]


def test_the_counters_of_a_line_are_those_of_its_instructions() -> None:
    made = reduction()
    report = launch(made.path, made.kernel, grid=made.grid, block=made.block, args=made.arguments)
    line = 1 + made.path.read_text().splitlines().index("        own += x[i];")
    assert report.by_line[Line(made.path.name, line)].global_load_bytes == 4 * 3000
    assert report.counters.barriers == 3
    assert report.counters.global_atomics == 3
    assert report.thread_instructions == report.counters.thread_instructions > 3000


def test_tensor_cores_are_counted() -> None:
    made = tensor_core()
    report = launch(made.path, made.kernel, grid=1, block=32, args=made.arguments)
    assert report.counters.tensor_flops == 2 * 16**3

"""Kernels that are no matrix products: their results, and the hazards of broken variants."""

from __future__ import annotations

import pytest

from mmcore_emulator.profiler.counters import Line
from tests.emulator.api.programs import PROGRAMS, Program, broken


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_computes_what_numpy_does_without_a_hazard(name: str) -> None:
    program = Program(name)
    report = program.launch()
    assert report.ok, report
    assert not report.warnings, report
    program.assert_right()


@pytest.mark.parametrize(("name", "macro", "kind", "line"), broken())
def test_the_hazard_of_a_broken_program_is_found_at_its_line(name: str, macro: str, kind: str, line: int) -> None:
    report = Program(name).launch(macro)
    assert (kind, line) in {(each.kind, each.line) for each in report.hazards}, report
    assert {each.source for each in report.hazards} == {f"{name}.cu"}


def test_padding_avoids_the_bank_conflicts_of_a_transpose() -> None:
    counters = [Program("transpose").launch(*macros, check=False).counters for macros in ((), ("NO_PADDING",))]
    assert counters[0].shared_bank_conflicts == 0 < counters[1].shared_bank_conflicts


def test_the_counters_of_a_line_are_those_of_its_instructions() -> None:
    program = Program("reduction")
    report = program.launch()
    line = 1 + program.path.read_text().splitlines().index("        own += x[i];")
    assert report.by_line[Line(program.path.name, line)].global_load_bytes == 4 * 3000
    assert report.counters.barriers == 3
    assert report.counters.global_atomics == 3
    assert report.thread_instructions == report.counters.thread_instructions > 3000


def test_tensor_cores_are_counted() -> None:
    assert Program("tensor_core").launch().counters.tensor_flops == 2 * 16**3

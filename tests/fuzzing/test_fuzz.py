"""Random cases: no wrong product is accepted, and no right one rejected. bench/studies/fuzz.py runs thousands."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mmcore.devices.base import Device
from mmcore.executor.choose_device import open_device
from mmcore.verify.tolerance import Tolerance, tolerance
from tests.fuzzing.arithmetics import ARITHMETICS, Arithmetic
from tests.fuzzing.drawing import EXTENTS, PLAIN, draw_case
from tests.fuzzing.products import KINDS, RIGHT, try_product
from tests.fuzzing.subjects import subjects
from tests.fuzzing.trying import Disagreement, try_case

SUBJECTS = subjects()
CASES = [draw_case(0, number, SUBJECTS, EXTENTS["emulator"]) for number in range(250)]
SOME = 50


@pytest.fixture(scope="module")
def emulator() -> Device:
    """Return the emulator, which survives accesses out of bounds."""
    return open_device("emulator")


def test_mmcore_is_right_about_random_cases(device: Device, emulator: Device, tmp_path: Path) -> None:
    rehearsal = None if device.name == "emulator" else emulator
    outcomes = {try_case(case, device, tmp_path, rehearsal) for case in CASES[:SOME]}
    assert {"verified", "refused", "forced: verified", "forced: refused"} <= outcomes


@pytest.mark.parametrize("arithmetic", ARITHMETICS, ids=str)
def test_products_of_every_type_get_the_documented_verdict(arithmetic: Arithmetic) -> None:
    """Make 5 products of each kind; bench/studies/fuzz.py makes 200."""
    outcomes = {kind: {try_product(arithmetic, kind, 2, number)[1] for number in range(5)} for kind in KINDS}
    assert outcomes[RIGHT] == {"accepted"}
    assert "rejected" in set().union(*outcomes.values())


# Each of these tests breaks one part of mmcore or of a kernel, and the fuzzing notices it.


@pytest.mark.parametrize(("factor", "kind"), [(1.01, "a little too far"), (0.99, "within the bound")])
def test_a_tolerance_that_is_a_hundredth_off_is_noticed(
    emulator: Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, factor: float, kind: str
) -> None:
    def other(*arguments: Any) -> Tolerance:
        right = tolerance(*arguments)
        return replace(right, summing=factor * right.summing)

    monkeypatch.setattr("mmcore.verify.comparison.tolerance", other)
    subject = SUBJECTS["upc.kernel01"]
    case = replace(CASES[0], subject=subject, kind=kind, problem=subject.kernel.problem(9, 7, 40))
    with pytest.raises(Disagreement):
        [try_case(replace(case, seed=seed), emulator, tmp_path) for seed in range(40)]


def test_a_constraint_that_is_missing_is_noticed(emulator: Device, tmp_path: Path) -> None:
    sizes = {"not a multiple"}, {"sizes differ"}
    plain = [case for case in CASES if case.kind == PLAIN]
    refused = [case for case in plain if case.subject.rule.breaches(case.problem, case.block) in sizes]
    assert len(refused) > 4
    for case in refused[:5]:
        assert try_case(case, emulator, tmp_path) == "refused"
        kernel = replace(case.subject.kernel, constraints=())
        with pytest.raises(Disagreement):
            try_case(replace(case, subject=replace(case.subject, kernel=kernel)), emulator, tmp_path)

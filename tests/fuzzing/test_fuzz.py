"""Random cases: no wrong product is accepted, no right one rejected. bench/studies/fuzz.py tries thousands of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mmcore.devices.base import Device
from mmcore.executor.choose_device import open_device
from mmcore.verify.outcome import Verification
from mmcore.verify.tolerance import Tolerance, tolerance
from tests.fuzzing.arithmetics import ARITHMETICS, Arithmetic
from tests.fuzzing.damage import DAMAGES
from tests.fuzzing.drawing import EXTENTS, FORCED, PLAIN, Case, draw_case
from tests.fuzzing.products import KINDS, LOWER, RIGHT, Misjudged, try_product
from tests.fuzzing.subjects import subjects
from tests.fuzzing.trying import Disagreement, try_case

SUBJECTS = subjects()
CASES = [draw_case(0, number, SUBJECTS, EXTENTS["emulator"]) for number in range(250)]
SOME = 50


@pytest.fixture(scope="module")
def emulator() -> Device:
    """Launches may leave their memory, which a GPU does not survive."""
    return open_device("emulator")


def tried(cases: Sequence[Case], device: Device, folder: Path) -> list[str]:
    return [try_case(case, device, folder) for case in cases]


def test_mmcore_is_right_about_random_cases(device: Device, emulator: Device, tmp_path: Path) -> None:
    rehearsal = None if device.name == "emulator" else emulator
    outcomes = {try_case(case, device, tmp_path, rehearsal) for case in CASES[:SOME]}
    assert {"verified", "refused", "forced: verified", "forced: refused"} <= outcomes


def test_the_same_seed_draws_the_same_cases() -> None:
    again = [draw_case(0, number, SUBJECTS, EXTENTS["emulator"]) for number in range(len(CASES))]
    assert again == CASES
    assert draw_case(1, 0, SUBJECTS, EXTENTS["emulator"]) != CASES[0]


def test_the_cases_are_of_every_kernel_and_kind() -> None:
    cases = [draw_case(0, number, SUBJECTS, EXTENTS["emulator"]) for number in range(800)]
    assert {case.subject.kernel.name for case in cases} == set(SUBJECTS)
    assert {case.kind for case in cases} == {PLAIN, FORCED, *DAMAGES}


@pytest.mark.parametrize("arithmetic", ARITHMETICS, ids=str)
def test_products_of_every_type_are_judged_as_is_documented(arithmetic: Arithmetic) -> None:
    """bench/studies/fuzz.py makes 600 of each."""
    outcomes = {kind: {try_product(arithmetic, kind, 2, number)[1] for number in range(5)} for kind in KINDS}
    assert outcomes[RIGHT] == {"accepted"}
    assert "rejected" in set().union(*outcomes.values())


@pytest.mark.parametrize(("factor", "kind"), [(0.01, RIGHT), (100, LOWER)])
def test_a_tolerance_that_is_far_off_is_noticed(monkeypatch: pytest.MonkeyPatch, factor: float, kind: str) -> None:
    def other(*arguments: Any) -> Tolerance:
        right = tolerance(*arguments)
        return replace(right, summing=right.summing * factor, last_bits=right.last_bits * factor)

    monkeypatch.setattr("mmcore.verify.comparison.tolerance", other)
    monkeypatch.setattr("mmcore.verify.comparison._narrow", lambda *arguments: None)
    with pytest.raises(Misjudged):
        [try_product(ARITHMETICS[0], kind, 2, number) for number in range(40)]


# The fuzzing itself can fail: each of these spoils one thing, and it is noticed.


def spoiled(case: Case, **changes: Any) -> Case:
    kernel = replace(case.subject.kernel, **changes)
    return replace(case, subject=replace(case.subject, kernel=kernel))


def cases_of(kind: str) -> list[Case]:
    return [case for case in CASES if case.kind == kind]


def verification(*, verified: bool) -> Any:
    return lambda *arguments, **options: Verification(verified, 0.0, None, "none", 0, 1)


def test_a_verification_that_accepts_everything_is_noticed(
    emulator: Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mmcore.verify.verify_launches.verify_product", verification(verified=True))
    for kind in ("NaN", "dropped term", "a little too far", FORCED):
        with pytest.raises(Disagreement):
            tried(cases_of(kind), emulator, tmp_path)


def test_a_verification_that_accepts_nothing_is_noticed(
    emulator: Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mmcore.verify.verify_launches.verify_product", verification(verified=False))
    for kind in (PLAIN, "within the bound"):
        with pytest.raises(Disagreement):
            tried(cases_of(kind), emulator, tmp_path)


@pytest.mark.parametrize(("factor", "kind"), [(1.01, "a little too far"), (0.99, "within the bound")])
def test_a_tolerance_that_is_a_hundredth_off_is_noticed(
    emulator: Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, factor: float, kind: str
) -> None:
    def other(*arguments: Any) -> Tolerance:
        right = tolerance(*arguments)
        return replace(right, summing=right.summing * factor)

    monkeypatch.setattr("mmcore.verify.comparison.tolerance", other)
    cases = [replace(CASES[0], subject=SUBJECTS["upc.kernel01"], kind=kind, seed=seed) for seed in range(40)]
    with pytest.raises(Disagreement):
        tried([replace(case, problem=case.subject.kernel.problem(9, 7, 40)) for case in cases], emulator, tmp_path)


def test_a_constraint_that_is_missing_is_noticed(emulator: Device, tmp_path: Path) -> None:
    sizes = {"not a multiple"}, {"sizes differ"}
    refused = [case for case in cases_of(PLAIN) if case.subject.rule.breaches(case.problem, case.block) in sizes]
    assert len(refused) > 4
    for case in refused[:5]:
        assert try_case(case, emulator, tmp_path) == "refused"
        with pytest.raises(Disagreement):
            try_case(spoiled(case, constraints=()), emulator, tmp_path)


def test_an_over_read_that_is_not_declared_is_noticed(emulator: Device, tmp_path: Path) -> None:
    kernel = SUBJECTS["poznan.v5"].kernel
    case = replace(CASES[0], subject=SUBJECTS["poznan.v5"], kind=PLAIN, block=kernel.config("8").block)
    case = replace(case, problem=kernel.problem(16, 16, 16))
    assert try_case(case, emulator, tmp_path) == "verified"
    with pytest.raises(Disagreement):
        try_case(spoiled(case, over_read=None), emulator, tmp_path)

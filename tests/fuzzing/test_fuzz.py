"""Random cases: no wrong product is accepted, and no right one rejected. bench/studies/fuzz.py runs thousands."""

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
from tests.fuzzing.drawing import EXTENTS, FORCED, PLAIN, Case, draw_case
from tests.fuzzing.products import KINDS, LOWER, RIGHT, Misjudged, try_product
from tests.fuzzing.subjects import subjects
from tests.fuzzing.trying import Disagreement, try_case

SUBJECTS = subjects()
CASES = [draw_case(0, number, SUBJECTS, EXTENTS["emulator"]) for number in range(250)]
SOME = 50


@pytest.fixture(scope="module")
def emulator() -> Device:
    """Return the emulator, which survives accesses out of bounds."""
    return open_device("emulator")


def multiply_tolerance(monkeypatch: pytest.MonkeyPatch, factor: float, *parts: str) -> None:
    """Multiply parts of every tolerance by a factor."""

    def other(*arguments: Any) -> Tolerance:
        right = tolerance(*arguments)
        changed: dict[str, Any] = {part: getattr(right, part) * factor for part in parts}
        return replace(right, **changed)

    monkeypatch.setattr("mmcore.verify.comparison.tolerance", other)


def tried(cases: Sequence[Case], device: Device, folder: Path) -> list[str]:
    return [try_case(case, device, folder) for case in cases]


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


@pytest.mark.parametrize(("factor", "kind"), [(0.01, RIGHT), (100, LOWER)])
def test_a_tolerance_that_is_far_off_is_noticed(monkeypatch: pytest.MonkeyPatch, factor: float, kind: str) -> None:
    multiply_tolerance(monkeypatch, factor, "summing", "last_bits")
    monkeypatch.setattr("mmcore.verify.comparison._narrow", lambda *arguments: None)
    with pytest.raises(Misjudged):
        [try_product(ARITHMETICS[0], kind, 2, number) for number in range(40)]


# Each of these tests breaks one part of mmcore or of a kernel, and the fuzzing notices it.


def spoiled(case: Case, **changes: Any) -> Case:
    kernel = replace(case.subject.kernel, **changes)
    return replace(case, subject=replace(case.subject, kernel=kernel))


def cases_of(kind: str) -> list[Case]:
    return [case for case in CASES if case.kind == kind]


@pytest.mark.parametrize(
    ("verified", "kind"),
    [
        *((True, kind) for kind in ("NaN", "dropped term", "a little too far", FORCED)),
        *((False, kind) for kind in (PLAIN, "within the bound")),
    ],
)
def test_a_verification_that_accepts_everything_or_nothing_is_noticed(
    emulator: Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verified: bool, kind: str
) -> None:
    verdict = Verification(verified, 0.0, None, "none", 0, 1)
    monkeypatch.setattr("mmcore.verify.verify_launches.verify_product", lambda *arguments, **options: verdict)
    with pytest.raises(Disagreement):
        tried(cases_of(kind), emulator, tmp_path)


@pytest.mark.parametrize(("factor", "kind"), [(1.01, "a little too far"), (0.99, "within the bound")])
def test_a_tolerance_that_is_a_hundredth_off_is_noticed(
    emulator: Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, factor: float, kind: str
) -> None:
    multiply_tolerance(monkeypatch, factor, "summing")
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

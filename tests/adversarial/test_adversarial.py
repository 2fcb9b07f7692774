"""Every kernel of the corpus gets its verdict from ``run`` and ``check`` on the emulator, and from ``run`` on a GPU."""

from __future__ import annotations

import pytest

from mmcore.errors import UnsupportedInstruction
from mmcore_cuda import CudaProvider
from tests.adversarial.corpus import Adversary, check_verdict, corpus, run_verdict

CORPUS = list(corpus())
ATTEMPTS = 4


def each(*kinds: str) -> pytest.MarkDecorator:
    """Parametrize a test with the kernels of some kinds. Two in three are marked as slow."""
    chosen = [
        pytest.param(one, id=f"{one.kind}-{one.name}", marks=pytest.mark.slow if number % 3 else ())
        for number, one in enumerate(CORPUS)
        if one.kind in kinds
    ]
    return pytest.mark.parametrize("one", chosen)


def verdicts(one: Adversary, device: str) -> list[str]:
    """Return the verdicts at each size, up to the first "wrong"."""
    found: list[str] = []
    # Inputs are random, so that a rare error may need more than one run.
    for size in one.sizes * (ATTEMPTS if one.expected["run"] == "wrong" else 1):
        found.append(run_verdict(one, size, device))
        if found[-1].startswith("wrong"):
            break
    return found


def judge(one: Adversary, device: str) -> None:
    """Run a kernel, and require the verdict that its file expects."""
    found = verdicts(one, device)
    if one.expected["run"] == "verified" or (device == "emulator" and "limit" in one.header):
        assert set(found) == {"verified"}
    else:
        assert any(verdict.startswith(one.expected["run"]) for verdict in found), found


@each("wrong", "right", "innocent")
def test_run_gives_the_expected_verdict(one: Adversary) -> None:
    if one.runs_on("emulator"):
        judge(one, "emulator")
    else:
        with pytest.raises(UnsupportedInstruction):
            verdicts(one, "emulator")


@pytest.mark.slow
@each("right")
def test_check_finds_nothing_in_right_kernels(one: Adversary) -> None:
    check(one)


@each("hazardous", "innocent")
def test_check_gives_the_expected_verdict(one: Adversary) -> None:
    check(one)


def check(one: Adversary) -> None:
    """Check a kernel, and require the hazard that its file expects, or none."""
    if not one.runs_on("emulator"):
        pytest.skip("the emulator lacks an instruction, which the test of run asserts")
    expected, found = one.expected["check"], list[str]()
    for size in one.sizes:
        found += check_verdict(one.kernel, size)
        if any(finding.startswith(f"{expected}: ") for finding in found):
            break
    if expected == "silent":
        assert [finding for finding in found if not finding.startswith("warning: ")] == []
    else:
        assert any(finding.startswith(f"{expected}: ") for finding in found), found


@pytest.mark.skipif(not CudaProvider().count(), reason="no GPU")
@each("wrong", "right", "innocent")
def test_a_gpu_gives_the_same_verdict(one: Adversary) -> None:
    if not one.runs_on("GPU"):
        pytest.skip("the result on a GPU is undefined")
    judge(one, "cuda")

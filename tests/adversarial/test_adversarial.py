"""Every kernel of the corpus gets its verdict, from ``run`` and ``check``, and on a GPU from ``run``."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from mmcore.errors import UnsupportedInstruction
from mmcore_cuda import CudaProvider
from tests.adversarial.corpus import KINDS, Adversary, check_verdict, corpus, run_verdict

CORPUS = list(corpus())
ATTEMPTS = 4


def each(*kinds: str) -> pytest.MarkDecorator:
    """Every kernel of these kinds; two in three are among the slow tests."""
    chosen = [
        pytest.param(one, id=f"{one.kind}-{one.name}", marks=pytest.mark.slow if number % 3 else ())
        for number, one in enumerate(CORPUS)
        if one.kind in kinds
    ]
    return pytest.mark.parametrize("one", chosen)


def verdicts(one: Adversary, folder: Path, device: str) -> list[str]:
    kernel, found = one.kernel(folder), []
    # Inputs are random: what is wrong with few of them may need more than one run.
    for size in one.sizes * (ATTEMPTS if one.expected["run"] == "wrong" else 1):
        found.append(run_verdict(kernel, size, device))
        if found[-1].startswith("wrong"):
            break
    return found


def judge(one: Adversary, found: list[str]) -> None:
    if one.expected["run"] == "verified":
        assert set(found) == {"verified"}
    else:
        assert any(verdict.startswith(one.expected["run"]) for verdict in found), found


def test_there_are_as_many_kernels_of_each_kind_as_were_promised() -> None:
    counts = Counter(one.kind for one in CORPUS)
    assert [*counts] == [*KINDS]
    assert all(counts[kind] >= least for kind, least in zip(KINDS, (60, 60, 60, 40), strict=True))


@each("wrong", "right", "innocent")
def test_what_is_run_gets_the_right_verdict(one: Adversary, tmp_path: Path) -> None:
    if not one.emulated:
        with pytest.raises(UnsupportedInstruction):
            verdicts(one, tmp_path, "emulator")
    elif "LIMIT" in one.values:
        assert set(verdicts(one, tmp_path, "emulator")) == {"verified"}
    else:
        judge(one, verdicts(one, tmp_path, "emulator"))


@pytest.mark.slow
@each("right")
def test_right_kernels_are_checked_in_silence(one: Adversary, tmp_path: Path) -> None:
    check(one, tmp_path)


@each("hazardous", "innocent")
def test_what_is_checked_gets_the_right_verdict(one: Adversary, tmp_path: Path) -> None:
    check(one, tmp_path)


def check(one: Adversary, tmp_path: Path) -> None:
    if not one.emulated:
        pytest.skip("the emulator does not know an instruction of it, as the other test shows")
    kernel = one.kernel(tmp_path)
    found: list[str] = []
    for size in one.sizes:
        found += check_verdict(kernel, size)
        if any(finding.startswith(f"{one.expected['check']}: ") for finding in found):
            break
    if one.expected["check"] == "silent":
        assert [finding for finding in found if not finding.startswith("warning: ")] == []
    else:
        assert any(finding.startswith(f"{one.expected['check']}: ") for finding in found), found


@pytest.mark.skipif(not CudaProvider().count(), reason="no GPU")
@each("wrong", "right", "innocent")
def test_a_gpu_gives_the_same_verdict(one: Adversary, tmp_path: Path) -> None:
    if not one.values.get("GPU", True):
        pytest.skip("what a GPU does with it is not determined")
    if "GPU_LIMIT" in one.values:
        assert set(verdicts(one, tmp_path, "cuda")) == {"verified"}
    else:
        judge(one, verdicts(one, tmp_path, "cuda"))

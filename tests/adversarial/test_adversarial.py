"""Every kernel of the corpus gets the verdict that it must get, from ``run`` and ``check``, and on a GPU from ``run``."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from mmcore.errors import UnsupportedInstruction
from mmcore_cuda import CudaProvider
from tests.adversarial.corpus import KINDS, Adversary, check_verdict, corpus, run_verdict

CORPUS = list(corpus())


def each(*kinds: str) -> pytest.MarkDecorator:
    chosen = [one for one in CORPUS if one.kind in kinds]
    return pytest.mark.parametrize("one", chosen, ids=lambda one: f"{one.kind}-{one.name}")


def verdicts(one: Adversary, folder: Path, device: str) -> list[str]:
    kernel = one.kernel(folder)
    return [run_verdict(kernel, size, device) for size in one.sizes]


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
    else:
        judge(one, verdicts(one, tmp_path, "emulator"))


@each("right", "hazardous", "innocent")
def test_what_is_checked_gets_the_right_verdict(one: Adversary, tmp_path: Path) -> None:
    if not one.emulated:
        pytest.skip("the emulator does not know an instruction of it, as the other test shows")
    kernel = one.kernel(tmp_path)
    found = [finding for size in one.sizes for finding in check_verdict(kernel, size)]
    if one.expected["check"] == "silent":
        assert [finding for finding in found if not finding.startswith("warning: ")] == []
    else:
        assert any(finding.startswith(f"{one.expected['check']}: ") for finding in found), found


@pytest.mark.skipif(not CudaProvider().count(), reason="no GPU")
@each("wrong", "right", "innocent")
def test_a_gpu_gives_the_same_verdict(one: Adversary, tmp_path: Path) -> None:
    if not one.values.get("GPU", True):
        pytest.skip("what a GPU does with it is not determined")
    judge(one, verdicts(one, tmp_path, "cuda"))

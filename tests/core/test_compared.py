"""Comparisons of a kernel with other kernels of its product, and with another version of its source."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mmcore import kernels
from mmcore.baseline_comparison import BaselineComparison, Rival, rivals
from mmcore.cell import Cell, Timing
from mmcore.measure import measure
from mmcore.plugin_table import Origin, Registered
from mmcore.registry import registry
from mmcore.timing import Time
from tests.command_line import install, installed, mmcore
from tests.timed_emulator import TimedEmulator

KERNEL = "upc.kernel01"
BRIEF = (Timing(max_seconds=0.05, min_rounds=3),)
SECONDS = {"kernel01.cu": 2e-3, "kernel10.cu": 1e-3, "kernel11.cu": 4e-3, "kernel00.cu": 1e-3, "kernel1.cu": 8e-3}


def names(baseline: str, kernel: str = KERNEL) -> list[str]:
    own, cell = kernels()[kernel], Cell(kernel, 8, 8, 8, baseline=baseline)
    return [each.kernel.name for each in rivals(cell, own, own.usual_configs[0])]


@pytest.fixture
def others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Register kernels of other products than upc.kernel01's, and one of the same."""
    changes: dict[str, dict[str, Any]] = {
        "dtype": {"dtype": "bfloat16", "output": "float32"}, "output": {"output": "float64"}, "alpha": {"alpha": 2},
        "beta": {"beta": 1}, "column_major": {"column_major": "B"}, "same": {"title": "another"},
    }  # fmt: skip
    for name, changed in changes.items():
        kernel = replace(kernels()[KERNEL], **{"accumulator": "", "output": "", "name": f"acme.{name}"} | changed)
        monkeypatch.setitem(registry().kernels, kernel.name, Registered(kernel, Origin("acme", "acme")))


@pytest.mark.usefixtures("others")
def test_a_baseline_is_another_kernel_of_the_same_product_whose_name_matches() -> None:
    assert names("acme.*") == ["acme.same"]
    assert names("upc.kernel1?") == ["upc.kernel10", "upc.kernel11"]
    assert names("acme.*,upc.kernel1?") == ["upc.kernel10", "upc.kernel11", "acme.same"]
    assert KERNEL not in names("upc.*")
    assert names("no.such") == names("") == []


def test_a_plugin_may_offer_a_baseline_for_a_product(tmp_path: Path) -> None:
    offers = """
from dataclasses import replace
from mmcore import hookimpl
@hookimpl
def mmcore_baselines(kernel):
    return replace(kernel, name="acme.best") if kernel.dtype == "float32" else None
"""
    install(tmp_path, "acme", "acme", offers)
    with installed(tmp_path):
        assert names("acme.best") == ["acme.best"]
        assert names("acme.b?st") == ["acme.best"]
        assert names("acme.worst") == []
        assert names("acme.best", "lezione9.kernel1") == []


def test_another_version_is_the_same_kernel_with_another_source() -> None:
    kernel = kernels()[KERNEL]
    (before,) = rivals(Cell(KERNEL, 8, 8, 8, against="/some/kernel.cu"), kernel, kernel.usual_configs[1])
    assert before == Rival(replace(kernel, title="before", source=Path("/some/kernel.cu")), kernel.usual_configs[1])


def compared(own: list[float], theirs: list[float], **changes: Any) -> BaselineComparison:
    times = [Time(Timing(), tuple(rounds), 1, "made up") for rounds in (own, theirs)]
    return BaselineComparison.of(replace(kernels()["upc.kernel10"], **changes), *times)


def test_a_kernel_is_as_many_times_as_fast_as_the_other_takes_times_as_long() -> None:
    found = compared([1.0, 1.0, 2.0], [0.5, 0.25, 1.0])
    assert (found.kernel, found.faster, found.reason) == ("upc.kernel10", 0.5, "")
    assert found.interval == pytest.approx((0.25 * 0.999, 0.5 * 1.001))
    assert found.time is not None
    assert found.time.rounds == (0.5, 0.25, 1.0)
    assert BaselineComparison.from_json({**vars(found), "time": None, "interval": [1, 2]}).interval == (1, 2)


def test_a_comparison_in_words() -> None:
    assert str(compared([1.0] * 3, [0.75] * 3)) == "75.0 % of upc.kernel10 (74.9–75.1 %)"
    assert str(compared([1.0] * 3, [2.0] * 3, title="cuBLAS")) == "200.0 % of cuBLAS (199.8–200.2 %)"
    lost = BaselineComparison("acme.fast", "Fast and wide", reason="it is lost")
    assert str(lost) == "not compared with acme.fast: it is lost"


# Measured.


@pytest.mark.parametrize(
    ("rival", "faster"),
    [
        ({"kernel": "upc.kernel10", "config": {}}, 0.5),
        ({"kernel": "upc.kernel11", "config": {"block": [8, 8, 1], "TILE": 8}}, 2.0),
        ({"kernel": KERNEL, "config": {"block": [8, 8, 1]}}, 1.0),
        ({"kernel": "lezione9.kernel1", "config": {"block": [16, 16, 1]}}, 4.0),  # float64, and C is added to
    ],
)
def test_a_rival_is_any_other_kernel_or_config(rival: dict[str, Any], faster: float) -> None:
    result = timed(rival=rival)
    assert result.verified
    (found,) = result.compared
    assert (found.kernel, found.reason) == (rival["kernel"], "")
    assert found.faster == pytest.approx(faster, rel=0.02)


def timed(size: int = 16, **asked: Any) -> Any:
    cell = Cell(KERNEL, size, size, size, **{"timings": BRIEF, **asked})
    return measure(cell, TimedEmulator(SECONDS.__getitem__, flops=1e12))


def test_the_fastest_of_several_baselines_is_the_one_that_a_result_names() -> None:
    result = timed(baseline="upc.kernel1?", config={"block": [4, 8, 1]})  # the baselines take square blocks alone
    assert [each.kernel for each in result.compared] == ["upc.kernel10", "upc.kernel11"]
    assert [each.faster for each in result.compared] == pytest.approx([0.5, 2.0], rel=0.02)
    document = result.to_json()
    assert document["baseline"] == "upc.kernel10"
    assert document["percent_of_baseline"] == pytest.approx(50, rel=0.02)
    assert [each["kernel"] for each in document["compared"]] == ["upc.kernel10", "upc.kernel11"]


def test_what_cannot_be_compared_has_a_reason_and_costs_no_result() -> None:
    result = timed(17, baseline="upc.kernel?0")
    assert result.verified
    assert result.kernel_seconds == pytest.approx(2e-3)
    assert [each.time for each in result.compared] == [None, None]
    assert all(str(each).startswith(f"not compared with {each.kernel}: {each.kernel}: ") for each in result.compared)
    assert "17 is not a multiple of block.x" in result.compared[0].reason
    document = result.to_json()
    assert (result.baseline, document["baseline"], document["percent_of_baseline"]) == (None, None, None)


def test_another_version_is_no_baseline(tmp_path: Path) -> None:
    result = timed(against=str(shutil.copy(kernels()[KERNEL].source, tmp_path)))
    assert [each.label for each in result.compared] == ["before"]
    document = result.to_json()
    assert (result.baseline, document["baseline"], document["percent_of_baseline"]) == (None, None, None)


def test_the_first_kernel_time_alone_is_compared() -> None:
    ways = [("end-to-end", "pinned"), ("kernel", "cold"), ("kernel", "warm")]
    timings = tuple(Timing(*way, max_seconds=0.05, min_rounds=3) for way in ways)
    result = timed(timings=timings, baseline="upc.kernel10")
    (found,) = result.compared
    assert found.time is not None
    assert str(found.time.timing) == "kernel-cold"
    assert tuple(time.timing for time in result.times) == timings


@pytest.fixture
def _timed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    site = tmp_path_factory.mktemp("site")
    install(site, "timed-device", "timed", "from tests.timed_emulator import mmcore_devices\n")
    with installed(site):
        yield


@pytest.mark.usefixtures("_timed")
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--baseline", "upc.kernel1?"), ["100.0 % of upc.kernel10", "100.0 % of upc.kernel11"]),
        (("--baseline", "none"), []),
        (("--baseline", "none", "--against", "{}"), ["100.0 % of before"]),
    ],
)
def test_a_command_says_how_fast_it_is_beside_others(tmp_path: Path, words: tuple[str, ...], said: list[str]) -> None:
    shutil.copy(kernels()[KERNEL].source, tmp_path)
    options = [word.format(tmp_path) for word in words]
    result = mmcore("run", KERNEL, "--size", "16", "--device", "timed", "--timeout", "60", *options)
    assert result.exit_code == 0, result.output
    assert re.findall(r"^(?:speed)? +(\S+ % of \S+) \(", result.stdout, re.MULTILINE) == said

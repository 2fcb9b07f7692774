"""Predicted times: what they depend on, and their error beside measured times."""

from __future__ import annotations

import statistics
from dataclasses import replace
from pathlib import Path

import pytest

import mmcore
from bench.studies.prediction.errors import busiest, errors, halves, rungs
from bench.studies.prediction.fit import COVERED
from bench.studies.prediction.rows import COUNTS, Row, evidence_from, key, rows_of
from bench.studies.study import RESULTS
from mmcore.cell import Cell
from mmcore.kernel.geometry import Dim3
from mmcore.registry import registry
from mmcore_cuda.occupancy.theoretical import occupancy
from mmcore_emulator.profiler.counters import Counters, Line
from mmcore_performance.cards import cards
from mmcore_performance.evidence import Evidence, LaunchEvidence, Traffic
from mmcore_performance.gathering import evidence_of
from mmcore_performance.prediction import Prediction, launch_seconds, parameters, predict, queued, times_as_fast
from tests.kernel_sources import kernel_sources

LINE = Line("tiled.cu", 1)


def evidence(card: str = "H200", blocks: int = 4096, fmas: int = 0, wavefronts: int = 0) -> Evidence:
    """Return the evidence of a product whose blocks have these counters in all."""
    on, kernel = cards()[card], mmcore.kernels()["hpsee.tiled"]
    launch = LaunchEvidence(
        entry="tiled",
        grid=Dim3(blocks),
        block=Dim3(256),
        occupancy=occupancy(on.capability, threads=256, registers=32, shared_bytes=0),
        lines={LINE: Counters(fmas=fmas, shared_load_wavefronts=wavefronts)},
        traffic=Traffic(0.0, 0.0),
        mix={"float": fmas / 32},
    )
    return Evidence(kernel, kernel.usual_configs[0], kernel.square_problem(1024), on, (launch,))


def predicted(card: str = "H200", blocks: int = 4096, fmas: int = 0, wavefronts: int = 0) -> Prediction:
    """Return the prediction of such evidence."""
    return predict(evidence(card, blocks, fmas, wavefronts))


def test_more_work_takes_longer_and_names_its_unit() -> None:
    few, many = predicted(fmas=1 << 30), predicted(fmas=1 << 36)
    assert few.seconds < many.seconds
    # An H200 can issue as many multiply-adds as it executes, an A100 twice as many.
    assert (many.limiter, predicted("A100", fmas=1 << 36).limiter) == ("dispatch", "fma")
    shared = predicted(fmas=1 << 30, wavefronts=1 << 34)
    assert shared.limiter == shared.busiest == "lsu"


def test_a_prediction_has_an_interval_and_at_least_the_time_of_its_limiter() -> None:
    prediction = predicted(fmas=1 << 34)
    assert prediction.low < prediction.seconds < prediction.high
    assert prediction.seconds >= prediction.units[prediction.limiter]


def test_work_on_few_blocks_takes_longer_than_on_many() -> None:
    assert predicted(blocks=8, fmas=1 << 34).seconds > 10 * predicted(blocks=1320, fmas=1 << 34).seconds


@pytest.mark.parametrize(
    ("work", "waits", "parts", "seconds"),
    [(3, 2, 1, 5), (3, 2, 1e12, 3), (2, 3, 1e12, 3), (3, 0, 4, 3), (0, 2, 4, 2), (2, 2, 4, 3)],
)
def test_one_part_waits_alone_and_many_hide_the_shorter_time(
    work: float, waits: float, parts: float, seconds: float
) -> None:
    assert queued(work, waits, parts) == pytest.approx(seconds)


RINGS, TILES = kernel_sources("rings"), kernel_sources("slow")["barriers: better"]


def source_seconds(path: Path, text: str) -> float:
    """Return the predicted time of a source file's kernel at 1024."""
    file = path / "mm.cu"
    file.write_text(text)
    kernel = registry().kernel({"file": str(file)})
    return predict(evidence_of(Cell(kernel.name, 1024, 1024, 1024), cards()["H200"], kernel)).seconds


@pytest.mark.parametrize(
    ("title", "overlapping", "waiting"),
    [("cp.async", ("2", "2"), (("0", "0"), ("2", "0"))), ("cp.async.bulk", ("3", ""), (("0", ""),))],
)
def test_a_ring_that_waits_for_what_it_has_just_begun_to_copy_is_no_faster_than_tiles(
    title: str, overlapping: tuple[str, str], waiting: tuple[tuple[str, str], ...], tmp_path: Path
) -> None:
    def seconds(ahead: str, left: str) -> float:
        return source_seconds(tmp_path, RINGS[title].replace("AHEAD", ahead).replace("LEFT", left))

    ring, tiles = seconds(*overlapping), source_seconds(tmp_path, TILES)
    for each in waiting:
        assert max(tiles, ring) < 1.01 * seconds(*each)
        assert ring < 0.99 * seconds(*each)


def test_a_block_alone_takes_the_sum_of_its_copies_and_products() -> None:
    nothing: dict[str, dict[str, float]] = {"fma": {"float": 3.0}, "latency": {}, "in_turn": {}}
    fitted = replace(parameters(), weights={"fma": {"float": 1.0}, "latency": {"copy": 1.0}})
    in_turn = {**nothing, "in_turn": {"copy": 2.0}}
    assert launch_seconds(in_turn, 1, fitted) == pytest.approx(5)
    assert launch_seconds({**nothing, "latency": {"copy": 2.0}}, 1, fitted) < 4.5
    assert launch_seconds(in_turn, 4, fitted) < 4.5


def test_idle_blocks_do_not_share_the_work() -> None:
    whole = evidence(blocks=128, fmas=1 << 34)
    idle = replace(whole, launches=(replace(whole.launches[0], working=8),))
    assert predict(idle).seconds > 10 * predict(whole).seconds


def test_cards_are_in_the_order_of_their_rates() -> None:
    times = [predicted(card, fmas=1 << 36).seconds for card in ("RTX 4090", "H200", "RTX 3090", "A100", "T4")]
    assert times == sorted(times)


@pytest.fixture(scope="module", params=["h200", "h100"])
def rows(request: pytest.FixtureRequest) -> list[Row]:
    return rows_of(RESULTS / f"nvidia-{request.param}" / "prediction.json")


def test_times_of_kernels_left_out_of_the_fit_are_near_the_measured_ones(rows: list[Row]) -> None:
    left_out = errors(halves(rows)[1])
    assert left_out.kernels > 40
    assert left_out.median <= 0.12
    assert left_out.within_two >= 0.95
    assert left_out.rank >= 0.98
    assert statistics.median(left_out.group_ranks) >= 0.9


def test_an_interval_holds_about_eight_of_ten_times_of_other_kernels(rows: list[Row]) -> None:
    assert errors(halves(rows)[1]).covered == pytest.approx(COVERED, abs=0.1)


def test_an_interval_holds_about_eight_of_ten_ratios_of_other_kernels(rows: list[Row]) -> None:
    assert errors(halves(rows)[1]).ratios_covered == pytest.approx(COVERED, abs=0.1)


def test_a_ratio_is_as_unsure_as_both_of_its_times() -> None:
    sure, unsure = (3.0, 3.0, 3.0), (2.0, 1.0, 8.0)
    assert times_as_fast(sure, unsure) == pytest.approx((1.5, 0.375, 3.0))
    assert times_as_fast(unsure, sure) == pytest.approx((2 / 3, 1 / 3, 8 / 3))
    assert times_as_fast((1.0, 0.5, 2.0), (1.0, 0.5, 2.0))[2] == pytest.approx(2**2**0.5)


def test_neighbouring_rungs_are_mostly_in_their_order() -> None:
    cards = [rungs(rows_of(RESULTS / f"nvidia-{card}" / "prediction.json")) for card in ("h200", "h100")]
    right, number = map(sum, zip(*cards, strict=True))
    assert number >= 100
    assert right / number >= 0.85


def test_the_busiest_unit_is_mostly_that_of_ncu() -> None:
    rows = rows_of(RESULTS / "nvidia-h200" / "prediction.json")
    right = [measured == unit for _, measured, unit in busiest(rows)]
    assert len(right) >= 60
    assert sum(right) / len(right) >= 0.85


def test_committed_predictions_are_those_of_the_committed_counts_and_parameters(rows: list[Row]) -> None:
    counts = {key(row): row for row in rows_of(COUNTS)}
    registered = [row for row in rows if "predicted" in row and row["kernel"].startswith(("upc.", "ladder."))]
    assert len(registered) > 50
    for row in registered:
        prediction = predict(evidence_from(counts[key(row)], row["card"]))
        assert [prediction.seconds, prediction.low, prediction.high] == pytest.approx(row["predicted"], rel=1e-3)

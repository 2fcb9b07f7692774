"""A kernel without a waste gets advice by the unit that limits it, and none that its counts contradict."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from mmcore_cuda.occupancy.theoretical import occupancy
from mmcore_emulator.profiler.counters import Counters, Line
from mmcore_performance.evidence import Evidence, Traffic
from mmcore_performance.prediction import WAITS, predict
from mmcore_performance.why import UNITS, PredictedTime, Why
from mmcore_performance.why_command import details
from mmcore_performance.without_waste import advice
from tests.performance.test_prediction import LINE, evidence


def changed(of: Evidence, **values: object) -> Evidence:
    """Return evidence whose launch has these attributes."""
    return replace(of, launches=(replace(of.launches[0], **values),))  # type: ignore[arg-type]


def test_more_blocks_are_advised_only_where_more_fit() -> None:
    few, many = (advice(evidence(blocks=blocks), WAITS) for blocks in (264, 4096))
    assert "more blocks, by smaller tiles or by k split among blocks (a multiprocessor has 2, and 8 fit)" in few
    assert "more blocks" not in many
    full = evidence().card.capability
    half = occupancy(full, threads=256, registers=64, shared_bytes=0)
    assert "more warps on a multiprocessor, which has 32 of 64" in advice(changed(evidence(), occupancy=half), WAITS)


@pytest.mark.parametrize(
    ("kind", "words"),
    [("load", "loads of the next elements"), ("copies", "one more buffer"), ("product", "larger tile")],
)
def test_the_most_frequent_waits_are_advised_about(kind: str, words: str) -> None:
    assert words in advice(changed(evidence(), waits={kind: 1e6, "alone": 1.0}), WAITS)


def test_fewer_bytes_are_advised_where_fewer_would_do() -> None:
    least = evidence().problem.compulsory_bytes
    often = changed(evidence(), traffic=Traffic(8.0 * least, 2.0 * least))
    assert advice(often, "l2").startswith("larger tiles (blocks move 8 times the bytes of A, B and C), or an order of")
    copies = Counters(bulk_loads=8, bulk_load_bytes=64, bulk_delivered_bytes=64)
    multicast = replace(copies, bulk_delivered_bytes=128)
    assert "multicast" in advice(changed(often, lines={LINE: copies}), "l2")
    assert "multicast" not in advice(changed(often, lines={LINE: multicast}), "l2")
    both = {LINE: multicast, Line("tiled.cu", 2): replace(copies, bulk_load_bytes=512, bulk_delivered_bytes=512)}
    assert "multicast" not in advice(changed(often, lines=both), "l2"), "one of two matrices is sent to several blocks"
    assert advice(changed(evidence(), traffic=Traffic(float(least), float(least))), "l2") == ""
    assert advice(often, "tensor") == ""


def test_waits_beside_a_unit_that_limits_are_advised_about_with_their_part_of_the_time() -> None:
    busy = evidence(fmas=1 << 34)
    several = advice(changed(busy, waits={"load": 1e8}), "fma")
    assert re.fullmatch(r"loads of the next elements .* on these \(waits take about \d\d % of the time\)", several)
    assert advice(changed(busy, waits={"load": 1e4}), "fma") == ""


@pytest.mark.parametrize(
    ("unit", "share", "words"),
    [
        (WAITS, None, f"the waits are the waste; it is limited by {UNITS[WAITS]}; try"),
        (
            "l2",
            0.574,
            "no waste found; it is limited by the L2 cache, of whose peak it is predicted to reach 57 %; try",
        ),
    ],
)
def test_waits_are_a_waste_and_a_unit_has_its_share_of_the_peak(unit: str, share: float | None, words: str) -> None:
    kernel = evidence().kernel
    time = PredictedTime(1.0, 0.9, 1.1, UNITS[unit], share)
    why = Why(kernel.name, "", {"m": 64, "n": 64, "k": 64}, "H200", True, time, advice="larger tiles")
    assert Why.from_json(why.to_json()) == why
    (said,) = details(why, kernel)
    assert str(said) == f"{words} larger tiles"


def test_the_share_of_a_peak_is_that_of_the_unit_that_limits() -> None:
    prediction = predict(evidence(fmas=1 << 34))
    assert prediction.share == prediction.busy[prediction.limiter] / prediction.seconds <= 1
    assert replace(prediction, limiter=WAITS).share is None

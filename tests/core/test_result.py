"""Results: their JSON, their summary in a line, and their figures."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mmcore import Dim3, MmcoreError, Result
from mmcore.cell import Cell, Timing
from mmcore.devices.violations import Violation
from mmcore.result import LaunchRecord
from mmcore.result_view import local_memory
from mmcore.timing import Time
from mmcore.verdict import missing_lines, places
from mmcore.verify.outcome import Mismatch, Verification
from mmcore_emulator.machine.violations import Violation as EmulatedViolation

RIGHT = Verification(verified=True, max_error=2e-6, mismatch=None, method="made up", wrong=0, compared=6)
COLD = Timing("kernel", "cold", max_seconds=0.5, min_rounds=2, min_round_seconds=1e-3, max_rounds=9, resolutions=20)
PINNED = Timing("end-to-end", "pinned", warmup_launches=4, precision=0.1, confidence=0.9)
CELL = Cell(
    "acme.fast", 2, 3, 5, config={"block": [8, 4, 1], "BM": 16}, device="cuda:1", timings=(COLD, PINNED),
    lda=7, ldb=11, ldc=13, seed=17, force=True, timeout=19.5,
)  # fmt: skip
#: A result without default values, and with a different value in each field.
RESULT = Result(
    CELL,
    "acme.fast",
    title="fast",
    dtype="float16",
    output="float64",
    accumulator="float32",
    operation="C=C+AB",
    config={"block": [8, 4, 1], "BM": 16, "TM": 2},
    config_id="b8x4-BM16",
    config_origin="tuned for 2×3×5 on Test GPU (your own)",
    excluded_host_code=[{"name": "main", "path": "fast.cu", "first": 9, "last": 12, "reason": "the host's"}],
    violated_constraints=("n = 3 is not a multiple of 8",),
    strided=True,
    launched=(
        LaunchRecord("fast<16>", Dim3(6, 5, 2), Dim3(8, 4), 40, 512),
        LaunchRecord("sum", Dim3(9), Dim3(64), 24, 1024, 848, 1108, 1116),
    ),
    device_description="Test GPU",
    place="node7 cuda:1",
    verification=RIGHT,
    times=(Time(COLD, (3e-6, 1e-6, 2e-6), 100, "a made-up clock"), Time(PINNED, (4e-3,), 2, "another")),
    host_seconds=0.25,
    supports_timing=True,
    peak_flops=1.2e9,
    bound_ms=5e-4,
    bound_by="memory",
    figures={"occupancy": 0.5, "kernel": 1.0},
    phases={"plan": 0.125, "verify": 3.0},
    hazards="none at 2×3×4",
    proof="proved at 2×3×4",
    warnings=("a fault at 7×7×7",),
    sizes=({"m": 7, "n": 7, "k": 7, "why": "n % 8", "right": False},),
    not_executed=({"source": "fast.cu", "line": 9, "branch": True, "loop": False},),
    not_tried="time limit",
)
WRONG = replace(
    RESULT,
    verification=replace(RIGHT, verified=False, max_error=8.0, mismatch=Mismatch(1, 2, 3.0, -5.0), wrong=4),
    violations=(
        Violation("misaligned", "it is", "A", "fast.cu", 8, Dim3(1, 2, 3), Dim3(4, 5, 6), True, 7),
        Violation("unrepeatable", "again it is wrong"),
    ),
    times=(),
)


def plain(seconds: float | None = None, **changes: Any) -> Result:
    """Return a verified result of a kernel that takes ``seconds``."""
    times = () if seconds is None else (Time(Timing(), (seconds,), 1, "made up"),)
    right = Result(Cell("acme.fast", 40, 50, 60), "acme.fast", verification=RIGHT, times=times)
    return replace(right, **changes)


def test_json_says_everything_by_these_names() -> None:
    expected = json.loads((Path(__file__).parents[1] / "data" / "result.json").read_text())
    document = json.loads(json.dumps(RESULT.to_json()))
    cell, times = document.pop("cell"), document.pop("times")
    assert document.keys() == expected.keys()
    for name, value in expected.items():
        assert document[name] == (pytest.approx(value) if isinstance(value, float) else value), name
    assert cell == json.loads(json.dumps(CELL.to_json()))
    assert [(time["timing"]["how"], time["iterations"]) for time in times] == [("cold", 100), ("pinned", 2)]


def test_json_of_a_wrong_product_has_what_is_wrong_and_no_times() -> None:
    document = WRONG.to_json()
    assert (document["verified"], document["wrong_elements"], document["max_error"]) == (False, 4, 8.0)
    assert (document["first_mismatch"]["row"], document["first_mismatch"]["column"]) == (1, 2)
    place = {"array": "A", "source": "fast.cu", "line": 8, "block": [1, 2, 3], "thread": [4, 5, 6]}
    place["column"], more = None, {"callers": [], "hint": ""}
    misaligned, unrepeatable = document["violations"]
    assert misaligned == {"kind": "misaligned", "message": "it is", **place, "fatal": True, "count": 7, **more}
    assert unrepeatable == {
        "kind": "unrepeatable",
        "message": "again it is wrong",
        "fatal": False,
        "count": None,
        **dict.fromkeys(place),
        **more,
    }
    names = ("kernel_ms", "end_to_end_ms", "kernel_gflops", "median_ms", "spread_percent", "gflops", "percent_of_peak")
    assert {name: document[name] for name in names} == dict.fromkeys(names)
    assert (document["measure"], document["caches"]) == ("kernel", "cold")


def test_local_memory_in_words() -> None:
    unknown, summing = RESULT.launched
    assert local_memory([unknown]) == local_memory([]) == ""
    text = "848 bytes per thread; spilled: 1108 bytes stored, 1116 loaded"
    assert local_memory([summing, summing]) == text
    assert local_memory(RESULT.launched) == f"unknown, then {text}"


def test_json_of_a_cell_that_was_not_launched_has_nothing_of_launches() -> None:
    timeout = Violation("timeout", "it had not ended", fatal=True)
    document = Result(Cell("acme.fast", 2, 3, 5), "acme.fast", violations=(timeout,), host_seconds=0.25).to_json()
    assert (document["launches"], document["registers"], document["shared_bytes"]) == (0, 0, 0)
    assert document["block"] is document["grid"] is document["verification"] is document["max_error"] is None
    flags = {name: document[name] for name in ("verified", "timed_out", "forced", "strided", "supports_timing")}
    assert flags == {**dict.fromkeys(flags, False), "timed_out": True}
    assert (document["emulation_ms"], document["measure"]) == (250.0, "kernel")
    assert document["caches"] is document["memory"] is None
    assert Result(Cell("acme.fast", 2, 3, 5), "acme.fast").host_seconds == 0


@pytest.mark.parametrize("result", [RESULT, WRONG], ids=["right", "wrong"])
def test_nothing_of_a_result_is_lost_in_json(result: Result) -> None:
    assert Result.from_json(json.loads(json.dumps(result.to_json(), allow_nan=False))) == result
    with pytest.raises(MmcoreError, match="of version 1; this mmcore reads version 2"):
        Result.from_json({**result.to_json(), "schema": 1})


@pytest.mark.parametrize(
    ("rounds", "seconds", "spread"),
    [
        ((2.0,), 2.0, 0.0),
        ((1.0, 3.0), 2.0, 0.5),
        ((5.0, 1.0, 2.0, 4.0, 3.0), 3.0, 2 / 3),
        ((90.0, 1.0, 2.0), 2.0, 22.25),
    ],
)
def test_a_time_is_a_median_with_a_spread(rounds: tuple[float, ...], seconds: float, spread: float) -> None:
    time = Time(Timing(), rounds, 1, "made up")
    assert time.seconds == seconds
    assert time.spread == pytest.approx(spread)


@pytest.mark.parametrize(
    ("result", "line"),
    [
        (plain(), "acme.fast 40×50×60 on auto: verified"),
        (plain(2e-3), "acme.fast 40×50×60 on auto: verified, 2.0000 ms, 0 GFLOP/s"),
        (
            plain(1e-7, config={"block": [8, 4, 1]}),
            "acme.fast 40×50×60 in 8×4 blocks on auto: verified, 0.0001 ms, 2400 GFLOP/s",
        ),
        (plain(verification=None), "acme.fast 40×50×60 on auto: NOT verified"),
        (plain(violations=(Violation("timeout", "late"),)), "acme.fast 40×50×60 on auto: not finished"),
        (plain(violations=(Violation("misaligned", "it is"),)), "acme.fast 40×50×60 on auto: NOT verified"),
    ],
)
def test_a_result_in_one_line(result: Result, line: str) -> None:
    assert str(result) == line
    assert repr(result) == f"<Result: {line}>"


def test_a_notebook_shows_the_line_and_what_is_wrong_and_no_html_of_a_files() -> None:
    wrong = plain(violations=(Violation("out-of-bounds-read", "f<8> reads A & more"),))._repr_html_()
    assert "TEST FAIL</b> acme.fast 40×50×60 on auto</div>" in wrong
    assert ">out-of-bounds-read: f&lt;8&gt; reads A &amp; more</div>" in wrong
    shown = Result(Cell({"file": "a<b>.cu"}, 1, 2, 3, device="<i>"), "a<b>.cu")._repr_html_()
    assert "TEST FAIL</b> a&lt;b&gt;.cu 1×2×3 on &lt;i&gt;</div>" in shown


def test_a_right_product_with_a_violation_or_a_wrong_one_without_is_not_verified() -> None:
    assert RESULT.verified
    assert not replace(RESULT, verification=WRONG.verification).verified
    assert not replace(RESULT, violations=WRONG.violations).verified


KNOWN: dict[str, Any] = {"source": "x.cu", "line": 9}
SENTENCES: list[tuple[str, str, dict[str, Any], str]] = [
    ("misaligned", "it is", {}, "misaligned: it is"),
    ("misaligned", "it is", {"source": "x.cu"}, "misaligned: it is"),
    ("misaligned", "it is", {"line": 9}, "misaligned: it is"),
    (
        "out-of-bounds-read",
        "a thread reads the first byte past the end of A",
        KNOWN,
        "out-of-bounds-read at x.cu:9: a thread reads the first byte past the end of A",
    ),
    (
        "deadlock",
        "a thread waits at barrier 1; on a GPU the launch would not end",
        KNOWN,
        "deadlock at x.cu:9: a thread waits at barrier 1; on a GPU the launch would not end",
    ),
    (
        "uninitialized-read",
        "a thread reads element 0 of C, where nothing has been written: its value may be anything",
        KNOWN,
        "uninitialized-read at x.cu:9: "
        "a thread reads element 0 of C, where nothing has been written: its value may be anything",
    ),
    (
        "unfinished-copy",
        "a thread writes a, into which a copy may still be copying (at x.cu:9)",
        {**KNOWN, "callers": (("x.cu", 20), ("x.cu", 30)), "hint": "__syncthreads() before line 9"},
        "unfinished-copy at x.cu:9, called at x.cu:20, called at x.cu:30: a thread writes a, "
        "into which a copy may still be copying (at x.cu:9); try __syncthreads() before line 9",
    ),
]


@pytest.mark.parametrize("violation", [Violation, EmulatedViolation])
@pytest.mark.parametrize(("kind", "message", "known", "sentence"), SENTENCES)
def test_a_violations_place_follows_its_kind(
    violation: type[Violation | EmulatedViolation], kind: str, message: str, known: dict[str, Any], sentence: str
) -> None:
    assert str(violation(kind, message, **known)) == sentence


def test_the_first_time_is_the_measure_and_the_first_of_a_kind_is_named() -> None:
    document = replace(RESULT, cell=replace(CELL, timings=(PINNED, COLD)), times=RESULT.times[::-1]).to_json()
    assert (document["measure"], document["median_ms"]) == ("end-to-end", pytest.approx(4.0))
    assert (document["kernel_ms"], document["end_to_end_ms"]) == (pytest.approx(2e-3), pytest.approx(4.0))
    assert (document["caches"], document["memory"], document["clock"]) == ("cold", "pinned", "another")
    warm, pageable = Timing("kernel", "warm"), Timing("end-to-end", "pageable")
    timings = (COLD, PINNED, warm, pageable)
    times = tuple(Time(timing, (1e-3 * number,), 1, "made up") for number, timing in enumerate(timings, start=1))
    result = replace(RESULT, cell=replace(CELL, timings=timings), times=times)
    document = result.to_json()
    assert (document["caches"], document["memory"]) == ("cold", "pinned")
    assert (result.kernel_seconds, result.end_to_end_seconds) == (1e-3, 2e-3)
    assert (document["kernel_ms"], document["end_to_end_ms"], document["median_ms"]) == pytest.approx((1, 2, 1))


def test_a_result_may_lack_what_brought_it_and_a_launch_may_say_more() -> None:
    document = RESULT.to_json()
    del document["distributions"]
    document["launched"][0]["cluster"] = [2, 1, 1]
    assert Result.from_json(document) == RESULT
    named = replace(RESULT, distributions={"kernel": "acme 1.0", "device": "mmcore-cuda 0.2"})
    assert Result.from_json(named.to_json()).distributions == named.distributions


@pytest.mark.parametrize(
    ("name", "values", "message"),
    [
        ("config", [1], "the result's config must be an object, not '[1]'"),
        ("config", {"TILE": {}}, "the result's config cannot have the value '{}' of 'TILE'"),
        ("figures", "much", "the result's figures must be an object, not 'much'"),
        ("figures", {"occupancy": "1"}, "the result's figures cannot have the value '1' of 'occupancy'"),
        ("phases", {"compiling": True}, "the result's phases cannot have the value 'True' of 'compiling'"),
    ],
)
def test_values_of_the_wrong_type_are_refused(name: str, values: object, message: str) -> None:
    with pytest.raises(MmcoreError) as refused:
        Result.from_json({**RESULT.to_json(), name: values})
    assert str(refused.value) == message


def test_of_several_launches_the_most_that_one_takes_counts() -> None:
    for launched in (RESULT.launched, RESULT.launched[::-1]):
        result = replace(RESULT, launched=launched)
        assert (result.registers, result.shared_bytes) == (40, 1024)
        document = result.to_json()
        assert (document["registers"], document["shared_bytes"]) == (40, 1024)
        assert (document["block"], document["grid"]) == (list(launched[0].block), list(launched[0].grid))


def test_a_rate_is_part_of_a_known_peak_and_only_a_device_without_timing_has_the_time_of_an_emulation() -> None:
    assert replace(RESULT, peak_flops=None).to_json()["percent_of_peak"] is None
    emulated = [replace(WRONG, supports_timing=timing).to_json()["emulation_ms"] for timing in (True, False)]
    assert emulated == [None, 250.0]


@pytest.mark.parametrize("result", [RESULT, WRONG, Result(cell=RESULT.cell, kernel="acme.fast")])
def test_every_key_of_the_json_is_an_attribute(result: Result) -> None:
    document = result.to_json()
    for name, value in document.items():
        attribute = getattr(result, name)
        if isinstance(value, str | float | int | bool) and name not in ("verification", "baseline"):
            assert attribute == value, name
        assert value is None or attribute is not None, name
    with pytest.raises(AttributeError, match="a result has no attribute 'gigaflops'"):
        _ = result.gigaflops  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("lines", "text"),
    [
        ([], ""),
        ([9], "line 9 (own.cu)"),
        ([3, 4, 8], "lines 3, 4 and 8 (own.cu)"),
        ([22, 13, 15, 16, 17], "lines 13, 15 to 17 and 22 (own.cu)"),
        ([1, 3, 5, 7, 9, 11], "lines 1, 3, 5, 7 and 2 more (own.cu)"),
    ],
)
def test_lines_that_no_size_executes_are_ranges(lines: list[int], text: str) -> None:
    missing = [{"source": "own.cu", "line": line, "branch": False, "loop": False} for line in lines]
    branch = {"source": "own.cu", "line": 2, "branch": True, "loop": False}
    assert missing_lines([branch, *missing]) == text


def test_places_name_lines_branches_and_loops() -> None:
    missing = [{"line": 3, "branch": False}, {"line": 4, "branch": True}, {"line": 5, "branch": True, "loop": True}]
    assert places(missing) == "line 3, the other branch of line 4, another turn of the loop in line 5"


@pytest.mark.parametrize(("kind", "shown"), [("out-of-bounds-read", False), ("shared-race", True)])
def test_an_access_out_of_bounds_explains_what_wrong_elements_have_in_common(kind: str, shown: bool) -> None:
    reduced = "element (0, 1) has one term that is not 0, A(0, 2) · B(2, 1) = 1 · 1, and C contains nan"
    wrong = replace(RIGHT, verified=False, mismatch=Mismatch(0, 1, 1.0, 2.0), wrong=1, reduced=reduced)
    result = replace(RESULT, verification=wrong, violations=(Violation(kind, "thread (0, 1) reads"),))
    assert (reduced in result.failures()) == shown

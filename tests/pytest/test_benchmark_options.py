"""Cells that the --mm- options select, and messages about options that make no sense."""

from __future__ import annotations

import csv
import itertools
import re
import shutil
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest_benchmark.storage.file import FileStorage

from mmcore import Dim3, Kernel, Launch, Result, Space
from mmcore.baseline_comparison import BaselineComparison
from mmcore.cell import LIBRARY, Timing
from mmcore.cli.output import rendered
from mmcore.devices.violations import Violation
from mmcore.errors import InvalidProblem, MmcoreError
from mmcore.kernel.sizes import Sizes
from mmcore.messages import quoted
from mmcore.plugin_table import Origin, Registered
from mmcore.registry import registry
from mmcore.result import LaunchRecord
from mmcore.timing import Time
from mmcore.verify.outcome import Verification
from mmcore_engines.file_locks import Holder, LockFailed
from mmcore_pytest.benchmark_internals import save, without_counterpart
from mmcore_pytest.collection import Collection, find_benchmarks
from mmcore_pytest.fixture import DeviceClock, _what_is_wrong, options_of
from mmcore_pytest.options import Selection
from mmcore_pytest.report import Measured, by_group, line, percent_of_best, tables, time_spent, write_csv
from mmcore_pytest.session import Session
from mmcore_pytest.sizes import parse_sizes
from tests.tables import cases, section_of

USUAL = Selection(
    (), (), (), (), False, (), "auto", ("kernel",), ("pageable",), ("warm",), 60, "", "", "usual", "", "", False, False
)


def select(*, supports_timing: bool = True, **wanted: Any) -> Collection:
    return find_benchmarks(Selection(**{**vars(USUAL), **wanted}), registry(), supports_timing=supports_timing)


def ids(**wanted: Any) -> list[str]:
    return [each.id for each in select(**wanted).benchmarks]


def test_without_options_the_usual_is_measured(pytester: pytest.Pytester) -> None:
    assert Selection.of(pytester.parseconfig()) == replace(USUAL, baseline=LIBRARY)
    assert section_of(__file__, "options").keys() == vars(USUAL).keys()


@pytest.mark.parametrize(("name", "option"), section_of(__file__, "options").items())
def test_an_option_is_in_the_selection(pytester: pytest.Pytester, name: str, option: Any) -> None:
    words, value = option
    assert getattr(Selection.of(pytester.parseconfig(*words)), name) == value


def test_no_baseline_is_called_none(pytester: pytest.Pytester) -> None:
    assert Selection.of(pytester.parseconfig("--mm-baseline=none")).baseline == ""


@pytest.mark.parametrize(
    ("text", "reason"), [("upc.*,", "'upc.*,' has nothing between two commas"), ("", "it is empty")]
)
def test_a_list_has_no_empty_word(pytester: pytest.Pytester, text: str, reason: str) -> None:
    with pytest.raises(pytest.UsageError, match=f"argument --mm-kernel: {re.escape(reason)}"):
        pytester.parseconfig(f"--mm-kernel={text}")


def test_the_selection_is_in_every_cell(tmp_path: Path) -> None:
    shutil.copy(registry().kernel("upc.kernel01").source, tmp_path)
    wanted = replace(USUAL, timeout=2.5, baseline="upc.*", against=str(tmp_path), inputs="wide")
    session = Session(begin_config({}))
    vars(session).update(selection=wanted, device="timed:0")
    benchmark = next(iter(select(kernels=("upc.kernel01",), inputs="wide").benchmarks))
    cell = session.begin("test_bench.py::test_one", benchmark, {"min_rounds": 77}, None).cell
    assert (cell.timeout, cell.baseline, cell.inputs) == (2.5, "upc.*", "wide")
    assert cell.against == str(tmp_path / "kernel01.cu")
    assert cell.timings[0].min_rounds == 77
    assert benchmark.id.endswith("-wide")
    assert benchmark.group.endswith(", kernel time, warm L2, wide inputs")


@cases(__file__, "sizes", "text, sizes")
def test_sizes_are_read(text: str, sizes: tuple[tuple[int, int, int], ...]) -> None:
    assert parse_sizes(text) == sizes


@cases(__file__, "no_sizes", "text, reason")
def test_a_text_that_is_no_size_is_refused(text: str, reason: str) -> None:
    with pytest.raises(InvalidProblem) as refusal:
        parse_sizes(text)
    assert str(refusal.value) == reason


def test_the_most_sizes_and_the_longest_text() -> None:
    assert len(parse_sizes("2:20001:2")) == 10_000
    with pytest.raises(InvalidProblem, match=f"^{re.escape(quoted('9' * 5000))} is not a whole number from 1 to "):
        parse_sizes("9" * 5000)


@given(st.integers(1, 5000), st.integers(0, 300), st.integers(1, 40))
def test_a_range_holds_its_start_and_no_more_than_its_stop(start: int, steps: int, step: int) -> None:
    stop = start + steps * step
    sizes = [sizes.n for sizes in parse_sizes(f"{start}:{stop}:{step}")]
    assert sizes[0] == start
    assert sizes[-1] == stop
    assert len(sizes) == steps + 1


@given(st.text(max_size=20))
def test_any_text_is_sizes_or_refused(text: str) -> None:
    try:
        sizes = parse_sizes(text)
    except InvalidProblem:
        return
    assert all(size > 0 for each in sizes for size in each)


def test_ids_name_kernel_problem_config_and_way_of_measuring() -> None:
    found = ids(kernels=("upc.kernel11",), sizes=(Sizes(640, 640, 640), Sizes(5, 6, 7)))
    assert {*found} == {f"upc.kernel11-{size}-b{block}" for block in (8, 16, 32) for size in ("640x640x640", "5x6x7")}
    wanted: dict[str, Any] = {
        "kernels": ("upc.kernel11",),
        "sizes": (Sizes(64, 64, 64),),
        "blocks": ("16", "32x8", "64x1x1"),
        "measures": ("kernel", "end-to-end"),
        "memories": ("pageable", "pinned"),
        "caches": ("warm", "cold"),
    }
    assert ids(**wanted) == [
        f"upc.kernel11-64x64x64-b16{way}" for way in ("", "-cold", "-end-to-end-pageable", "-end-to-end-pinned")
    ]
    refused = [each.split(":")[0] for each in select(**wanted).refused]
    assert refused == [
        f"upc.kernel11 64×64×64 with block={block}, TILE={tile}" for block, tile in (("32x8", 32), ("64x1", 64))
    ]


@pytest.mark.parametrize("supports_timing", [True, False])
def test_every_kernel_without_known_bugs_has_a_cell_for_each_of_its_configs_by_default(supports_timing: bool) -> None:
    found = select(supports_timing=supports_timing)
    kernels = {name: each.item for name, each in registry().kernels.items() if not each.item.variant_of}
    assert set(found.buggy) == {name for name, kernel in kernels.items() if kernel.known_bugs}
    assert not found.refused
    largest = max(each.problem.n for each in found.benchmarks)
    assert largest > 1000 if supports_timing else largest < 260
    assert {(each.kernel.name, each.config) for each in found.benchmarks} == {
        (name, config) for name, kernel in kernels.items() if name not in found.buggy for config in kernel.usual_configs
    }


def test_a_variant_with_known_bugs_is_measured_when_it_is_named() -> None:
    buggy = "upc.kernel11_naive_guard"
    assert not any(buggy in each for each in ids(kernels=("upc.*",)))
    assert ids(kernels=(buggy,), blocks=("32",), sizes=(Sizes(64, 64, 64),)) == [f"{buggy}-64x64x64-b32"]


def test_sizes_that_a_constraint_forbids_are_listed_with_its_reason() -> None:
    found = select(kernels=("poznan.v3", "upc.kernel01"), blocks=("16",), sizes=(Sizes(65, 65, 65),))
    assert [each.id for each in found.benchmarks] == ["upc.kernel01-65x65x65-b16"]
    assert found.refused == ["poznan.v3 65×65×65 with block=16x16: n = 65 is not a multiple of block.x = 16"]


def test_a_devices_limits_refuse_no_cell_beforehand() -> None:
    found = select(kernels=("unsa.tiled",), blocks=("50",), sizes=(Sizes(500, 500, 500),))
    assert len(found.benchmarks) == 1
    assert not found.refused


@pytest.fixture
def tiled(monkeypatch: pytest.MonkeyPatch) -> str:
    """Register a kernel with a space of configs and one usual config, and return its name."""
    kernel = Kernel(
        name="acme.tiled",
        configs=Space(
            {"BM": (32, 64), "BN": (32, 64), "block": lambda config: (config.BM * config.BN // 16,)},
            where=lambda config: config.BM * config.BN < 4096,
            default=[{"BM": 64, "BN": 32}],
        ),
        launch=lambda problem, config, device: Launch(grid=(1,), block=config.block),
        arguments=("A", "B", "C"),
        entry="f",
    )
    monkeypatch.setitem(registry().kernels, kernel.name, Registered(kernel, Origin("acme", "acme")))
    return kernel.name


def test_configs_are_chosen_by_their_parameters(tiled: str) -> None:
    wanted: dict[str, Any] = {"kernels": (tiled,), "sizes": (Sizes(64, 64, 64),)}
    assert ids(**wanted) == ["acme.tiled-64x64x64-BM64-BN32"]
    assert ids(**wanted, configs=({"BM": 32},)) == ["acme.tiled-64x64x64-BM32-BN32"]
    assert ids(**wanted, all_configs=True) == [
        f"acme.tiled-64x64x64-BM{m}-BN{n}" for m, n in ((64, 32), (32, 32), (32, 64))
    ]
    assert ids(**wanted, all_configs=True, configs=({"BN": 64},)) == ["acme.tiled-64x64x64-BM32-BN64"]
    with pytest.raises(MmcoreError, match=r"acme\.tiled: there is no parameter 'BK'; there are block, BM, BN"):
        select(**wanted, configs=({"BK": 8},))
    assert ids(kernels=("acme.*", "upc.kernel0*"), configs=({"BM": 64},)) == [
        "acme.tiled-640x640x640-BM64-BN32",
        "acme.tiled-1024x1024x1024-BM64-BN32",
    ]


def test_kernels_are_chosen_by_type() -> None:
    found = select(dtypes=("float64",))
    kernels = {"lezione9.kernel1", "lezione9.kernel2", "mmcore.kernel1_columns", "mmcore.kernel2_columns"}
    kernels |= {"ladder.f64.01_tiles", "ladder.f64.02_dmma", "ladder.f64.03_ring", "ladder.f64.04_int8"}
    kernels |= {"ladder.i8.02_slices", "ladder.i8.03_residues"}
    libraries = {
        "cublas.float64",
        "cublas.float64_heuristic",
        "cublas.float64_emulated",
        "gemmul8.float64",
        "torch.float64",
    }
    assert {each.kernel.name for each in found.benchmarks} == kernels | libraries


@pytest.mark.parametrize(
    ("wanted", "reason"),
    [
        ({"kernels": ("upc.kernel12",)}, "there is no kernel 'upc.kernel12'; did you mean "),
        ({"kernels": ("acme.*",)}, "no kernel's name matches 'acme.*'; mmcore list-kernels shows what there is; "),
        ({"kernels": ("upc.*",), "dtypes": ("float64",)}, "none of the selected kernels takes float64"),
    ],
)
def test_a_selection_of_nothing_is_refused(wanted: dict[str, Any], reason: str) -> None:
    with pytest.raises(MmcoreError) as error:
        select(**wanted)
    assert str(error.value).startswith(reason)


@pytest.mark.parametrize("wanted", [{"measures": ("end-to-end",)}, {"caches": ("cold",)}])
def test_a_device_without_timing_measures_neither_copies_nor_caches(wanted: dict[str, Any]) -> None:
    with pytest.raises(MmcoreError, match="supports no timing, so it has neither"):
        select(supports_timing=False, **wanted)


def test_kernels_that_are_left_out_for_their_bugs_are_not_nothing() -> None:
    found = select(kernels=("upc.kernel11_n*",), dtypes=("float32",))
    assert (found.buggy, list(found.benchmarks)) == (["upc.kernel11_naive_guard"], [])
    with pytest.raises(MmcoreError, match="none of the selected kernels takes float64 or float16"):
        select(kernels=("upc.kernel11_n*",), dtypes=("float64", "float16"))


def test_the_usual_sizes_are_those_that_the_config_allows() -> None:
    found = select(kernels=("poznan.v3",), blocks=("22", "16")).benchmarks
    assert [(each.config.block.x, each.problem.n) for each in found] == [(22, 660), (22, 1034), (16, 640), (16, 1024)]


# How long a cell is timed


USUALLY = {"max_time": 0.7, "min_rounds": 2}


def timing(usual: Mapping[str, float] = USUALLY, way: tuple[str, str] = ("kernel", "warm"), **marker: Any) -> Timing:
    """Return the timing that pytest-benchmark's options and a test's mark ask for."""
    options = {
        "max_time": "2.0", "min_rounds": 6, "min_time": "0.001", "warmup": False, "warmup_iterations": 100,
        "calibration_precision": 20, "precision": None, "confidence": None,
    }  # fmt: skip
    config: Any = SimpleNamespace(getoption=lambda name, default: options.get(name.removeprefix("benchmark_"), default))
    return options_of(config, marker, Timing(*way), usual)


def test_a_cell_is_timed_as_pytest_benchmarks_options_say() -> None:
    timed = timing({})
    assert timed == Timing("kernel", "warm", 2.0, min_rounds=6, min_round_seconds=0.001, resolutions=20)
    assert timing({"max_time": 0.7}) == replace(timed, max_seconds=0.7)
    assert timing({"min_rounds": 2}) == replace(timed, min_rounds=2)


def test_rounds_end_early_within_mmcores_own_limits_alone() -> None:
    pinned = timing(USUALLY, ("end-to-end", "pinned"))
    assert (pinned.what, pinned.how, pinned.max_seconds, pinned.min_rounds) == ("end-to-end", "pinned", 0.7, 2)
    assert [pinned.median_precision, pinned.min_seconds] == pytest.approx([0.005, 0.1])
    for marker in ({"max_time": 0.7}, {"min_rounds": 2}, {"precision": 0.01}):
        assert timing(USUALLY, **marker).median_precision == timing({}).median_precision == 0


@pytest.mark.parametrize(("name", "mark"), section_of(__file__, "marks").items())
def test_a_tests_mark_wins_over_the_options(name: str, mark: Any) -> None:
    value, attribute, expected = mark
    assert timing({}, **{name: value}) == replace(timing({}), **{attribute: expected})
    assert getattr(timing(USUALLY, **{name: value}), attribute) == expected


def test_cold_launches_take_a_tenth_of_the_time_unless_the_mark_says_how_long() -> None:
    cold = ("kernel", "cold")
    assert timing(USUALLY, cold).max_seconds == pytest.approx(0.07)
    assert timing(USUALLY, cold).min_seconds == pytest.approx(0.01)
    assert timing({}, cold).max_seconds == pytest.approx(0.2)
    for usual in (USUALLY, {}):
        assert timing(usual, cold, max_time=3.0).max_seconds == 3.0


def begin_config(words: dict[str, list[str]]) -> Any:
    """Return a configuration of pytest for a session."""
    options = {"benchmark_max_time": "2.0", "benchmark_min_rounds": 5, "benchmark_min_time": "0.1"}
    options |= {"benchmark_calibration_precision": 10}
    return SimpleNamespace(
        invocation_params=SimpleNamespace(args=words.get("args", [])),
        getini=lambda name: words.get(name, []),
        getoption=lambda name, default: options.get(name, default),
    )


@pytest.mark.parametrize("where", ["args", "addopts", "PYTEST_ADDOPTS", ""])
def test_the_usual_time_is_the_default(monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    words = {name: ["-x", "--benchmark-max-time=2.0"] if name == where else ["-x"] for name in ("args", "addopts")}
    monkeypatch.setenv("PYTEST_ADDOPTS", "-v --benchmark-max-time=2.0" if where == "PYTEST_ADDOPTS" else "-v")
    session = Session(begin_config(words))
    vars(session).update(selection=USUAL, device="timed:0")
    benchmark = next(iter(select(kernels=("upc.kernel01",)).benchmarks))
    begun = session.begin("test_bench.py::test_one", benchmark, {}, None)
    assert begun.cell.timings[0].max_seconds == (2.0 if where else 0.7)
    assert (begun.cell.timings[0].min_rounds, begun.cell.timings[0].median_precision > 0) == (2, not where)
    assert (begun.cell.device, begun.cell.timeout, begun.cell.kernel) == ("timed:0", 60, "upc.kernel01")
    tests = ("test_bench.py::test_one", "test_bench.py::test_two", "test_more.py::test_one")
    prefixes = [session.begin(test, benchmark, {}, None).prefix for test in tests]
    assert prefixes == ["[1/0]", "[2/0]", "\n[3/0]"]


def test_a_clock_advances_by_each_round_and_restarts() -> None:
    clock = DeviceClock()
    for rounds in ((1.0, 2.5), (0.25,)):
        clock.replay(rounds)
        read = [(clock(), clock()) for _ in range(3)]
        assert [end - begin for begin, end in read] == [*rounds, 0.0, 0.0][:3]
        assert read[0][0] == 0.0
        assert all(end == begin for (_, end), (begin, _) in itertools.pairwise(read))
    clock.replay((7.0,))
    clock()  # a round that was begun, and never ended
    clock.replay((1.0,))
    assert (clock(), clock()) == (0.0, 1.0)


# Output


def done(name: str, n: int, *, times: tuple[float, ...] = (), compared: int | None = None, **more: Any) -> Measured:
    """Return a measured cell of a registered kernel, with made-up times."""
    (benchmark, *_) = select(kernels=(name,), sizes=(Sizes(n, n, n),)).benchmarks
    verification = Verification(True, 0.0, None, "made up", 0, n * n if compared is None else compared)
    measured = tuple(Time(Timing(), (seconds,), 1, "made up") for seconds in times)
    launched = more.pop("launched", (LaunchRecord("f", Dim3(1), benchmark.config.block, 8, 0),))
    cell = benchmark.cell("timed:0", Timing(), timeout=60)
    more["compared"] = more.pop("compared_with", ())
    result = Result(cell, name, verification=verification, times=measured, launched=launched, **more)
    return benchmark, result


def test_results_are_sorted_by_size_and_speed_and_compared_with_the_fastest() -> None:
    results = [
        done("upc.kernel01", 128, times=(4e-3,)),
        done("upc.kernel00", 128, times=(1e-3,)),
        done("upc.kernel01", 64, times=(2e-3,)),
    ]
    groups = list(by_group(results).values())
    assert [[result.kernel for _, result in members] for members in groups] == [
        ["upc.kernel01"],
        ["upc.kernel00", "upc.kernel01"],
    ]
    percents = percent_of_best(results)
    assert [percents[benchmark.id] for benchmark, _ in results] == [25.0, 100.0, 100.0]
    assert list(percent_of_best([done("upc.kernel01", 32)]).values()) == [None]


def test_the_table_says_which_products_were_sampled_and_what_block_was_launched() -> None:
    results = [
        done("upc.kernel00", 64, compared=32 * 64),
        done("upc.kernel01", 64),
        done("hpsee.simple", 64, launched=(LaunchRecord("f", Dim3(1), Dim3(8, 4), 8, 0),)),
    ]
    rows = rendered(*tables(results), terminal=False).splitlines()
    ends = {row.split()[0]: row.split()[1:] for row in rows[-3:]}
    assert ends["upc.kernel00"][-1] == "sampled"
    assert ends["upc.kernel01"][-1] == "all"
    assert " ".join(ends["hpsee.simple"]).endswith("(8×4 launched) all")


def beside(kernel: str, seconds: float, faster: float, **changes: Any) -> BaselineComparison:
    return BaselineComparison(
        kernel, kernel, Time(Timing(), (seconds,), 1, "made up"), "", faster, (faster, faster), **changes
    )


def test_the_table_and_the_csv_have_the_fastest_baseline(tmp_path: Path) -> None:
    with_two = (beside("acme.slow", 4e-3, 2.0), beside("acme.fast", 1e-3, 0.5))
    results = [
        done(
            "upc.kernel01", 64, times=(2e-3,), compared_with=with_two, peak_flops=1e12, bound_ms=0.5, bound_by="memory"
        ),
        done("upc.kernel00", 64, times=(4e-3,)),
    ]
    _, title, above, heading, *rows = rendered(*tables(results), terminal=False).splitlines()
    assert "at least" not in title  # the bounds differ
    assert above.split() == ["median,", "speed", "of", "of"]
    assert heading.split() == ["kernel", "config", "µs", "spread", "GFLOP/s", "of", "light", "best", "acme.fast"]
    assert re.split(" +(?!%)", rows[0].rstrip()) == [
        *("upc.kernel01", "b32", "2000.00", "0.00 %", "0.262", "25.0 %", "100.0 %", "50.0 %")
    ]
    assert re.split(" +(?!%)", rows[1].rstrip()) == [*("upc.kernel00", "b32", "4000.00", "0.00 %", "0.131", "50.0 %")]
    write_csv(tmp_path / "out.csv", results)
    first, second = csv.DictReader((tmp_path / "out.csv").read_text(encoding="utf-8").splitlines())
    assert (first["baseline"], first["percent_of_baseline"], first["percent_of_best"]) == ("acme.fast", "50.0", "100.0")
    assert (second["baseline"], second["percent_of_baseline"], second["percent_of_best"]) == ("", "", "50.0")
    assert float(first["percent_of_peak"]) == pytest.approx(0.0262144)
    assert (first["speed_of_light"], first["bound_ms"], first["bound_by"]) == ("0.25", "0.5", "memory")
    assert (second["speed_of_light"], second["bound_ms"], second["bound_by"]) == ("", "", "")
    title = rendered(*tables(results[:1]), terminal=False).splitlines()[1]
    assert "(memory traffic takes 500 µs at least): verified" in title


def test_a_line_names_the_baseline_that_was_measured() -> None:
    with_two = (beside("acme.fast", 1e-3, 0.5), BaselineComparison("acme.lost", "", reason="it is lost"))
    _, result = done("upc.kernel01", 64, times=(2e-3,), compared_with=with_two)
    assert line(result) == ("verified, 2000.00 µs ±0.00 %, 0.262 GFLOP/s, 50.0 % of acme.fast (50.0–50.0 %)")


def test_the_time_of_a_run_is_split_by_phase() -> None:
    def used(duration: float, **phases: float) -> Any:
        return SimpleNamespace(duration=duration, result=SimpleNamespace(phases=phases, place="") if phases else None)

    interrupted = used(0.0, compile=2.0, plan=0.5)
    cells = [used(10.0, compile=1.0, verify=2.0, time=3.0, plan=1.0, hazards=0.5), used(1.5), interrupted]
    assert time_spent(cells, 0) == (
        "3 cells in 14.0 s: compiling 3.0 s, verifying 2.0 s, timing 3.0 s, looking for hazards 0.5 s, "
        "everything else 5.5 s (at most 3500 ms in a cell)"
    )
    overlapping = [used(1.0, verify=2.0, hazards=0.5), used(3.0, verify=1.0, hazards=1.0)]
    assert time_spent(overlapping, 0) == (
        "2 cells in 4.0 s in several processes: compiling 0.0 s, verifying 3.0 s, timing 0.0 s, "
        "looking for hazards 1.5 s"
    )
    assert time_spent(cells[1:2], 1).startswith("1 cell, 1 of them not measured, in 1.5 s: compiling 0.0 s")


@pytest.mark.parametrize(
    ("compared", "alone"),
    [({}, []), ({"0001": {"a": 1}}, ["b"]), ({"0001": {"a": 1}, "0002": {"b": 1}}, []), ({"0001": {}}, ["a", "b"])],
)
def test_a_test_has_a_counterpart_in_any_of_the_runs_compared_with(compared: dict[str, Any], alone: list[str]) -> None:
    plugin = SimpleNamespace(compared_mapping=compared)
    config: Any = SimpleNamespace(pluginmanager=SimpleNamespace(get_plugin=lambda name: plugin))
    assert without_counterpart(config, ["a", "b"]) == alone


# A run and its device

STORAGE: Any = FileStorage


@pytest.mark.parametrize(
    ("changes", "saves"),
    [
        ({}, True),
        ({"save": "mine"}, False),
        ({"autosave": "0001"}, False),
        ({"storage": STORAGE("/dev/null", logger=None, default_machine_id="here")}, False),
        ({"storage": STORAGE(tempfile.gettempdir(), logger=None, default_machine_id="here")}, True),
    ],
)
def test_a_run_is_saved_unless_the_options_say_otherwise(changes: dict[str, Any], saves: bool) -> None:
    handled: list[tuple[Any, Any]] = []
    plugin = SimpleNamespace(**{"save": None, "autosave": None, "json": "out.json", "storage": None, **changes})
    plugin.handle_saving = lambda: handled.append((bool(plugin.autosave), plugin.json))
    config: Any = SimpleNamespace(pluginmanager=SimpleNamespace(get_plugin=lambda name: plugin))
    save(config)
    assert handled == ([(True, None)] if saves else [])


class MadeUpLock:
    """A lock that another process has at first, or that cannot be kept."""

    taken: ClassVar[list[str]] = []

    def __init__(self, name: str) -> None:
        self.name = name

    def take(self, busy: Callable[[Holder], None]) -> None:
        if "broken" in self.name:
            raise LockFailed("files cannot be locked here")
        busy(Holder("4711", "pytest bench"))
        self.taken.append(self.name)

    def release(self) -> None:
        if self.name in self.taken:
            self.taken.remove(self.name)


@cases(__file__, "held_devices", "supports_timing, measured, identity, taken, said")
def test_a_timed_device_is_held_until_the_run_ends(
    supports_timing: bool, measured: bool, identity: str, taken: Any, said: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mmcore_pytest.session.Lock", MadeUpLock)
    monkeypatch.setattr("mmcore_pytest.session.measures", lambda config: measured)
    lines: list[str] = []
    terminal = SimpleNamespace(write_line=lines.append, flush=lambda: None)
    plugins = SimpleNamespace(get_plugin={"terminalreporter": terminal}.get)
    session = Session(SimpleNamespace(pluginmanager=plugins))  # type: ignore[arg-type]
    described = {"description": "Test GPU", "identity": identity}
    vars(session).update(engine=None, device="timed:0", supports_timing=supports_timing, described=described)
    for _ in range(2):
        session.hold_device()
        assert (MadeUpLock.taken, lines) == ([*taken], [*said])
    ended: list[str] = []
    monkeypatch.setattr("mmcore_pytest.session.end_workers", lambda: ended.append("workers"))
    session.close()
    assert (MadeUpLock.taken, ended) == ([], ["workers"])


def test_csv_has_zeros_and_empty_cells(tmp_path: Path) -> None:
    results = [done("upc.kernel01", 32, times=(2e-3,), figures={"occupancy": 0.0, "sectors": None})]
    write_csv(tmp_path / "out.csv", results)
    (row,) = csv.DictReader((tmp_path / "out.csv").read_text(encoding="utf-8").splitlines())
    assert (row["kernel"], row["m"], row["n"], row["k"]) == ("upc.kernel01", "32", "32", "32")
    assert (row["block"], row["config"], row["verified"]) == ("32", "block=32x32", "True")
    assert (row["shared_bytes"], row["registers"], row["occupancy"]) == ("0", "8", "0.0")
    assert (row["sectors"], row["percent_of_peak"], row["memory"]) == ("", "", "")
    assert float(row["median_ms"]) == 2.0


@pytest.mark.parametrize(
    ("seconds", "rate"), [(2e-3, "0.0328"), (6.5536e-8, "1000"), (5.30841e-9, "12346"), (6.5601e-8, "999")]
)
def test_a_rate_has_three_digits_or_all_before_the_point(seconds: float, rate: str) -> None:
    _, result = done("upc.kernel01", 32, times=(seconds,))
    assert line(result).endswith(f" µs ±0.00 %, {rate} GFLOP/s")


@pytest.mark.parametrize(
    ("violations", "verification", "said"),
    [
        ((Violation("illegal-address", "it is", fatal=True),), None, "failed on timed:0; no time is reported"),
        ((Violation("misaligned", "it is"),), Verification(True, 0.0, None, "", 0, 1), "is wrong on timed:0; no time"),
        ((Violation("timeout", "late", fatal=True),), None, "takes longer on timed:0 than the limit of 2.5 s"),
    ],
)
def test_a_failure_has_a_name(violations: tuple[Violation, ...], verification: Verification | None, said: str) -> None:
    _, result = done("upc.kernel01", 32)
    text = _what_is_wrong(replace(result, violations=violations, verification=verification), 2.5)
    first, second, *more = text.splitlines()
    assert first.startswith(f"upc.kernel01 32×32×32 {said}")
    assert second == str(violations[0])
    assert [each.startswith("to see it again: mmcore run upc.kernel01 ") for each in more] == [True] * len(more)
    assert len(more) == ("takes longer" not in first)


def test_a_constraint_that_fails_forbids_nothing(tiled: str, monkeypatch: pytest.MonkeyPatch) -> None:
    failing = SimpleNamespace(description="an error", violation=lambda problem, config: int("n"))
    kernel = replace(registry().kernel(tiled), constraints=(failing,))
    monkeypatch.setitem(registry().kernels, tiled, Registered(kernel, Origin("acme", "acme")))
    for sizes, found in (((), [640, 1024]), ((Sizes(7, 7, 7),), [7])):
        selected = select(kernels=(tiled,), sizes=sizes)
        assert [each.problem.n for each in selected.benchmarks] == found
        assert selected.refused == []

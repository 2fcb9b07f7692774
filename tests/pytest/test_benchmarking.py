"""The pytest plugin, as a repository with a bench file of three lines sees it."""

from __future__ import annotations

import csv
import dataclasses
import itertools
import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mmcore import Multiple, Square
from mmcore.errors import DeviceError
from mmcore.executor import worker
from mmcore.kernel.properties import DeviceProperties
from mmcore.plugin_table import Origin, Registered
from mmcore.registry import DISTRIBUTION, registry
from mmcore_cuda.tuned_configs.files import PROPERTIES
from tests.kernel_sources import kernel_source
from tests.own_kernel import own
from tests.tables import cases
from tests.timed_emulator import TimedEmulator, TimedProvider

BENCH_FILE = """
def test_kernel(mm_benchmark):
    mm_benchmark()
"""
KERNEL = "upc.kernel01"
MICROSECONDS = {"kernel00.cu": 100.0, "kernel01.cu": 120.0, "kernel10.cu": 70.0, "kernel11.cu": 72.0}
SMALL = ("--mm-size", "32", "--mm-block", "16")

Use = Callable[..., None]


@pytest.fixture(autouse=True)
def _no_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pretend not to be a worker of pytest-xdist, in which pytest-benchmark measures nothing."""
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)


@pytest.fixture(autouse=True)
def use(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Use:
    """Return ``use``, which sets the benchmarks' device, or the timed emulator with times in µs by .cu file."""
    pytester.makepyfile(test_bench=BENCH_FILE)
    provider = Registered(TimedProvider(), Origin("timed", "tests"))
    monkeypatch.setitem(registry().providers, "timed", provider)

    def use(device: Any = None, product: str = "Test GPU", **options: Any) -> None:
        microseconds = {**MICROSECONDS, **options}
        opened = device or TimedEmulator(lambda source: microseconds[source.replace("_", ".")] * 1e-6, product)
        monkeypatch.setitem(worker._devices, "timed:0", opened)

    use()
    return use


@pytest.fixture
def add_wrong(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Register acme.wrong, which leaves the product's last column out."""
    right = registry().kernel(KERNEL)
    source = tmp_path / "wrong.cu"
    source.write_text(right.source_text().replace("column < n", "column < n - 1"))
    wrong = dataclasses.replace(right, name="acme.wrong", source=source)
    monkeypatch.setitem(registry().kernels, "acme.wrong", Registered(wrong, Origin("acme.wrong", "acme")))


def run(pytester: pytest.Pytester, *options: str, device: str = "timed") -> pytest.RunResult:
    with warnings.catch_warnings():
        # The filters of this run are not those of the inner one.
        warnings.simplefilter("ignore")
        words = ("-p", "no:cacheprovider", f"--mm-device={device}", *options)
        return pytester.runpytest_inprocess(*words, no_reraise_ctrlc=True)


def saved(pytester: pytest.Pytester) -> list[dict[str, Any]]:
    """Return the saved runs, oldest first."""
    return [json.loads(path.read_text()) for path in sorted(pytester.path.glob(".benchmarks/*/*.json"))]


def cells(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {each["param"]: each for each in document["benchmarks"]}


def test_a_run_reports_and_saves_the_devices_times(pytester: pytest.Pytester) -> None:
    result = run(pytester, "--mm-kernel", "upc.kernel01,upc.kernel10", "--mm-csv", "out.csv", *SMALL)
    result.assert_outcomes(passed=2)
    (document,) = saved(pytester)
    for name, each in cells(document).items():
        stats, info = each["stats"], each["extra_info"]
        microseconds = MICROSECONDS[f"{name.split('-')[0].removeprefix('upc.')}.cu"]
        expected, gflops = microseconds * 1e-6, 2 * 32**3 / microseconds / 1e3
        assert (stats["median"], stats["max"]) == pytest.approx((expected, expected * 1.01), rel=1e-6)
        assert stats["rounds"] * stats["iterations"] * expected == pytest.approx(0.1, rel=0.05)
        assert stats["iterations"] * expected >= 2e-3
        assert info["gflops"] == info["kernel_gflops"] == pytest.approx(gflops)
        assert info["percent_of_peak"] == pytest.approx(100 * gflops)
        assert info["speed_of_light"] == pytest.approx(gflops)
        assert info["percent_of_best"] == pytest.approx(100 * 70 / microseconds)
        assert (info["verified"], info["clock"], info["end_to_end_gflops"]) == (True, "a made-up clock", None)
        assert info["times"] is None  # pytest-benchmark keeps the rounds itself
        assert (info["shared_bytes"], info["occupancy"]) == (2048 if "kernel10" in name else 0, 1.0)
    with (pytester.path / "out.csv").open(newline="", encoding="utf-8") as file:
        first, second = csv.DictReader(file)
    assert (first["kernel"], second["kernel"]) == ("upc.kernel10", "upc.kernel01")
    assert (float(second["gflops"]), float(second["median_ms"])) == pytest.approx((0.546, 0.12), rel=1e-3)
    result.stdout.fnmatch_lines([
        "mmcore: timed:0",
        "[[]1/2[]] upc.kernel01-32x32x32-b16: verified, 120.00 µs ±* %, 0.546 GFLOP/s",
        "[[]2/2[]] upc.kernel10-32x32x32-b16: verified, 70.00 µs ±*",
        "*32×32×32 C=AB float32, kernel time, warm L2, on Test GPU (arithmetic takes 65.54 µs at least): verified",
        "*median, *speed *of",
        "kernel * config *µs *spread *GFLOP/s *of light *best",
        "upc.kernel10 *b16 *70.00 *0.936 *93.6 % *100.0 %",
        "upc.kernel01 *b16 *120.00 *0.546 *54.6 % *58.3 %*",
        "2 cells in * s: compiling * s, verifying * s, timing * s, everything else *",
    ])  # fmt: skip


def test_pytest_benchmarks_own_options_steer_the_rounds(pytester: pytest.Pytester) -> None:
    run(
        pytester, "--mm-kernel", KERNEL, *SMALL,
        "--benchmark-min-time=0.05", "--benchmark-max-time=0.2", "--benchmark-min-rounds=7",
    )  # fmt: skip
    stats = cells(saved(pytester)[0])["upc.kernel01-32x32x32-b16"]["stats"]
    assert stats["rounds"] == 7
    assert 0.05 <= stats["iterations"] * 120e-6 < 0.5
    assert stats["total"] == pytest.approx(7 * 120e-6, rel=0.01)


@pytest.mark.usefixtures("add_wrong")
def test_a_wrong_product_fails_and_has_no_time(pytester: pytest.Pytester) -> None:
    result = run(pytester, "--mm-kernel", "upc.kernel01,acme.wrong", "--mm-csv", "out.csv", *SMALL)
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines([
        "acme.wrong 32×32×32 is wrong on timed:0; no time is reported",
        "0:31: expected * - got NaN (never written)",
        "32 of the 1024 elements compared are wrong",
        "to see it again: mmcore run acme.wrong -m 32 -n 32 -k 32 --block 16x16 --device timed:0 --seed *",
        "2 cells, 1 of them not measured, in *",
    ])  # fmt: skip
    assert result.stdout.str().count("no time is reported") == 1
    assert list(cells(saved(pytester)[0])) == ["upc.kernel01-32x32x32-b16"]
    assert "acme.wrong" not in (pytester.path / "out.csv").read_text()
    table = result.stdout.str().rpartition("median,")[2]
    assert "upc.kernel01" in table
    assert "acme.wrong" not in table.partition("short test summary")[0]


def test_a_hazard_fails_although_the_product_is_right(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    racing = own(
        tmp_path / "racing.cu",
        kernel_source("staged", BARRIER=""),
        block=(8, 8),
        grid=(4, 4),
        constraints=(Square(), Multiple("n", 32)),
    )
    monkeypatch.setitem(registry().kernels, racing.name, Registered(racing, Origin("acme", "acme")))
    chosen = ("--mm-kernel", racing.name, "--mm-size", "32")
    failed = run(pytester, *chosen, device="emulator")
    failed.assert_outcomes(failed=1)
    assert "shared-race at " in failed.stdout.str()
    run(pytester, *chosen, "--mm-allow-hazards", device="emulator").assert_outcomes(passed=1)


def test_a_time_faster_than_the_device_fails_and_is_not_saved(pytester: pytest.Pytester, use: Use) -> None:
    least = 2 * 32**3 / 1e9 * 1e6
    use(**{"kernel01.cu": 0.97 * least, "kernel10.cu": 0.99 * least})
    result = run(pytester, "--mm-kernel", "upc.kernel01,upc.kernel10", *SMALL)
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["implausible: 63.6 µs for 32×32×32, which takes 65.5 µs at*"])
    assert list(cells(saved(pytester)[0])) == ["upc.kernel10-32x32x32-b16"]
    assert "upc.kernel01" not in result.stdout.str().rpartition("median,")[2].partition("short test")[0]


def test_memory_traffic_faster_than_the_device_fails(pytester: pytest.Pytester, use: Use) -> None:
    # 1 GB/s carries A and B in 1.0, 1.6 and 8.4 µs; less a cache of 1 KiB in 0.0, 0.6 and 7.3 µs. The made-up clock
    # says 1.2 µs cold and 0.8 µs warm.
    use(TimedEmulator(lambda source: 0.8e-6, flops=1e15, bytes_per_second=1e9, cache_bytes=1 << 10))
    options = ("--mm-kernel", KERNEL, "--mm-size", "1x1x131,1x1x200,1x1x1048", "--mm-block", "16")
    result = run(pytester, *options, "--mm-cold", "--mm-warm", "--benchmark-max-time=0.01")
    failed = [line.split("[upc.kernel01-1x1x")[1].split("]")[0] for line in result.outlines if "FAILED test" in line]
    assert failed == ["200-b16-cold", "1048-b16-cold", "1048-b16"]


@pytest.fixture
def interrupt(use: Use) -> None:
    """Interrupt the run while kernel10 is timed."""
    readings = itertools.count()

    def seconds(source: str) -> float:
        if source == "kernel10.cu" and next(readings) == 50:
            raise KeyboardInterrupt
        return 1e-4

    use(TimedEmulator(seconds))


@pytest.mark.usefixtures("interrupt")
def test_an_interrupted_run_reports_and_saves_what_it_has(pytester: pytest.Pytester) -> None:
    result = run(pytester, "--mm-kernel", "upc.kernel0*,upc.kernel10,upc.kernel11", "--mm-csv", "out.csv", *SMALL)
    assert result.ret == pytest.ExitCode.INTERRUPTED
    assert list(cells(saved(pytester)[0])) == ["upc.kernel00-32x32x32-b16", "upc.kernel01-32x32x32-b16"]
    result.stdout.fnmatch_lines([
        "32×32×32 C=AB float32, kernel time, warm L2, on Test GPU (*): verified",
        "kernel *", "upc.kernel0*", "upc.kernel0*"
    ])  # fmt: skip
    assert "kernel10" not in result.stdout.str().rpartition("median,")[2]
    assert (pytester.path / "out.csv").read_text().count("upc.kernel") == 2


@pytest.mark.usefixtures("interrupt")
def test_a_run_interrupted_in_its_first_cell_saves_nothing(pytester: pytest.Pytester) -> None:
    assert run(pytester, "--mm-kernel", "upc.kernel10", *SMALL).ret == pytest.ExitCode.INTERRUPTED
    assert saved(pytester) == []


def test_the_second_run_is_compared_with_the_first(pytester: pytest.Pytester, use: Use) -> None:
    options = ("--mm-kernel", "upc.kernel0*,upc.kernel10", *SMALL, "--benchmark-compare-fail=median:5%")
    assert run(pytester, *options[:-1]).ret == 0
    with warnings.catch_warnings():
        # Such as pytest-benchmark's, of a machine_info that is different.
        warnings.simplefilter("error")
        assert pytester.runpytest_inprocess("--mm-device=timed", *options, "--benchmark-compare").ret == 0
    assert len(saved(pytester)) == 2
    use(**{"kernel01.cu": 132.0})
    slower = run(pytester, *options, "--benchmark-compare")
    assert slower.ret == pytest.ExitCode.TESTS_FAILED
    slower.stdout.fnmatch_lines([
        "upc.kernel01 *132.00*",
        "mmcore: not saved, because it is slower than --benchmark-compare-fail allows:",
        "  test_kernel[[]upc.kernel01-32x32x32-b16[]]*'median' has failed PercentageRegressionCheck: *10.* > 5.*",
    ])  # fmt: skip
    assert slower.stdout.str().partition("compare-fail allows:")[2].count("RegressionCheck") == 1
    assert "Traceback" not in slower.stdout.str() + slower.stderr.str()
    assert len(saved(pytester)) == 2
    assert run(pytester, *options, "--benchmark-compare").ret == pytest.ExitCode.TESTS_FAILED


def test_cells_without_a_counterpart_are_counted(pytester: pytest.Pytester) -> None:
    run(pytester, "--mm-kernel", "upc.kernel01", *SMALL)
    result = run(pytester, "--mm-kernel", "upc.kernel01,upc.kernel10", *SMALL, "--benchmark-compare")
    result.stdout.fnmatch_lines(["mmcore: 1 of 2 cells have no counterpart in the compared results"])
    result = run(pytester, "--mm-kernel", "upc.kernel01", *SMALL, "--benchmark-compare")
    result.stdout.no_fnmatch_line("*no counterpart*")
    result = run(pytester, "--mm-kernel", "upc.kernel11", *SMALL, "--benchmark-compare")
    result.stdout.fnmatch_lines(["mmcore: 1 of 1 cells have no counterpart in the compared results"])
    assert result.ret == pytest.ExitCode.INTERRUPTED  # mmcore's status for what could not run


def test_a_comparison_that_must_fail_needs_something_to_compare_with(pytester: pytest.Pytester) -> None:
    options = ("--mm-kernel", KERNEL, *SMALL, "--benchmark-compare-fail=median:5%")
    for result in (run(pytester, *options), run(pytester, *options, "--benchmark-compare")):
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        result.stderr.fnmatch_lines(["ERROR: --benchmark-compare-fail has nothing to compare with: *"])
    assert saved(pytester) == []


def test_pytest_benchmarks_table_is_for_comparisons_and_narrow(pytester: pytest.Pytester) -> None:
    options = ("--mm-kernel", KERNEL, *SMALL)
    run(pytester, *options).stdout.no_re_match_line(r"Name \(time in us\)")
    compared = run(pytester, *options, "--benchmark-compare", "--benchmark-group-by=param:mm_kernel")
    compared.stdout.re_match_lines(
        [r".*benchmark 'mm_kernel=upc.kernel01': 2 tests", r"Name \(time in us\) +Median +IQR +Rounds *$"]
    )
    chosen = run(pytester, *options, "--benchmark-compare", "--benchmark-columns=min,max")
    chosen.stdout.re_match_lines([r"Name \(time in us\) +Min +Max *$"])


def test_times_of_emulations_are_not_compared(pytester: pytest.Pytester) -> None:
    options = ("--mm-kernel", KERNEL, *SMALL, "-v", "--benchmark-compare")
    for asked in (options[:-1], options):
        result = run(pytester, *asked, device="emulator")
        result.assert_outcomes(passed=1)
        result.stdout.no_re_match_line(r"Name \(time in")
    result = run(pytester, *options, "--benchmark-compare-fail=median:5%", device="emulator")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(
        ["ERROR: emulation times say nothing about a kernel's speed, so *needs a GPU; *compares counts without one"]
    )


@pytest.mark.usefixtures("add_wrong")
def test_disabled_benchmarks_are_verified_and_save_nothing(pytester: pytest.Pytester) -> None:
    csv_file = pytester.path / "out.csv"
    csv_file.write_text("of another run")
    options = ("--mm-kernel", "upc.kernel01,acme.wrong", *SMALL, "--mm-csv", "out.csv")
    run(pytester, *options, "--collect-only")
    run(pytester, *options, "--benchmark-disable").assert_outcomes(passed=1, failed=1)
    assert (csv_file.read_text(), saved(pytester)) == ("of another run", [])


def test_results_of_another_device_are_not_compared(pytester: pytest.Pytester, use: Use) -> None:
    options = ("--mm-kernel", KERNEL, *SMALL)
    run(pytester, *options)
    use(product="Other GPU")
    result = run(pytester, *options, "--benchmark-compare")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([
        "ERROR: the results to compare with are of another device: they were measured on Test GPU, and this run is on "
        "Other GPU; --mm-allow-other-device compares them anyway"
    ])  # fmt: skip
    assert len(saved(pytester)) == 1
    assert run(pytester, *options, "--benchmark-compare", "--mm-allow-other-device").ret == 0
    emulated = run(pytester, *options, "--benchmark-compare", device="emulator")
    emulated.stderr.fnmatch_lines(["ERROR: *measured on Other GPU, and this run is on emulator;*"])


def test_the_emulator_prints_counts_in_80_columns(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    kernels = ("--mm-kernel", "upc.kernel0?,mmcore.kernel2_columns", "--mm-size", "32")
    result = run(pytester, *kernels, "--mm-csv", "out.csv", device="emulator")
    result.assert_outcomes(passed=7)
    output = result.stdout.str()
    assert not any(word in output for word in ("GFLOP/s", "median", "EMULATION", "Name (time"))
    assert output.count("upc.kernel01") == 3
    result.stdout.fnmatch_lines(
        [
            "mmcore: emulator (emulates compute capability 9.0*); counts, no times: *",
            "32×32×32 C=AB float32: verified, counts, no times",
        ]
    )
    table = output[output.index("32×32×32 C=") : output.index("7 cells in")]
    assert max(map(len, table.splitlines())) <= 80
    assert table.index("upc.kernel00 b32") < table.index("upc.kernel00 b16") < table.index("upc.kernel01 b32")
    info = cells(saved(pytester)[0])["upc.kernel01-32x32x32-b16"]["extra_info"]
    assert info["gflops"] is info["kernel_ms"] is info["percent_of_peak"] is info["percent_of_best"] is None
    assert info["figures"]["flop_per_byte"] == pytest.approx(2 * 32**3 / info["figures"]["global_sectors"] / 32)
    row = next(csv.DictReader((pytester.path / "out.csv").read_text().splitlines()))
    assert row["median_ms"] == row["gflops"] == ""
    assert float(row["emulation_ms"]) > 0
    assert int(row["instructions"]) > 0


def test_end_to_end_and_cold_times_have_tables_of_their_own(pytester: pytest.Pytester) -> None:
    run(
        pytester, "--mm-kernel", KERNEL, *SMALL, "--mm-measure=kernel,end-to-end", "--mm-memory=pageable,pinned",
        "--mm-cold", "--mm-warm", "--benchmark-max-time=0.1",
    )  # fmt: skip
    found = cells(saved(pytester)[0])
    times = {name.removeprefix("upc.kernel01-32x32x32-b16"): each["stats"]["median"] for name, each in found.items()}
    expected = {"": 120, "-cold": 180, "-end-to-end-pageable": 600, "-end-to-end-pinned": 360}
    assert {way: round(seconds * 1e6) for way, seconds in times.items()} == expected
    assert len({each["group"] for each in found.values()}) == 4
    info = found["upc.kernel01-32x32x32-b16-end-to-end-pinned"]["extra_info"]
    assert (info["measure"], info["memory"], info["caches"]) == ("end-to-end", "pinned", None)
    assert info["end_to_end_ms"] == pytest.approx(0.36)
    assert info["kernel_ms"] is None


def test_a_tests_mark_says_how_it_is_timed_and_grouped(pytester: pytest.Pytester) -> None:
    mark = "import pytest\n@pytest.mark.benchmark(group='mine', min_rounds=9, max_time=0.001)"
    pytester.makepyfile(test_bench=f"{mark}{BENCH_FILE}")
    run(pytester, "--mm-kernel", KERNEL, *SMALL)
    (benchmark,) = saved(pytester)[0]["benchmarks"]
    assert (benchmark["group"], benchmark["stats"]["rounds"]) == ("mine", 9)
    assert benchmark["stats"]["median"] == pytest.approx(120e-6)


@pytest.mark.parametrize("option", ["-v", "-q"])
def test_kernels_with_bugs_are_named_unless_it_is_quiet(pytester: pytest.Pytester, option: str) -> None:
    output = run(pytester, "--mm-kernel", "upc.*", *SMALL, "--collect-only", option).stdout.str()
    said = "mmcore: left out for their known bugs unless named: upc.kernel11_naive_guard"
    assert (said in output) == (option == "-v")


def test_an_unopened_device_fails_every_cell(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    options = ("--mm-kernel", KERNEL, *SMALL)
    run(pytester, *options)

    def lost(*_: object) -> None:
        raise DeviceError("the card is lost")

    monkeypatch.setattr(worker, "opened", lost)
    result = run(pytester, *options)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["the card is lost"])
    assert "Traceback" not in result.stdout.str()
    compared = run(pytester, *options, "--benchmark-compare")
    assert compared.ret == pytest.ExitCode.USAGE_ERROR
    compared.stderr.fnmatch_lines(["ERROR: the card is lost"])
    assert len(saved(pytester)) == 1


def test_refused_combinations_are_listed_on_request(pytester: pytest.Pytester) -> None:
    options = ("--mm-kernel", "poznan.v3,upc.kernel01", "--mm-size", "33", "--mm-block", "16", "--collect-only")
    reason = "  refused: poznan.v3 33×33×33 with block=16x16: n = 33 is not a multiple of block.x = 16"
    run(pytester, *options, "--mm-show-refused").stdout.fnmatch_lines([reason])
    without = run(pytester, *options)
    without.stdout.fnmatch_lines(["mmcore: constraints forbid 1 of the selected *; --mm-show-refused lists them"])
    without.stdout.no_fnmatch_line("*refused: poznan*")


@cases(__file__, "usage_errors", "options, sentence")
def test_options_that_make_no_sense_stop_the_run(pytester: pytest.Pytester, options: list[str], sentence: str) -> None:
    result = run(pytester, *options)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([sentence])


@cases(__file__, "nothing_is_selected", "options, sentence")
def test_selecting_nothing_is_an_error(pytester: pytest.Pytester, options: list[str], sentence: str) -> None:
    result = run(pytester, *options)
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines([sentence])
    assert "Traceback" not in result.stdout.str() + result.stderr.str()


def test_a_broken_kernel_fails(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    source = tmp_path / "broken.cu"
    source.write_text('extern "C" __global__ void kernel01() { nonsense; }')
    broken = dataclasses.replace(registry().kernel(KERNEL), name="acme.broken", source=source)
    monkeypatch.setitem(registry().kernels, "acme.broken", Registered(broken, Origin("acme.broken", "acme")))
    result = run(pytester, "--mm-kernel", "upc.kernel01,acme.broken", *SMALL)
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*broken.cu(1): error: *nonsense*"])
    assert len(cells(saved(pytester)[0])) == 1


def test_a_csv_that_cannot_be_written_loses_nothing_else(pytester: pytest.Pytester) -> None:
    folder = pytester.mkdir("folder")
    pytester.makeconftest(
        f"""
        import pathlib
        def pytest_collection_finish():
            pathlib.Path({str(folder)!r}).rmdir()
        """
    )
    result = run(pytester, "--mm-kernel", KERNEL, *SMALL, "--mm-csv", str(folder / "out.csv"))
    result.stdout.fnmatch_lines(["mmcore: *out.csv cannot be written: No such file or directory"])
    assert len(saved(pytester)) == 1


def test_other_benchmarks_are_unchanged(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("no device may be opened")

    monkeypatch.setattr(worker, "opened", refuse)
    pytester.makepyfile(test_bench="def test_other(benchmark):\n    benchmark(lambda: None)")
    options = ("--benchmark-autosave", "--benchmark-max-time=0.01", "--benchmark-min-rounds=1")
    run(pytester, *options).assert_outcomes(passed=1)
    result = run(pytester, *options, "--benchmark-compare")
    result.assert_outcomes(passed=1)
    result.stdout.no_fnmatch_line("*mmcore:*")
    assert "mmcore" not in saved(pytester)[0]["machine_info"]


def test_a_run_without_pytest_benchmark_is_unchanged(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_bench="def test_other():\n    pass")
    run(pytester, "-p", "no:benchmark").assert_outcomes(passed=1)


def test_cells_on_each_device_of_this_machine(pytester: pytest.Pytester, device: Any) -> None:
    options = ("--mm-kernel", "upc.kernel11,lezione9.kernel1", "--mm-size", "32", "--benchmark-max-time=0.05")
    result = run(pytester, *options, device=device.name)
    result.assert_outcomes(passed=4)
    (document,) = saved(pytester)
    assert len(document["benchmarks"]) == 4
    for each in document["benchmarks"]:
        info = each["extra_info"]
        assert (info["gflops"] is not None) == device.supports_timing
        milliseconds = info["median_ms" if device.supports_timing else "emulation_ms"]
        assert each["stats"]["median"] == pytest.approx(milliseconds * 1e-3)
        assert milliseconds > 0


def write_tuned(folder: Path, monkeypatch: pytest.MonkeyPatch, card: str, **more: Any) -> None:
    """Write a tuned config of the kernel at 32 on a card."""
    product = {**dict.fromkeys("mnk", 32), "seconds": 1.0, "provenance": {}}
    entry = {"kernel": KERNEL, "config": {"block": [8, 8, 1]}, **product}
    document = {"schema": 1, "card": card, "tuned": [entry], **more}
    (folder / f"{card.lower().replace(' ', '-')}.json").write_text(json.dumps(document))
    monkeypatch.setenv("MMCORE_TUNING_DIR", str(folder))


class UnopenableProvider(TimedProvider):
    """A provider of devices that nothing may open."""

    name = "unopenable"
    auto_priority = 1

    def count(self) -> int:
        return 2

    def properties(self, index: int) -> DeviceProperties:
        return DeviceProperties(card="Test GPU")

    def open(self, index: int) -> TimedEmulator:
        raise AssertionError("no device may be opened")


@pytest.mark.parametrize(
    ("device", "engine", "tuned"),
    [
        ("auto", (), False),
        ("auto", (), True),
        ("auto", ("--mm-engine", "processes"), True),
        ("all", (), True),
        ("unopenable:1,unopenable:0", ("--mm-spread",), True),
    ],
)
def test_collecting_opens_no_device_and_starts_no_process_for_tuned_configs(
    device: str, engine: tuple[str, ...], tuned: bool, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("no worker process may be started")

    run(pytester, "--mm-kernel", KERNEL, *SMALL)  # what --benchmark-compare reads
    providers = registry().providers
    for name in [*providers]:
        monkeypatch.delitem(providers, name)
    unopenable = Registered(UnopenableProvider(), Origin("unopenable", DISTRIBUTION))
    monkeypatch.setitem(providers, "unopenable", unopenable)
    if tuned:
        write_tuned(pytester.path, monkeypatch, "Test GPU")
    monkeypatch.setattr("mmcore.executor.worker_client._started", refuse)
    options = ("--mm-kernel", KERNEL, "--mm-size", "32", *engine, "--collect-only", "-v", "--benchmark-compare")
    result = run(pytester, *options, device=device)
    assert result.ret == pytest.ExitCode.OK
    assert ("1 of the configs are tuned" in result.stdout.str()) == tuned


def test_configs_name_the_card_they_are_tuned_on(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TimedEmulator, "properties", property(lambda self: DeviceProperties(card="Test GPU")))
    properties = {name: getattr(DeviceProperties(), name) for name in PROPERTIES}
    write_tuned(pytester.path, monkeypatch, "Large GPU", properties=properties)
    result = run(pytester, "--mm-kernel", KERNEL, "--mm-size", "32")
    result.stdout.fnmatch_lines([
        "mmcore: 1 of the configs are tuned, 1 on Large GPU; --mm-config selects others",
        "upc.kernel01 *b8 *",
        "configs tuned on another card: Large GPU",
    ])  # fmt: skip
    info = cells(saved(pytester)[0])["upc.kernel01-32x32x32-b8"]["extra_info"]
    assert info["config_origin"] == "tuned for 32×32×32 on another card, Large GPU (your own)"


def test_what_the_device_forbids_is_skipped_with_its_reason(pytester: pytest.Pytester) -> None:
    result = run(pytester, "--mm-kernel", KERNEL, "--mm-size", "32", "--mm-block", "16,64", "-rs")
    result.assert_outcomes(passed=1, skipped=1)
    result.stdout.fnmatch_lines(["SKIPPED *: a 64×64 block has 4096 threads; the device allows 1024"])


def test_a_time_limit_reached_is_no_wrong_product(pytester: pytest.Pytester) -> None:
    limited = ("--mm-kernel", KERNEL, "--mm-size", "256", "--mm-block", "16", "--mm-timeout", "0.05")
    result = run(pytester, *limited, device="emulator")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([
        "upc.kernel01 256×256×256 takes longer on emulator than the limit of 0.05 s, which *",
        "timeout at kernel01.cu:*: thread * was still running after 0.05 s*",
    ])  # fmt: skip
    assert "is wrong" not in result.stdout.str()

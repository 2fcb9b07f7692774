"""The pytest plugin: options ``--mm-…`` and the fixtures ``mm_cell`` and ``mm_benchmark``.

pytest loads it wherever mmcore is installed, so it imports other modules only when a test requests a cell.
pytest-benchmark receives the rounds of each cell; it computes statistics, and saves and compares results.
"""

from __future__ import annotations

import contextlib
from collections.abc import Generator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from mmcore.errors import MmcoreError
from mmcore.messages import all_visible, visible
from mmcore_pytest.options import Selection, pytest_addoption

if TYPE_CHECKING:
    from mmcore_pytest.collection import Benchmark
    from mmcore_pytest.fixture import CellBenchmark
    from mmcore_pytest.session import Session

__all__ = ["mm_benchmark", "mm_cell", "pytest_addoption"]

COULD_NOT_RUN = 2
"""The exit status of a run whose results could not be written."""

_SESSION: pytest.StashKey[Session] = pytest.StashKey()


def run_of(config: pytest.Config) -> Session:
    """Return the state of a run."""
    if _SESSION not in config.stash:
        from mmcore_pytest.session import Session

        config.stash[_SESSION] = Session(config)
    return config.stash[_SESSION]


def _used(config: pytest.Config) -> Session | None:
    """Return the state of a run that measures a cell; None for other runs."""
    session = config.stash.get(_SESSION, None)
    return session if session and session.items else None


def pytest_configure(config: pytest.Config) -> None:
    """Refuse contradictory options before anything runs."""
    if config.getoption("benchmark_compare", None):
        from mmcore_pytest.benchmark_internals import refuse_unreadable

        refuse_unreadable(config)
    try:
        Selection.of(config)
    except MmcoreError as error:
        raise pytest.UsageError(visible(str(error))) from None


@pytest.fixture
def mm_cell(request: pytest.FixtureRequest) -> Benchmark:
    """Return a kernel, product, config and timing; a test that uses it is run for each selected one."""
    benchmark: Benchmark = request.param
    return benchmark


@pytest.fixture
def mm_benchmark(mm_cell: Benchmark, benchmark: Any, request: pytest.FixtureRequest) -> CellBenchmark:
    """Return a function without arguments that verifies and measures the cell for pytest-benchmark."""
    session, node = run_of(request.config), request.node
    try:
        session.hold_device()
    except MmcoreError as error:
        raise pytest.fail.Exception(visible(str(error)), pytrace=False) from None
    benchmark.params = mm_cell.parameters  # saved instead of pytest's parameter, which is not JSON
    return session.begin(node.nodeid, mm_cell, _marker_of(node), benchmark)


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """Explain ``pytest bench/`` in a folder without a folder bench."""
    try:
        return (yield)
    except pytest.UsageError as error:
        if any(argument.rstrip("/") == "bench" for argument in session.config.args) and not Path("bench").exists():
            hint = "mmcore bench runs mmcore's benchmarks from any folder"
            raise pytest.UsageError(*error.args, hint) from None
        raise


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run every test that uses ``mm_cell`` once for each benchmark."""
    if "mm_cell" not in metafunc.fixturenames:
        return
    try:
        collection = run_of(metafunc.config).collection
    except MmcoreError as error:
        raise pytest.Collector.CollectError(visible(str(error))) from None
    if not collection.benchmarks:
        lines = ["there is nothing to measure; the kernels' constraints forbid every selected combination:"]
        lines += [f"  {combination}" for combination in collection.refused]
        raise pytest.Collector.CollectError(visible("\n".join(lines)))
    ids = [benchmark.id for benchmark in collection.benchmarks]
    metafunc.parametrize("mm_cell", collection.benchmarks, ids=ids, indirect=True)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Give each benchmark the clock and its group."""
    measured = [item for item in items if _is_measured(item)]
    if not measured:
        return
    from mmcore_pytest.benchmark_internals import pair_saved, prepare, vanished

    session = run_of(config)
    session.items = len(measured)
    for item in measured:
        options = {"group": _benchmark_of(item).group, **_marker_of(item), "timer": session.clock}
        item.add_marker(pytest.mark.benchmark(**options), append=False)
    prepare(config, session.unsaved.append, supports_timing=session.supports_timing)
    tests = [item.nodeid for item in measured]
    pair_saved(config, tests)
    session.vanished = vanished(config, tests)


def pytest_report_collectionfinish(config: pytest.Config) -> list[str]:
    """Print the device, and the combinations that are left out."""
    if not (session := _used(config)):
        return []
    from mmcore_pytest.report import collection_lines

    return collection_lines(session)


def pytest_report_teststatus(report: pytest.TestReport, config: pytest.Config) -> tuple[str, str, str] | None:
    """Print a line for each timed cell instead of a dot."""
    session = _used(config)
    used = session.benchmarks.get(report.nodeid) if session and report.when == "call" else None
    if session is None or used is None or report.skipped or config.get_verbosity() < 0 or not session.supports_timing:
        return None
    from mmcore_pytest.report import line

    measured = used.result if used.recorded else None
    text = visible(line(measured)) if measured else "not measured; the reason is below" if report.failed else ""
    if not text:
        return None
    short = f"{used.prefix} {used.benchmark.id}: {text}\n"
    return report.outcome, short, f"PASSED {text}" if report.passed else "FAILED"


@pytest.hookimpl(wrapper=True)
def pytest_runtestloop(session: pytest.Session) -> Generator[None, object, object]:
    """Start the device's worker process before the first cell, and prepare to measure all cells."""
    if (ours := _used(session.config)) and not session.config.option.collectonly:
        # The first cell reports any error.
        with contextlib.suppress(MmcoreError):
            ours.hold_device()
            items = filter(_is_measured, session.items)
            pairs = {item.nodeid: (_benchmark_of(item), _marker_of(item)) for item in items}
            cells = {test: (ours.cell(*pair), pair[0]) for test, pair in pairs.items()}
            ours.measure_all(cells, _journal_folder(ours) if ours.engine else None)
    try:
        return (yield)
    except KeyboardInterrupt:
        if ours:
            ours.interrupted = True  # recorded here, because a second Ctrl-C may end pytest
        raise


def _journal_folder(session: Session) -> Path | None:
    """Return the folder of interrupted runs' results; None if there is none."""
    cache = getattr(session.config, "cache", None)  # none with -p no:cacheprovider
    try:
        return Path(cache.mkdir("mmcore")) if cache else None
    except OSError as error:
        session.problems.append(f"this run cannot be resumed after an interruption: {error}")
        return None


def _is_measured(item: pytest.Item) -> bool:
    return "mm_benchmark" in getattr(item, "fixturenames", ())


def _benchmark_of(item: pytest.Item) -> Benchmark:
    benchmark: Benchmark = item.callspec.params["mm_cell"]  # type: ignore[attr-defined]
    return benchmark


def _marker_of(item: pytest.Item) -> dict[str, Any]:
    marker = item.get_closest_marker("benchmark")
    return dict(marker.kwargs) if marker else {}


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add up the duration of each test, and record finished tests."""
    report = yield
    if session := _used(item.config):
        if item.nodeid in session.benchmarks:
            session.benchmarks[item.nodeid].duration += report.duration
        if report.when == "teardown":
            session.reported.add(item.nodeid)
    return report


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> Generator[None, object, object]:
    """Complete the results before pytest-benchmark saves them; write the CSV."""
    config = session.config
    if not (ours := _used(config)):
        return (yield)
    from mmcore_pytest.benchmark_internals import save, without_counterpart
    from mmcore_pytest.report import percent_of_best, write_csv

    results = list(ours.results.values())
    ours.compare_saved()
    percents = percent_of_best(results)
    for test, (benchmark, _) in ours.results.items():
        info = ours.benchmarks[test].fixture.extra_info
        info["percent_of_best"] = percents[benchmark.id]
        if ratio := ours.times.ratios.get(test):
            info["beside_saved"] = {"runs": ours.times.source, "answer": ratio.answer, **asdict(ratio)}
    if (path := config.getoption("mm_csv")) and results:
        try:
            write_csv(path, results)
        except OSError as error:
            ours.unsaved.append(f"{path} cannot be written: {error.strerror}")
    try:
        return (yield)
    finally:
        # A run that an engine can resume is saved when it has been completed.
        if results and not ours.regressed and not (ours.interrupted and ours.can_resume):
            before = len(ours.unsaved)
            save(config)
            for problem in ours.unsaved[before:]:  # the summary has been printed
                ours.say(f"mmcore: {problem}")
        if ours.regressed and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
        alone = without_counterpart(config, ours.results)
        if (ours.unsaved or (alone and len(alone) == len(ours.results))) and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = COULD_NOT_RUN
        ours.close()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> Generator[None, object, object]:
    """Print the summary after pytest-benchmark's tables, and last the failures of ``--benchmark-compare-fail``."""
    if not (session := _used(config)):
        return (yield)
    from pytest_benchmark.session import PerformanceRegression

    from mmcore_pytest.report import print_summary

    try:
        return (yield)
    except PerformanceRegression:
        # It would end the run with a traceback; the exit status is enough.
        session.regressed = True
        return None
    finally:
        print_summary(terminalreporter, session)


@pytest.hookimpl(optionalhook=True)
def pytest_benchmark_update_machine_info(config: pytest.Config, machine_info: dict[str, Any]) -> None:
    """Add the device and the versions."""
    if session := _used(config):
        from mmcore_pytest.saved_results import describe

        describe(machine_info, session.described["facts"])


@pytest.hookimpl(optionalhook=True, tryfirst=True)
def pytest_benchmark_compare_machine_info(
    config: pytest.Config, machine_info: dict[str, Any], compared_benchmark: dict[str, Any]
) -> None:
    """Refuse to compare with another device, or with damaged results."""
    from mmcore_pytest.saved_results import damage, describe, is_ours, other_device

    compared_benchmark.update(all_visible(compared_benchmark))
    if harm := damage(compared_benchmark):
        raise pytest.UsageError(f"the results to compare with are damaged: {harm}")
    if not is_ours(compared_benchmark) or config.option.collectonly:
        return
    try:  # before the collection, so this opens the device
        facts = run_of(config).described["facts"]
    except MmcoreError as error:
        raise pytest.UsageError(visible(str(error))) from None
    describe(machine_info, facts)
    reason = other_device(machine_info, compared_benchmark["machine_info"])
    if reason and not config.getoption("mm_allow_other_device"):
        what = f"the results to compare with are of another device: {reason}"
        raise pytest.UsageError(f"{what}; --mm-allow-other-device compares them anyway")

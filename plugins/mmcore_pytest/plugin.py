"""The pytest plugin: options ``--mm-…`` and the fixtures ``mm_cell`` and ``mm_benchmark``.

It is loaded wherever mmcore is installed, so it costs nothing until a test asks for a cell. pytest-benchmark gets the
rounds of cells, and stays in charge of statistics, storage and comparison.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from mmcore.errors import MmcoreError
from mmcore.messages import all_visible, visible
from mmcore_pytest.options import Selection, pytest_addoption

if TYPE_CHECKING:
    from mmcore.cell import Cell
    from mmcore_pytest.collection import Benchmark
    from mmcore_pytest.fixture import CellBenchmark
    from mmcore_pytest.session import Session

__all__ = ["mm_benchmark", "mm_cell", "pytest_addoption"]

_PARAMETERS = ("mm_kernel", "mm_size", "mm_config", "mm_measure")

COULD_NOT_RUN = 2
"""The exit status of a run whose results could not be written."""

_SESSION: pytest.StashKey[Session] = pytest.StashKey()


def run_of(config: pytest.Config) -> Session:
    """What there is to know of a run."""
    if _SESSION not in config.stash:
        from mmcore_pytest.session import Session

        config.stash[_SESSION] = Session(config)
    return config.stash[_SESSION]


def _used(config: pytest.Config) -> Session | None:
    """The run, where it measures a cell."""
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
def mm_cell(mm_kernel: str, mm_size: str, mm_config: str, mm_measure: str, request: pytest.FixtureRequest) -> Benchmark:
    """One kernel, product, config and way of measuring; every test that asks for it is run for each selected one."""
    return run_of(request.config).found.benchmarks[mm_kernel, mm_size, mm_config, mm_measure]


@pytest.fixture
def mm_benchmark(mm_cell: Benchmark, benchmark: Any, request: pytest.FixtureRequest) -> CellBenchmark:
    """A function without arguments that verifies the cell's kernel, measures it, and tells pytest-benchmark."""
    session, node = run_of(request.config), request.node
    try:
        session.hold_device()
    except MmcoreError as error:
        pytest.fail(visible(str(error)), pytrace=False)
    marker = node.get_closest_marker("benchmark")
    return session.begin(node.nodeid, mm_cell, marker.kwargs if marker else {}, benchmark)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run every test that wants a cell once for each."""
    if "mm_cell" not in metafunc.fixturenames:
        return
    try:
        found = run_of(metafunc.config).found
    except MmcoreError as error:
        raise pytest.Collector.CollectError(visible(str(error))) from None
    if not found.benchmarks:
        what = "there is nothing to measure; the kernels' constraints forbid all that was selected:"
        raise pytest.Collector.CollectError(visible("\n".join([what, *(f"  {each}" for each in found.refused)])))
    ids = [benchmark.id for benchmark in found.benchmarks.values()]
    metafunc.parametrize(_PARAMETERS, list(found.benchmarks), ids=ids)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Give each cell the clock and its group."""
    measured = [item for item in items if _is_measured(item)]
    if not measured:
        return
    from mmcore_pytest.benchmark_internals import prepare

    session = run_of(config)
    session.items = len(measured)
    for item in measured:
        benchmark, marker = _benchmark_of(item, session)
        options = {"group": benchmark.group, **marker, "timer": session.clock}
        item.add_marker(pytest.mark.benchmark(**options), append=False)
    prepare(config, session.unsaved.append, supports_timing=session.supports_timing)


def pytest_report_collectionfinish(config: pytest.Config) -> list[str]:
    """Say what is going to be measured, and on what."""
    if not (session := _used(config)):
        return []
    from mmcore.registry import registry
    from mmcore_cuda.tuned_configs.files import other_card
    from mmcore_pytest.collection import COUNTED

    found, quiet = session.found, config.get_verbosity() < 0
    told = "" if session.supports_timing else f"{session.told}; {COUNTED}"
    lines = [] if quiet else [f"mmcore: {session.device}{told}"]
    if found.refused:
        shown = config.getoption("mm_show_refused")
        hint = "" if shown else "; --mm-show-refused lists them"
        lines.append(f"mmcore: constraints forbid {len(found.refused)} of the combinations asked for{hint}")
        lines += [f"  refused: {refused}" for refused in found.refused if shown]
    tuned = [benchmark.origin for benchmark in found.benchmarks.values() if benchmark.origin]
    if tuned:
        elsewhere = "".join(f", {count} on {card}" for card, count in Counter(map(other_card, tuned)).items() if card)
        lines.append(f"mmcore: {len(tuned)} of the configs are tuned ones{elsewhere}; --mm-config names others")
    lines += [f"mmcore: warning: {warning}" for warning in registry().warnings()]
    if found.buggy and not quiet:
        lines.append(f"mmcore: left out for their known bugs unless named: {', '.join(found.buggy)}")
    return [*map(visible, lines)]


def pytest_report_teststatus(report: pytest.TestReport, config: pytest.Config) -> tuple[str, str, str] | None:
    """A cell that is timed has a line of its own instead of a dot."""
    session = _used(config)
    used = session.benchmarks.get(report.nodeid) if session and report.when == "call" else None
    if session is None or used is None or report.skipped or config.get_verbosity() < 0 or not session.supports_timing:
        return None
    from mmcore_pytest.report import line

    measured = session.results.get(report.nodeid)
    text = visible(line(measured[1])) if measured else "not measured; the reason is below" if report.failed else ""
    if not text:
        return None
    short = f"{used.prefix} {used.benchmark.id}: {text}\n"
    return report.outcome, short, f"PASSED {text}" if report.passed else "FAILED"


@pytest.hookimpl(wrapper=True)
def pytest_runtestloop(session: pytest.Session) -> Generator[None, object, object]:
    """Start the device's worker process, so that no cell's time has that in it; hand an engine its cells."""
    if (ours := _used(session.config)) and not session.config.option.collectonly:
        # What goes wrong, the first cell says.
        with contextlib.suppress(MmcoreError):
            ours.hold_device()
            if ours.engine:
                cells = {item.nodeid: _cell_of(item, ours) for item in session.items if _is_measured(item)}
                ours.engine.hand_out(cells, _kept_in(ours))
    try:
        return (yield)
    except KeyboardInterrupt:
        if ours:
            ours.interrupted = True  # a second one may keep pytest from saying so
        raise


def _kept_in(session: Session) -> Path | None:
    """The folder of what interrupted runs have measured; None where there is none."""
    cache = getattr(session.config, "cache", None)  # none with -p no:cacheprovider
    try:
        return Path(cache.mkdir("mmcore")) if cache else None
    except OSError as error:
        session.problems.append(f"nothing of this run is kept if it is interrupted: {error}")
        return None


def _is_measured(item: pytest.Item) -> bool:
    return "mm_benchmark" in getattr(item, "fixturenames", ())


def _benchmark_of(item: pytest.Item, session: Session) -> tuple[Benchmark, dict[str, Any]]:
    """The benchmark of a test, and the keyword arguments of its mark."""
    parameters = tuple(item.callspec.params[name] for name in _PARAMETERS)  # type: ignore[attr-defined]
    marker = item.get_closest_marker("benchmark")
    return session.found.benchmarks[parameters], dict(marker.kwargs) if marker else {}


def _cell_of(item: pytest.Item, session: Session) -> tuple[Cell, str]:
    """The cell of a test, and its group."""
    benchmark, marker = _benchmark_of(item, session)
    return session.cell(benchmark, marker), benchmark.group


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add up where the time goes, and know which tests have been run."""
    report = yield
    if session := _used(item.config):
        if item.nodeid in session.benchmarks:
            session.benchmarks[item.nodeid].duration += report.duration
        if report.when == "teardown":
            session.reported.add(item.nodeid)
    return report


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> Generator[None, object, object]:
    """Complete what pytest-benchmark is about to save; write the CSV."""
    config = session.config
    if not (ours := _used(config)):
        return (yield)
    from mmcore_pytest.benchmark_internals import save
    from mmcore_pytest.report import complete, write_csv

    results = list(ours.results.values())
    complete(results)
    if (path := config.getoption("mm_csv")) and results:
        try:
            write_csv(path, results)
        except OSError as error:
            ours.unsaved.append(f"{path} cannot be written: {error.strerror}")
    try:
        return (yield)
    finally:
        # What an engine keeps, the run that goes on from there saves.
        if results and not ours.regressed and not (ours.interrupted and ours.keeps):
            before = len(ours.unsaved)
            save(config)
            for problem in ours.unsaved[before:]:  # the summary has been printed
                ours.say(f"mmcore: {problem}")
        if ours.regressed and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
        if ours.unsaved and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = COULD_NOT_RUN
        ours.close()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> Generator[None, object, object]:
    """Print the summary behind pytest-benchmark's tables, and last what ``--benchmark-compare-fail`` found."""
    if not (session := _used(config)):
        return (yield)
    from pytest_benchmark.session import PerformanceRegression

    try:
        return (yield)
    except PerformanceRegression:
        # It would end the run with a traceback; the exit code says as much.
        session.regressed = True
        return None
    finally:
        _print_summary(terminalreporter, session)


def _print_summary(terminal: pytest.TerminalReporter, session: Session) -> None:
    from mmcore_pytest.benchmark_internals import session_of, without_counterpart

    if session.results and session.config.get_verbosity() >= 0:
        from mmcore.cli.output import on_terminal, rendered
        from mmcore_pytest.report import tables, time_spent

        terminal.section("mmcore", sep="-", bold=True)
        spent = time_spent(session.benchmarks.values(), len(session.benchmarks) - len(session.results))
        notes = session.engine.report() if session.engine else []
        for line in rendered(*tables(session.results.values()), "", spent, *notes, terminal=on_terminal()).split("\n"):
            terminal.write_line(line)
    for problem in (*session.problems, *session.unsaved):
        terminal.write_line(visible(f"mmcore: {problem}"), red=True)
    if alone := without_counterpart(session.config, session.results):
        what = f"{len(alone)} of {len(session.results)} cells have no counterpart in the results compared with"
        terminal.write_line(f"mmcore: {what}", yellow=True)
    if session.regressed:
        terminal.write_line("mmcore: not saved, as it is slower than --benchmark-compare-fail allows:", red=True)
        for name, reason in session_of(session.config).performance_regressions:
            terminal.write_line(visible(f"  {name}: {reason}"), red=True)


@pytest.hookimpl(optionalhook=True)
def pytest_benchmark_update_machine_info(config: pytest.Config, machine_info: dict[str, Any]) -> None:
    """Say what was measured on."""
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
    if not is_ours(compared_benchmark):
        return
    if config.option.collectonly:
        return
    try:  # nothing is collected yet, so it is here that the device is opened
        facts = run_of(config).described["facts"]
    except MmcoreError as error:
        raise pytest.UsageError(visible(str(error))) from None
    describe(machine_info, facts)
    reason = other_device(machine_info, compared_benchmark["machine_info"])
    if reason and not config.getoption("mm_allow_other_device"):
        what = f"the results to compare with are of another device: {reason}"
        raise pytest.UsageError(f"{what}; --mm-allow-other-device compares them anyway")

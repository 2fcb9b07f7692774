"""The pytest plugin: options ``--mm-…`` and the fixtures ``mm_cell`` and ``mm_benchmark``.

It is loaded wherever mmcore is installed, so it costs nothing until a test asks for a cell. Cells are measured by
:func:`mmcore.measure.measure`; pytest-benchmark gets their rounds and stays in charge of statistics, storage and
comparison.
"""

from __future__ import annotations

import contextlib
from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import pytest

from mmcore.errors import MmcoreError
from mmcore.pytest_plugin.options import add_options

if TYPE_CHECKING:
    from mmcore.pytest_plugin.benchmark import CellBenchmark
    from mmcore.pytest_plugin.cells import Benchmark
    from mmcore.pytest_plugin.session import Session

PARAMETERS = ("mm_kernel", "mm_size", "mm_config", "mm_measure")

_SESSION: pytest.StashKey[Session] = pytest.StashKey()


def run_of(config: pytest.Config) -> Session:
    """What there is to know of a run."""
    if _SESSION not in config.stash:
        from mmcore.pytest_plugin.session import Session

        config.stash[_SESSION] = Session(config)
    return config.stash[_SESSION]


def _is_used(config: pytest.Config) -> bool:
    return _SESSION in config.stash and config.stash[_SESSION].items > 0


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options."""
    add_options(parser)


def pytest_configure(config: pytest.Config) -> None:
    """Refuse contradictory options before anything runs."""
    from mmcore.pytest_plugin.options import Selection

    try:
        Selection.of(config)
    except MmcoreError as error:
        raise pytest.UsageError(str(error)) from None


@pytest.fixture
def mm_cell(mm_kernel: str, mm_size: str, mm_config: str, mm_measure: str, request: pytest.FixtureRequest) -> Benchmark:
    """One kernel, product, config and way of measuring; every test that asks for it is run for each selected one."""
    return run_of(request.config).found.benchmarks[mm_kernel, mm_size, mm_config, mm_measure]


@pytest.fixture
def mm_benchmark(mm_cell: Benchmark, benchmark: Any, request: pytest.FixtureRequest) -> CellBenchmark:
    """A function without arguments that verifies the cell's kernel, measures it, and tells pytest-benchmark."""
    from mmcore.pytest_plugin.benchmark import CellBenchmark

    session, node = run_of(request.config), request.node
    try:
        session.hold_device()
    except MmcoreError as error:
        pytest.fail(str(error), pytrace=False)
    marker = node.get_closest_marker("benchmark")
    used = CellBenchmark(
        mm_cell,
        session.device,
        session.selection.timeout,
        session.timing(mm_cell, marker.kwargs if marker else {}),
        benchmark,
        session.clock,
        lambda result: session.results.update({node.nodeid: (mm_cell, result, benchmark.extra_info)}),
    )
    session.begin(node.nodeid, used)
    return used


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run every test that wants a cell once for each."""
    if "mm_cell" not in metafunc.fixturenames:
        return
    try:
        found = run_of(metafunc.config).found
    except MmcoreError as error:
        raise pytest.Collector.CollectError(str(error)) from None
    if not found.benchmarks:
        reasons = "\n".join(f"  {refused}" for refused in found.refused)
        raise pytest.Collector.CollectError(
            f"there is nothing to measure; the kernels' constraints forbid all that was selected:\n{reasons}"
        )
    ids = [benchmark.id for benchmark in found.benchmarks.values()]
    metafunc.parametrize(PARAMETERS, list(found.benchmarks), ids=ids)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Give each cell the clock and its group."""
    measured = [item for item in items if "mm_benchmark" in getattr(item, "fixturenames", ())]
    if not measured:
        return
    from mmcore.pytest_plugin.benchmark_session import prepare

    session = run_of(config)
    session.items = len(measured)
    for item in measured:
        parameters = tuple(item.callspec.params[name] for name in PARAMETERS)  # type: ignore[attr-defined]
        marker = item.get_closest_marker("benchmark")
        group = session.found.benchmarks[parameters].group
        options = {"group": group, **(marker.kwargs if marker else {}), "timer": session.clock}
        item.add_marker(pytest.mark.benchmark(**options), append=False)
    prepare(config, supports_timing=session.supports_timing)


def pytest_report_collectionfinish(config: pytest.Config) -> list[str]:
    """Say what is going to be measured, and on what."""
    if not _is_used(config):
        return []
    from mmcore.pytest_plugin.cells import COUNTED
    from mmcore.registry import registry

    session = run_of(config)
    found, quiet = session.found, config.get_verbosity() < 0
    lines = [] if quiet else [f"mmcore: {session.device}{'' if session.supports_timing else f'; {COUNTED}'}"]
    if found.refused:
        hint = "" if config.getoption("mm_show_refused") else "; --mm-show-refused lists them"
        lines.append(f"mmcore: constraints forbid {len(found.refused)} of the combinations asked for{hint}")
    if config.getoption("mm_show_refused"):
        lines += [f"  refused: {refused}" for refused in found.refused]
    lines += [f"mmcore: warning: {warning}" for warning in registry().warnings()]
    if found.buggy and not quiet:
        lines.append(f"mmcore: left out for their known bugs unless named: {', '.join(found.buggy)}")
    return lines


def pytest_report_teststatus(report: pytest.TestReport, config: pytest.Config) -> tuple[str, str, str] | None:
    """A cell that is timed has a line of its own instead of a dot."""
    if report.when != "call" or not _is_used(config) or config.get_verbosity() < 0:
        return None
    session = run_of(config)
    if report.nodeid not in session.benchmarks or not session.supports_timing or report.skipped:
        return None
    from mmcore.pytest_plugin.report import line

    measured = session.results.get(report.nodeid)
    text = line(measured[1]) if measured else "not measured; the reason is below" if report.failed else ""
    if not text:
        return None
    short = f"{session.prefixes[report.nodeid]} {session.benchmarks[report.nodeid].benchmark.id}: {text}\n"
    return report.outcome, short, f"PASSED {text}" if report.passed else "FAILED"


@pytest.hookimpl(wrapper=True)
def pytest_runtestloop(session: pytest.Session) -> Generator[None, object, object]:
    """Start the device's worker process, so that no cell's time has that in it."""
    config = session.config
    if _is_used(config) and not config.option.collectonly:
        # What goes wrong, the first cell says.
        with contextlib.suppress(MmcoreError):
            run_of(config).hold_device()
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add up where the time goes."""
    report = yield
    if _is_used(item.config) and item.nodeid in run_of(item.config).benchmarks:
        durations = run_of(item.config).durations
        durations[item.nodeid] = durations.get(item.nodeid, 0.0) + report.duration
    return report


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> Generator[None, object, object]:
    """Complete what pytest-benchmark is about to save; write the CSV."""
    config = session.config
    if not _is_used(config):
        return (yield)
    from mmcore.pytest_plugin.benchmark_session import save
    from mmcore.pytest_plugin.report import complete, write_csv

    ours = run_of(config)
    results = list(ours.results.values())
    complete(results)
    if (path := config.getoption("mm_csv")) and results:
        try:
            write_csv(path, results)
        except OSError as error:
            ours.problems.append(f"{path} cannot be written: {error.strerror}")
    try:
        return (yield)
    finally:
        if results and not ours.regressed:
            save(config)
        if ours.regressed and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
        ours.close()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> Generator[None, object, object]:
    """Print the summary behind pytest-benchmark's tables, and last what ``--benchmark-compare-fail`` found."""
    if not _is_used(config):
        return (yield)
    from pytest_benchmark.session import PerformanceRegression

    session = run_of(config)
    try:
        return (yield)
    except PerformanceRegression:
        # It would end the run with a traceback; the exit code says as much.
        session.regressed = True
        return None
    finally:
        _print_summary(terminalreporter, session)


def _print_summary(terminal: pytest.TerminalReporter, session: Session) -> None:
    from mmcore.pytest_plugin.benchmark_session import session_of, without_counterpart

    if session.results and session.config.get_verbosity() >= 0:
        _print_tables(terminal, session)
    for problem in session.problems:
        terminal.write_line(f"mmcore: {problem}", red=True)
    if alone := without_counterpart(session.config, session.results):
        what = f"{len(alone)} of {len(session.results)} cells have no counterpart in the results compared with"
        terminal.write_line(f"mmcore: {what}", yellow=True)
    if session.regressed:
        terminal.write_line("mmcore: not saved, as it is slower than --benchmark-compare-fail allows:", red=True)
        for name, reason in session_of(session.config).performance_regressions:
            terminal.write_line(f"  {name}: {reason}", red=True)


def _print_tables(terminal: pytest.TerminalReporter, session: Session) -> None:
    from mmcore.cli.output import on_terminal, rendered
    from mmcore.pytest_plugin.report import tables, time_spent

    phases = {test: dict(used.result.phases) if used.result else {} for test, used in session.benchmarks.items()}
    missing = len(phases) - len(session.results)
    terminal.section("mmcore", sep="-", bold=True)
    spent = time_spent(session.durations, phases, missing)
    text = rendered(*tables(session.results.values()), "", spent, terminal=on_terminal())
    for line in text.split("\n"):
        terminal.write_line(line)


@pytest.hookimpl(optionalhook=True)
def pytest_benchmark_update_machine_info(config: pytest.Config, machine_info: dict[str, Any]) -> None:
    """Say what was measured on."""
    if _is_used(config):
        from mmcore.saved import describe

        describe(machine_info, run_of(config).described["facts"])


@pytest.hookimpl(optionalhook=True, tryfirst=True)
def pytest_benchmark_compare_machine_info(
    config: pytest.Config, machine_info: dict[str, Any], compared_benchmark: dict[str, Any]
) -> None:
    """Refuse to compare with another device, or with what is damaged; results of 0.1 get the names of now.

    pytest-benchmark asks before anything is collected, so the device is opened here for results of mmcore's.
    """
    from mmcore.saved import damage, describe, is_ours, other_device, upgraded

    if harm := damage(compared_benchmark):
        raise pytest.UsageError(f"the results to compare with are damaged: {harm}")
    if not is_ours(compared_benchmark):
        return
    compared_benchmark.update(upgraded(compared_benchmark))
    try:
        facts = run_of(config).described["facts"]
    except MmcoreError as error:
        raise pytest.UsageError(str(error)) from None
    describe(machine_info, facts)
    reason = other_device(machine_info, compared_benchmark["machine_info"])
    if reason and not config.getoption("mm_allow_other_device"):
        raise pytest.UsageError(
            f"the results to compare with are of another device: {reason}; --mm-allow-other-device compares them anyway"
        )

"""The pytest plugin: options ``--mm-…`` and the fixtures ``mm_cell`` and ``mm_benchmark``.

It is loaded wherever mmcore is installed, so it costs nothing until a test asks for a cell. pytest-benchmark stays in
charge of rounds, statistics, storage and comparison.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import pytest

from mmcore.pytest_plugin.options import add_options
from mmcore.errors import MmcoreError

if TYPE_CHECKING:
    from mmcore.pytest_plugin.cells import Cell, Cells
    from mmcore.pytest_plugin.measuring import CellBenchmark
    from mmcore.pytest_plugin.result import Result
    from mmcore.pytest_plugin.session import Session

PARAMETERS = ("mm_kernel", "mm_size", "mm_block", "mm_measure")

_SESSION: pytest.StashKey[Session] = pytest.StashKey()


def run_of(config: pytest.Config) -> Session:
    """What there is to know of a run; for other plugins too."""
    if _SESSION not in config.stash:
        from mmcore.pytest_plugin.session import Session

        config.stash[_SESSION] = Session(config)
    return config.stash[_SESSION]


def _is_used(config: pytest.Config) -> bool:
    return _SESSION in config.stash and config.stash[_SESSION].items > 0


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options."""
    add_options(parser)


@pytest.fixture
def mm_cell(mm_kernel: str, mm_size: str, mm_block: str, mm_measure: str, request: pytest.FixtureRequest) -> Cell:
    """One kernel, problem, block and way of measuring; every test that asks for it is run for each selected cell."""
    return run_of(request.config).cells[mm_kernel, mm_size, mm_block, mm_measure]


@pytest.fixture
def mm_benchmark(mm_cell: Cell, benchmark: Any, request: pytest.FixtureRequest) -> CellBenchmark:
    """A function without arguments that verifies the cell's kernel, then has pytest-benchmark measure it."""
    from mmcore.pytest_plugin.measuring import CellBenchmark

    session, node = run_of(request.config), request.node
    session.hold_device()
    used = CellBenchmark(
        mm_cell,
        session.bench,
        benchmark,
        session.clock,
        lambda result: session.results.update({node.nodeid: (result, benchmark.extra_info)}),
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
    cells = found.cells
    if not cells:
        reasons = "\n".join(_refusals(found))
        raise pytest.Collector.CollectError(
            f"there is nothing to measure; all that was selected is refused:\n{reasons}"
        )
    metafunc.parametrize(PARAMETERS, list(cells), ids=[cell.id for cell in cells.values()])


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
        cell = session.cells[tuple(item.callspec.params[name] for name in PARAMETERS)]  # type: ignore[attr-defined]
        marker = item.get_closest_marker("benchmark")
        options = {**_usual_options(session, cell), **(marker.kwargs if marker else {}), "timer": session.clock}
        item.add_marker(pytest.mark.benchmark(**options), append=False)
    prepare(config, session.bench.device)


def _usual_options(session: Session, cell: Cell) -> dict[str, Any]:
    """What pytest-benchmark's mark says of a cell, unless the test has one of its own."""
    from mmcore.pytest_plugin.cells import title

    device = session.bench.device
    options: dict[str, Any] = {"group": title(cell.group, device.description, supports_timing=device.supports_timing)}
    if cell.measure.how == "cold":
        # Emptying the cache takes many times as long as a short kernel; a tenth of the rounds is enough.
        options["max_time"] = float(session.config.getoption("benchmark_max_time")) / 10
    return options


def pytest_report_collectionfinish(config: pytest.Config) -> list[str]:
    """Say what is going to be measured, on what and how."""
    if not _is_used(config):
        return []
    session = run_of(config)
    from mmcore.pytest_plugin.cells import EMULATED

    device, found = session.bench.device, session.found
    how = f"kernel times by {device.facts.get('clock', 'its own clock')}" if device.supports_timing else EMULATED
    lines = [f"mmcore: {device.name} ({device.description}); {how}"]
    if found.refused:
        hint = "" if config.getoption("mm_show_refused") else "; --mm-show-refused lists them"
        lines.append(f"mmcore: launch rules refuse {len(found.refused)} of the combinations asked for{hint}")
    if config.getoption("mm_show_refused"):
        lines += _refusals(found)
    lines += [f"mmcore: warning: {complaint}" for complaint in session.warnings]
    if found.faulty:
        lines.append(f"mmcore: left out for their known violations unless named: {', '.join(found.faulty)}")
    return lines


def _refusals(found: Cells) -> list[str]:
    return [f"  refused: {refusal}" for refusal in found.refused]


def pytest_report_teststatus(report: pytest.TestReport, config: pytest.Config) -> tuple[str, str, str] | None:
    """A cell has a line of its own instead of a dot or an F."""
    line = _line(config, report)
    if not line or config.get_verbosity() < 0:
        return None
    session = run_of(config)
    short = f"{session.prefixes[report.nodeid]} {session.benchmarks[report.nodeid].cell.id}: {line}\n"
    return report.outcome, short, f"PASSED {line}" if report.passed else "FAILED"


def _line(config: pytest.Config, report: pytest.TestReport) -> str:
    """What there is to say of a cell that has just been run; empty for any other report."""
    if report.when != "call" or not _is_used(config) or report.nodeid not in run_of(config).benchmarks:
        return ""
    from mmcore.pytest_plugin.report import line

    session = run_of(config)
    if report.nodeid in session.results:
        return line(session.results[report.nodeid][0])
    return "not measured; the reason is below" if report.failed else ""


def pytest_configure(config: pytest.Config) -> None:
    """Refuse contradictory options before anything runs."""
    from mmcore.pytest_plugin.options import Selection

    try:
        Selection.of(config)
    except MmcoreError as error:
        raise pytest.UsageError(str(error)) from None


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
    from mmcore.pytest_plugin.report import by_group, percent_of_best, write_csv

    ours = run_of(config)
    ours.close()
    results = [result for result, _ in ours.results.values()]
    groups = by_group(results)
    for result, info in ours.results.values():
        info["percent_of_best"] = percent_of_best(result, groups[result.cell.group])
    if (path := config.getoption("mm_csv")) and results:
        try:
            write_csv(path, results)
        except OSError as error:
            ours.complaints.append(f"{path} cannot be written: {error.strerror}")
    try:
        return (yield)
    finally:
        if results and not ours.regressed:
            save(config)
        if ours.regressed and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED


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
    results = [result for result, _ in session.results.values()]
    if results:
        _print_tables(terminal, session, results)
    from mmcore.pytest_plugin.benchmark_session import session_of, without_counterpart

    for complaint in session.complaints:
        terminal.write_line(f"mmcore: {complaint}", red=True)
    if alone := without_counterpart(session.config, session.results):
        what = f"{len(alone)} of {len(session.results)} cells have no counterpart in the results compared with"
        terminal.write_line(f"mmcore: {what}", yellow=True)
    if session.regressed:
        terminal.write_line("mmcore: not saved, as it is slower than --benchmark-compare-fail allows:", red=True)
        for name, reason in session_of(session.config).performance_regressions:
            terminal.write_line(f"  {name}: {reason}", red=True)


def _print_tables(terminal: pytest.TerminalReporter, session: Session, results: list[Result]) -> None:
    from mmcore.pytest_plugin.report import tables, time_spent
    from mmcore.cli.output import on_terminal, rendered

    phases = {test: used.phases.seconds for test, used in session.benchmarks.items()}
    missing = len(phases) - len(results)
    terminal.section("mmcore", sep="-", bold=True)
    text = rendered(*tables(results), "", time_spent(session.durations, phases, missing), terminal=on_terminal())
    for line in text.split("\n"):
        terminal.write_line(line)


@pytest.hookimpl(optionalhook=True)
def pytest_benchmark_update_machine_info(config: pytest.Config, machine_info: dict[str, Any]) -> None:
    """Say what was measured on."""
    if _is_used(config):
        from mmcore.pytest_plugin.machine import describe

        describe(machine_info, run_of(config).bench.device)


@pytest.hookimpl(optionalhook=True, tryfirst=True)
def pytest_benchmark_compare_machine_info(
    config: pytest.Config, machine_info: dict[str, Any], compared_benchmark: dict[str, Any]
) -> None:
    """Refuse to compare with another device, or with what is damaged.

    pytest-benchmark asks before anything is collected, so the device is opened here for results of mmcore's.
    """
    from mmcore.pytest_plugin.machine import describe, other_device
    from mmcore.pytest_plugin.saved import damage, is_ours

    if harm := damage(compared_benchmark):
        raise pytest.UsageError(f"the results to compare with are damaged: {harm}")
    if not is_ours(compared_benchmark):
        return
    try:
        device = run_of(config).bench.device
    except MmcoreError as error:
        raise pytest.UsageError(str(error)) from None
    describe(machine_info, device)
    reason = other_device(machine_info, compared_benchmark["machine_info"])
    if reason and not config.getoption("mm_allow_other_device"):
        raise pytest.UsageError(
            f"the results to compare with are of another device: {reason}; --mm-allow-other-device compares them anyway"
        )

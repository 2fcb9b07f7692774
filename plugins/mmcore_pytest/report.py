"""The report of a run: progress lines, the summary with its tables, and CSV."""

from __future__ import annotations

import csv
import io
import shutil
import textwrap
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import pytest
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from mmcore.baseline_comparison import BEFORE
from mmcore.cli.output import on_terminal, rendered
from mmcore.files import write
from mmcore.messages import visible
from mmcore.registry import registry
from mmcore.result import Result
from mmcore.result_view import bound
from mmcore_cuda.tuned_configs.files import other_card
from mmcore_cuda.tuned_configs.model import MODELLED
from mmcore_pytest.benchmark_internals import session_of, without_counterpart
from mmcore_pytest.collection import Benchmark
from mmcore_pytest.fixture import CellBenchmark
from mmcore_pytest.predicted import predicted_lines

if TYPE_CHECKING:
    from mmcore_pytest.session import Session

Measured: TypeAlias = tuple[Benchmark, Result]

_PHASES = {"compile": "compiling", "verify": "verifying", "time": "timing", "hazards": "looking for hazards"}
_NAMES_COLUMNS = 34  # at most, of a kernel's name and its config's id on one line
_IN_FILES_ONLY = ("flop_per_byte",)  # it follows from the sectors, which a table of one product shows
_NAMED = 10  # cells that are named in one line, at most
_LINE_COLUMNS = 30  # at most, of a config's line below the kernel's name
_CSV_COLUMNS = """
    kernel device_description m n k dtype operation block config measure caches memory
    median_ms spread_percent gflops percent_of_peak percent_of_best baseline percent_of_baseline emulation_ms
    speed_of_light bound_ms bound_by
    registers shared_bytes verified verification clock
"""


def collection_lines(session: Session) -> list[str]:
    """Return the device, and the combinations that are left out, wrapped for a terminal."""
    collection, config = session.collection, session.config
    quiet = config.get_verbosity() < 0
    note = "" if session.supports_timing else f"{session.findings}; counts, no times: the device supports no timing"
    lines = [] if quiet else [f"mmcore: {session.device}{note}"]
    if collection.refused:
        shown = config.getoption("mm_show_refused")
        hint = "" if shown else "; --mm-show-refused lists them"
        lines.append(f"mmcore: constraints forbid {len(collection.refused)} of the selected combinations{hint}")
        lines += [f"  refused: {refused}" for refused in collection.refused if shown]
    chosen = [benchmark.origin for benchmark in collection.benchmarks if benchmark.origin]
    if chosen:
        modelled = chosen.count(MODELLED)
        counts = [f"{len(chosen) - modelled} of the configs are tuned"]
        counts += [f"{count} on {card}" for card, count in Counter(map(other_card, chosen)).items() if card]
        counts += [f"{modelled} chosen by the model"] if modelled else []
        lines.append(f"mmcore: {', '.join(counts)}; --mm-config selects others")
    lines += [f"mmcore: warning: {warning}" for warning in registry().warnings()]
    if collection.buggy and not quiet:
        lines.append(f"mmcore: left out for their known bugs unless named: {', '.join(collection.buggy)}")
    terminal: Any = config.pluginmanager.get_plugin("terminalreporter")
    if terminal and terminal.isatty:
        width = shutil.get_terminal_size().columns
        lines = [part for line in lines for part in textwrap.wrap(line, width, subsequent_indent="  ")]
    return [*map(visible, lines)]


def print_summary(terminal: pytest.TerminalReporter, session: Session) -> None:
    """Print the tables, the time spent, warnings, and the regressions of ``--benchmark-compare-fail``."""
    if session.results and session.config.get_verbosity() >= 0:
        terminal.section("mmcore", sep="-", bold=True)
        spent = time_spent(session.benchmarks.values(), len(session.benchmarks) - len(session.results))
        notes = session.engine.report() if session.engine else []
        for line in rendered(*tables(session.results.values()), "", spent, *notes, terminal=on_terminal()).split("\n"):
            terminal.write_line(line)
    for text in predicted_lines(session.results.values()):
        terminal.write_line(visible(text))
    for problem in (*session.problems, *session.unsaved):
        terminal.write_line(visible(f"mmcore: {problem}"), red=True)
    if alone := without_counterpart(session.config, session.results):
        count = f"{len(alone)} of {len(session.results)} cells"
        terminal.write_line(f"mmcore: {count} have no counterpart in the compared results", yellow=True)
    if session.vanished:
        terminal.write_line(visible(_vanished(session.vanished)), yellow=True)
    for text in session.times.lines() if session.times.ratios else ():
        terminal.write_line(visible(text))
    for text in before_and_now([result for _, result in session.results.values()]):
        terminal.write_line(visible(text))
    if session.counts.compared:
        for text in session.counts.lines():
            terminal.write_line(visible(text), red=session.counts.regressed)
    if worse := session.counts.worse:
        terminal.stats["worse"] = worse  # which pytest's last line counts, and is not green then
    if slower := session_of(session.config) and session_of(session.config).performance_regressions:
        terminal.write_line("mmcore: not saved, because it is slower than --benchmark-compare-fail allows:", red=True)
        terminal.stats["slower"] = slower
        for name, reason in slower:
            terminal.write_line(visible(f"  {name}: {reason}"), red=True)


def _vanished(cells: Sequence[str]) -> str:
    """Return a line that names the first cells of a compared run that this run does not have."""
    further = len(cells) - _NAMED
    names = ", ".join(cells[:_NAMED]) + (f" and {further} more" if further > 0 else "")
    count = (
        "1 cell of the compared results is" if len(cells) == 1 else f"{len(cells)} cells of the compared results are"
    )
    return f"mmcore: {count} not in this run: {names}"


def before_and_now(results: Sequence[Result]) -> Iterator[str]:
    """Yield how many results are faster, slower and the same beside another version, with those that changed."""
    pairs = [(result, each) for result in results for each in result.compared if each.title == BEFORE]
    counts = Counter(each.answer or "not compared" for _, each in pairs)
    if pairs:
        yield f"mmcore: beside the other version: {', '.join(f'{count} {answer}' for answer, count in counts.items())}"
    for result, each in pairs:
        if each.answer != "same":
            yield f"  {result.kernel} {result.cell.m}×{result.cell.n}×{result.cell.k} {result.config_id}: {each}"


def by_group(results: Iterable[Measured]) -> dict[str, list[Measured]]:
    """Return comparable results by the title of their table, fastest first; small problems before large ones."""
    groups: dict[str, list[Measured]] = {}
    for measured in results:
        groups.setdefault(measured[0].group, []).append(measured)
    ranked = {group: sorted(members, key=lambda each: _seconds(each[1])) for group, members in groups.items()}
    return dict(sorted(ranked.items(), key=lambda item: item[1][0][1].flops))


def _seconds(result: Result) -> float:
    return result.times[0].seconds if result.times else 0.0


def percent_of_best(results: Iterable[Measured]) -> dict[str, float | None]:
    """Return how fast each benchmark is, by id, relative to the best of its table; None without times."""
    return {
        benchmark.id: 100 * _seconds(members[0][1]) / _seconds(result) if result.times else None
        for members in by_group(results).values()
        for benchmark, result in members
    }


def _figures(results: Iterable[Measured]) -> list[str]:
    return list(dict.fromkeys(name for _, result in results for name in result.figures))


def tables(results: Iterable[Measured]) -> list[RenderableType]:
    """Return a title and a table for every group."""
    parts: list[RenderableType] = []
    for group, members in by_group(results).items():
        result = members[0][1]
        title = f"{group}, on {result.device_description}" if result.times else group.split(",")[0]
        title += f", by {result.place}" * (len({each.place for _, each in members}) == 1 and result.place != "")
        title += _bound(members)
        title += ": verified" if result.times else ": verified, counts, no times"
        parts += ["", Text(visible(title), "bold"), _table(members)]
        cards = dict.fromkeys(other_card(benchmark.origin) for benchmark, _ in members)
        parts += [Text(visible(f"configs tuned on another card: {card}"), "dim") for card in cards if card]
    return parts


def _bound(members: Sequence[Measured]) -> str:
    """Return the least time of a product whose results were all timed against the same bound."""
    bounds = {(result.bound_ms, result.bound_by) for _, result in members}
    milliseconds, by = next(iter(bounds))
    return "" if milliseconds is None or len(bounds) > 1 else f" ({bound(milliseconds / 1e3, by)})"


def _table(members: Sequence[Measured]) -> Table:
    """Return a table of at most 80 columns, a row for each result; long configs are printed below the kernel's name."""
    timed = bool(members[0][1].times)
    # Eighty columns hold either times or counts.
    figures = [] if timed else [name for name in _figures(members) if name not in _IN_FILES_ONLY]
    baseline = next((f"of\n{each.baseline.label}" for _, each in members if each.baseline), "")
    times = ["median,\nµs", "spread", "GFLOP/s", "speed\nof light", "of\nbest", baseline] if timed else []
    long = max(len(benchmark.kernel.name + benchmark.config.id) for benchmark, _ in members) > _NAMES_COLUMNS
    sampled = not all(_all_compared(result) for _, result in members)
    several = len({result.place for _, result in members}) > 1
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    for heading in ("kernel", *(() if long else ("config",))):
        table.add_column(heading, no_wrap=True)
    for heading in (*filter(None, times), *(name.replace("_", "\n", 1).replace("_", " ") for name in figures)):
        table.add_column(heading, justify="right", no_wrap=True)
    for heading in ("verified",) * sampled + ("on",) * several:
        table.add_column(heading)
    best = _seconds(members[0][1])
    for benchmark, result in members:
        config = _config(benchmark, result)
        named = [f"{result.kernel}\n{_below(config)}"] if long else [result.kernel, config]
        numbers = _times(result, best, bool(baseline)) if timed else []
        numbers += [_number(result.figures.get(name)) for name in figures]
        ends = ["all" if _all_compared(result) else "sampled"] * sampled + [result.place] * several
        table.add_row(*named, *numbers, *ends)
    return table


def _all_compared(result: Result) -> bool:
    verification = result.verification
    return verification is not None and verification.compared == result.cell.m * result.cell.n


def _config(benchmark: Benchmark, result: Result) -> str:
    """Return the config's id, followed by the launched block if it differs from the config's."""
    launched = [launch.block for launch in result.launched]
    other = launched and benchmark.config.block not in launched
    return f"{benchmark.config.id} ({launched[0]} launched)" if other else benchmark.config.id


def _below(config: str) -> str:
    """Return a config's id on indented lines, broken between parameters."""
    lines = ["  "]
    for word in config.split("-"):
        if lines[-1].strip() and len(lines[-1]) + len(word) > _LINE_COLUMNS:
            lines.append("  ")
        lines[-1] += f"{word}-"
    return "\n".join(lines)[:-1]


def _times(result: Result, best: float, with_baseline: bool) -> list[str]:
    time, light = result.times[0], result.speed_of_light
    percents = [light and 100 * light, 100 * best / time.seconds, result.percent_of_baseline]
    rate = _number(result.rate(time.seconds))
    columns = [f"{time.seconds * 1e6:.2f}", _percent(100 * time.spread, 2), rate, *map(_percent, percents)]
    return columns if with_baseline else columns[:-1]


def line(result: Result) -> str:
    """Return the text of the progress line of a timed result."""
    time = result.times[0]
    rate = _number(result.rate(time.seconds))
    words = [f"verified, {time.seconds * 1e6:.2f} µs ±{100 * time.spread:.2f} %, {rate} GFLOP/s"]
    return ", ".join([*words, *(str(each) for each in result.compared if each.time)])


def time_spent(used: Collection[CellBenchmark], missing: int) -> str:
    """Return a sentence on the time that each phase of the run took; ``missing`` of the cells have no result."""
    phases = [each.result.phases if each.result else {} for each in used]
    # An interrupted test has phases, but no duration.
    durations = [each.duration or sum(spent.values()) for each, spent in zip(used, phases, strict=True)]
    spent = {name: sum(each.get(name, 0.0) for each in phases) for name in _PHASES}
    other = [
        seconds - sum(each.get(name, 0.0) for name in _PHASES) for seconds, each in zip(durations, phases, strict=True)
    ]
    parts = ", ".join(f"{words} {spent[name]:.1f} s" for name, words in _PHASES.items())
    places = {each.result.place for each in used if each.result}
    cells = "1 cell" if len(used) == 1 else f"{len(used)} cells"
    cells += f", {missing} of them not measured," if missing else ""
    if places - {""}:
        workers = "1 worker" if len(places) == 1 else f"{len(places)} workers"
        return f"{cells} in {sum(durations):.1f} s on {workers}, in all {parts}"
    if min(other) < 0:  # the next cells are measured while hazards are looked for
        return f"{cells} in {sum(durations):.1f} s in several processes: {parts}"
    rest = f"everything else {sum(other):.1f} s (at most {1e3 * max(other):.0f} ms in a cell)"
    return f"{cells} in {sum(durations):.1f} s: {parts}, {rest}"


def write_csv(path: Path, results: Sequence[Measured]) -> None:
    """Write the results as CSV in the order of the tables, a row each, with times in ms and empty missing values."""
    columns = [*_CSV_COLUMNS.split(), *_figures(results)]
    table = io.StringIO()
    writer = csv.writer(table)
    writer.writerow(columns)
    percents = percent_of_best(results)
    for benchmark, result in (each for members in by_group(results).values() for each in members):
        info = benchmark.extra_info(result)
        config = {"block": benchmark.config.block_text, "config": str(benchmark.config)}
        values = {**info, **info["problem"], **config, "percent_of_best": percents[benchmark.id]}
        writer.writerow(["" if values.get(name) is None else values[name] for name in columns])
    write(path, table.getvalue().encode())


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}" if value < 1000 else f"{value:.0f}"


def _percent(value: float | None, digits: int = 1) -> str:
    return "" if value is None else f"{value:.{digits}f} %"

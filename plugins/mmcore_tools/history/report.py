"""The report of ``mmcore bench-history``: a table for each model of card, notes, outlying hosts and a summary."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from textwrap import wrap
from typing import Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from mmcore_tools.history.reading import USUAL_MEASURE, History, Run, Subject, Unverified
from mmcore_tools.history.trends import FASTER, LATELY, NEW, OLD, SLOWER, Limits, Outlier, Trend, Verdict, counted
from mmcore_tools.plots.results import number

_WIDTH = 80  # of a table, so that it fits every terminal
_LINE_COLUMNS = 26  # of a line below a kernel's name
_MOST_HOSTS = 2  # in a row
_MOST_UNVERIFIED = 5  # in the list


@dataclass(frozen=True)
class Findings:
    """Everything that a report shows; ``trends`` begins with the worst."""

    history: History
    trends: Sequence[Trend]
    outliers: Sequence[Outlier]
    unverified: Sequence[Unverified]
    limits: Limits

    def to_json(self) -> dict[str, Any]:
        """Return the document of ``--json``: all series, the worst first."""
        return {
            "files": self.history.files,
            "problems": self.history.problems,
            "left_out": dict(self.history.left_out),
            "fail_percent": self.limits.percent,
            "window": self.limits.window,
            **counted(self.trends),
            "hosts": [{**each._asdict(), "card": each.card._asdict()} for each in self.outliers],
            "not_verified": [{**_subject(each.subject), **_run(each.run)} for each in self.unverified],
            "series": [_series(each) for each in self.trends],
        }


def report(findings: Findings, *, every: bool) -> list[RenderableType]:
    """Return the tables, the card with the worst series first, and a summary.

    Without ``every``, series that are neither slower nor faster have no row.
    """
    cards = list(dict.fromkeys(each.subject.card for each in findings.trends))
    by_card = sorted(findings.trends, key=lambda each: cards.index(each.subject.card))
    parts: list[RenderableType] = []
    for card, of_card in groupby(by_card, lambda each: each.subject.card):
        members = list(of_card)
        parts += [Text(f"{card}: {_counts(members)}", "bold")]
        if shown := [each for each in members if every or each.state in (SLOWER, FASTER)]:
            notes = [f"[{index}] {text}" for text, index in _numbered(shown).items()]
            parts += [_table(shown, every=every), *notes]
        parts += [*(str(host) for host in findings.outliers if host.card == card), ""]
    return [*parts, *_unverified(findings.unverified), *_summary(findings)]


def _counts(found: Iterable[Trend]) -> str:
    return ", ".join(f"{count} {state}" for state, count in counted(found).items() if count)


def _table(shown: Sequence[Trend], *, every: bool) -> Table:
    """Return a row for each series. If the table is too wide, the other names are folded below the kernel's.

    With ``every``, the number of runs and their noise show why some series did not change.
    """
    names, figures, ends = _names(shown), _figures(shown, every=every), _ends(shown)
    gap = 2
    if sum(max(map(len, (name, *cells))) + gap for name, cells in {**names, **figures, **ends}.items()) - gap > _WIDTH:
        rows = (dict(zip(names, cells, strict=True)) for cells in zip(*names.values(), strict=True))
        names, gap = {"kernel": [*map(_folded, rows)]}, 1
    table = Table(box=None, pad_edge=False, padding=(0, gap, 0, 0))
    for name in names:
        table.add_column(name, overflow="fold")
    for name in figures:
        table.add_column(name, justify="right", no_wrap=True)
    for name in ends:
        table.add_column(name, no_wrap=True)
    for row in zip(*names.values(), *figures.values(), *ends.values(), strict=True):
        table.add_row(*row)
    return table


def _names(shown: Sequence[Trend]) -> dict[str, list[str]]:
    """Return the columns of the subjects, with measures and hosts only if they vary."""
    subjects = [each.subject for each in shown]
    columns = {name: [getattr(each, name) for each in subjects] for name in ("kernel", "size", "config")}
    if any(each.measure != USUAL_MEASURE for each in subjects):
        columns["measure"] = [each.measure for each in subjects]
    if any(len(each.verdicts) > 1 for each in shown):
        columns["on"] = [_hosts(each) for each in shown]
    return columns


def _folded(row: Mapping[str, str]) -> str:
    """Return a row's names in lines: the kernel, the other names, the hosts."""
    lines = partial(wrap, width=_LINE_COLUMNS, initial_indent="  ", subsequent_indent="  ")
    rest = " ".join(cell for name, cell in row.items() if name not in ("kernel", "on"))
    hosts = lines(f"on {row['on']}", break_long_words=False, break_on_hyphens=False) if "on" in row else []
    return "\n".join([row["kernel"], *lines(rest), *hosts])


def _figures(shown: Sequence[Trend], *, every: bool) -> dict[str, list[str]]:
    columns = {
        "runs": [str(len(each.measurements)) for each in shown],
        "now, ms": [number(each.worst.newest.ms) for each in shown],
        "change": [_percent(each.worst.change_percent, "+.1f") for each in shown],
        "noise": [_percent(each.worst.noise_percent, ".1f") for each in shown],
    }
    return {name: cells for name, cells in columns.items() if every or name not in ("runs", "noise")}


def _ends(shown: Sequence[Trend]) -> dict[str, list[str]]:
    """Return the columns of the first changed runs, their commits if any is known, and the notes' numbers."""
    notes, since = _numbered(shown), [each.worst.since for each in shown]
    columns = {"since": [run.day if run else "" for run in since]}
    if any(run and run.commit for run in since):
        columns["commit"] = [run.commit if run else "" for run in since]
    return {**columns, "": [f"[{notes[text]}]" if (text := _text(each)) else "" for each in shown]}


def _hosts(each: Trend) -> str:
    """Return the hosts with the series' state: their number if it is the state on all of them, else the first names."""
    if len(each.hosts) == len(each.verdicts) > 1:
        return f"{len(each.hosts)} hosts"
    names = [name or "?" for name in each.hosts]
    more = f" and {len(names) - _MOST_HOSTS} more" if len(names) > _MOST_HOSTS else ""
    return ", ".join(names[:_MOST_HOSTS]) + more


def _text(each: Trend) -> str:
    return ", ".join(map(str, each.worst.differences))


def _numbered(shown: Iterable[Trend]) -> dict[str, int]:
    """Return the number of each note. Series with the same differences from their references share one."""
    texts = dict.fromkeys(filter(None, map(_text, shown)))
    return {text: index for index, text in enumerate(texts, 1)}


def _percent(value: float | None, form: str) -> str:
    return "" if value is None else f"{value:{form}} %"


def _unverified(wrong: Sequence[Unverified]) -> Iterator[str]:
    if wrong:
        yield f"not verified in the newest run: {len(wrong)}"
        yield from (f"  {each}" for each in wrong[:_MOST_UNVERIFIED])
        if len(wrong) > _MOST_UNVERIFIED:
            yield f"  and {len(wrong) - _MOST_UNVERIFIED} more"


def _summary(findings: Findings) -> Iterator[str]:
    history, limits, states = findings.history, findings.limits, {each.state for each in findings.trends}
    runs = "the run" if limits.window == 1 else f"up to {limits.window} runs"
    yield f"{len(findings.trends)} series in {history.files} files: {_counts(findings.trends)}"
    if NEW in states:
        yield f"new: fewer than {limits.fewest} runs before the newest one"
    if OLD in states:
        yield f"{OLD}: no run on the last {LATELY} days with runs; renamed or removed, perhaps"
    yield f"a change: more than {limits.percent:g} % and the noise, from the median of {runs} before"
    if history.left_out:
        yield f"left out: {history.left_out_text}"


def _series(each: Trend) -> dict[str, Any]:
    return {
        **_subject(each.subject),
        "runs": len(each.measurements),
        **_verdict(each.worst),
        "hosts": [_verdict(verdict) for verdict in each.verdicts],
    }


def _subject(subject: Subject) -> dict[str, Any]:
    return {
        "card": subject.card._asdict(),
        "kernel": subject.kernel,
        "problem": {name: getattr(subject, name) for name in "mnk"},
        "config_id": subject.config,
        "measure": subject.measure,
    }


def _verdict(each: Verdict) -> dict[str, Any]:
    return {
        "state": each.state,
        "newest": {**_run(each.newest.run), "median_ms": each.newest.ms},
        **{name: getattr(each, name) for name in ("reference_ms", "change_percent", "noise_percent")},
        "since": each.since and _run(each.since),
        "differences": [difference._asdict() for difference in each.differences],
    }


def _run(run: Run) -> Mapping[str, str]:
    return {"date": run.date.isoformat(), "host": run.host, "commit": run.commit}

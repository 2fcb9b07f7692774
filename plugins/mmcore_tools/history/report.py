"""What ``mmcore bench-history`` prints: a table for each model of card, what else differs, hosts that stand out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby
from textwrap import wrap
from typing import Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from mmcore_tools.history.hosts import Outlier
from mmcore_tools.history.measurements import USUAL_MEASURE, Run, Subject
from mmcore_tools.history.reading import History
from mmcore_tools.history.trends import FASTER, LATELY, NEW, OLD, SLOWER, Limits, Trend, Verdict, counted
from mmcore_tools.history.unverified import Unverified
from mmcore_tools.plots.results import number

_WIDTH = 80  # that a table may have in every terminal
_LINE_COLUMNS = 26  # of a line below a kernel's name
_MOST_HOSTS = 2  # that a row names
_MOST_UNVERIFIED = 5  # that are named


def report(
    history: History,
    found: Sequence[Trend],
    standing_out: Sequence[Outlier],
    wrong: Sequence[Unverified],
    limits: Limits,
    *,
    every: bool,
) -> list[RenderableType]:
    """The tables, the card with the worst series first; then hosts, and how much was read and left out.

    Args:
        history: what was read.
        found: the trends to report, the worst first.
        standing_out: the hosts to name.
        wrong: what was not verified in its newest run.
        limits: what counted as a change.
        every: whether series that are not slower and not faster have rows too.
    """
    cards = list(dict.fromkeys(each.subject.card for each in found))
    by_card = groupby(sorted(found, key=lambda each: cards.index(each.subject.card)), lambda each: each.subject.card)
    parts: list[RenderableType] = []
    for card, of_card in by_card:
        members = list(of_card)
        parts += [Text(f"{card}: {_counts(members)}", "bold")]
        if shown := [each for each in members if every or each.state in (SLOWER, FASTER)]:
            parts += [_table(shown, every=every), *_notes(shown)]
        parts += [*(str(host) for host in standing_out if host.card == card), ""]
    return [*parts, *_unverified(wrong), *_summary(history, found, limits)]


def _counts(found: Iterable[Trend]) -> str:
    return ", ".join(f"{count} {state}" for state, count in counted(found).items() if count)


def _table(shown: Sequence[Trend], *, every: bool) -> Table:
    """A row for each series, with the runs and their noise where ``every`` asks why some did not change.

    Where eighty columns do not hold it, what does not fit beside a kernel's name stands below it.
    """
    names, figures, ends = _names(shown), _figures(shown, every=every), _ends(shown)
    gap = 2
    if sum(max(map(len, (name, *cells))) + gap for name, cells in {**names, **figures, **ends}.items()) - gap > _WIDTH:
        names, gap = (
            {"kernel": [_folded(dict(zip(names, cells, strict=True))) for cells in zip(*names.values(), strict=True)]},
            1,
        )
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
    """The columns that say what was measured: the way and the hosts only where they differ from the usual."""
    subjects = [each.subject for each in shown]
    columns = {
        "kernel": [each.kernel for each in subjects],
        "size": [each.size for each in subjects],
        "config": [each.config for each in subjects],
    }
    if any(each.measure != USUAL_MEASURE for each in subjects):
        columns["measure"] = [each.measure for each in subjects]
    if any(len(each.verdicts) > 1 for each in shown):
        columns["on"] = [_hosts(each) for each in shown]
    return columns


def _folded(row: Mapping[str, str]) -> str:
    """A row's names in lines: the kernel's, the rest below it, broken where a word or a parameter ends, the hosts."""
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
    """Since when, with the commits where any are known, and the notes' numbers."""
    notes, since = _numbered(shown), [each.worst.since for each in shown]
    columns = {"since": [run.day if run else "" for run in since]}
    if any(run and run.commit for run in since):
        columns["commit"] = [run.commit if run else "" for run in since]
    return {**columns, "": [f"[{notes[text]}]" if (text := _text(each)) else "" for each in shown]}


def _hosts(each: Trend) -> str:
    """The hosts on which a series is what it is: how many if it is on all of them, or else the first few's names."""
    if len(each.hosts) == len(each.verdicts) > 1:
        return f"{len(each.hosts)} hosts"
    names = [name or "?" for name in each.hosts]
    more = f" and {len(names) - _MOST_HOSTS} more" if len(names) > _MOST_HOSTS else ""
    return ", ".join(names[:_MOST_HOSTS]) + more


def _text(each: Trend) -> str:
    return ", ".join(map(str, each.worst.differences))


def _numbered(shown: Iterable[Trend]) -> dict[str, int]:
    """The number of each note: series that differ from their references in the same share one."""
    texts = dict.fromkeys(filter(None, map(_text, shown)))
    return {text: index for index, text in enumerate(texts, 1)}


def _notes(shown: Iterable[Trend]) -> list[str]:
    return [f"[{index}] {text}" for text, index in _numbered(shown).items()]


def _percent(value: float | None, form: str) -> str:
    return "" if value is None else f"{value:{form}} %"


def _unverified(wrong: Sequence[Unverified]) -> Iterator[str]:
    if wrong:
        yield f"not verified in the newest run: {len(wrong)}"
        yield from (f"  {each}" for each in wrong[:_MOST_UNVERIFIED])
        if len(wrong) > _MOST_UNVERIFIED:
            yield f"  and {len(wrong) - _MOST_UNVERIFIED} more"


def _summary(history: History, found: Sequence[Trend], limits: Limits) -> Iterator[str]:
    runs = "the run" if limits.window == 1 else f"up to {limits.window} runs"
    yield f"{len(found)} series in {history.files} files: {_counts(found)}"
    if any(each.state == NEW for each in found):
        yield f"new is what has fewer than {limits.fewest} runs before its newest one"
    if any(each.state == OLD for each in found):
        yield f"{OLD} is what no run has on the last {LATELY} days with runs: renamed or removed, perhaps"
    yield f"a change: more than {limits.percent:g} % and the noise, from the median of {runs} before"
    if history.left_out:
        yield f"left out: {history.what_was_left_out}"


def to_json(
    history: History,
    found: Iterable[Trend],
    standing_out: Iterable[Outlier],
    wrong: Iterable[Unverified],
    limits: Limits,
) -> dict[str, Any]:
    """What ``--json`` says: all series, the worst first; times in ms, changes and noise in percent."""
    found = list(found)
    return {
        "files": history.files,
        "problems": list(history.problems),
        "left_out": dict(history.left_out),
        "fail_percent": limits.percent,
        "window": limits.window,
        **counted(found),
        "hosts": [{**each._asdict(), "card": each.card._asdict()} for each in standing_out],
        "not_verified": [{**_subject(each.subject), **_run(each.run)} for each in wrong],
        "series": [_series(each) for each in found],
    }


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
        "problem": {"m": subject.m, "n": subject.n, "k": subject.k},
        "config_id": subject.config,
        "measure": subject.measure,
    }


def _verdict(each: Verdict) -> dict[str, Any]:
    return {
        "state": each.state,
        "newest": {**_run(each.newest.run), "median_ms": each.newest.ms},
        "reference_ms": each.reference_ms,
        "change_percent": each.change_percent,
        "noise_percent": each.noise_percent,
        "since": each.since and _run(each.since),
        "differences": [difference._asdict() for difference in each.differences],
    }


def _run(run: Run) -> Mapping[str, str]:
    return {"date": run.date.isoformat(), "host": run.host, "commit": run.commit}

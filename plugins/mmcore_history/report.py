"""What ``mmcore bench-history`` prints: a table for each model of card, what else differs, hosts that stand out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from mmcore.cli.output import visible
from mmcore_history.hosts import Outlier
from mmcore_history.measurements import USUAL_MEASURE, Run, Subject
from mmcore_history.reading import History
from mmcore_history.trends import FASTER, LATELY, NEW, OLD, SLOWER, Limits, Trend, Verdict, counted
from mmcore_history.unverified import Unverified
from mmcore_plots.results import number

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
        parts += [Text(visible(f"{card}: {_counts(members)}"), "bold")]
        if shown := [each for each in members if every or each.state in (SLOWER, FASTER)]:
            parts += [_table(shown, every=every), *_notes(shown)]
        parts += [*(str(host) for host in standing_out if host.card == card), ""]
    return [*parts, *_unverified(wrong), *_summary(history, found, limits)]


def _counts(found: Iterable[Trend]) -> str:
    return ", ".join(f"{count} {state}" for state, count in counted(found).items() if count)


def _table(shown: Sequence[Trend], *, every: bool) -> Table:
    """A row for each series, with the runs and their noise where ``every`` asks why some did not change."""
    measures = any(each.subject.measure != USUAL_MEASURE for each in shown)
    commits = any(each.worst.since and each.worst.since.commit for each in shown)
    hosts = any(len(each.verdicts) > 1 for each in shown)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name in ("kernel", "size", "config", *(["measure"] if measures else []), *(["on"] if hosts else [])):
        table.add_column(name, no_wrap=name == "kernel")
    for name in (*(["runs"] if every else []), "now, ms", "change", *(["noise"] if every else [])):
        table.add_column(name, justify="right")
    for name in ("since", *(["commit"] if commits else []), ""):
        table.add_column(name)
    notes = _numbered(shown)
    for each in shown:
        subject, worst, since = each.subject, each.worst, each.worst.since
        table.add_row(
            *(subject.kernel, subject.size, subject.config, *([subject.measure] if measures else [])),
            *([_hosts(each)] if hosts else []),
            *([str(len(each.measurements))] if every else []),
            *(number(worst.newest.ms), _percent(worst.change_percent, "+.1f")),
            *([_percent(worst.noise_percent, ".1f")] if every else []),
            since.day if since else "",
            *([since.commit if since else ""] if commits else []),
            f"[{notes[text]}]" if (text := _text(each)) else "",
        )
    return table


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

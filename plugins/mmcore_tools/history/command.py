"""``mmcore bench-history``: whether kernels became slower, from the saved runs of many hosts and dates."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path

import click

from mmcore.cli.options import number_type, size_type, sizes_type
from mmcore.cli.output import json_option, loaded_registry, render, write, write_json
from mmcore.messages import say
from mmcore_tools.history.hosts import outliers
from mmcore_tools.history.measurements import Measurement, Subject
from mmcore_tools.history.reading import History, InvalidHistory, read
from mmcore_tools.history.trends import SLOWER, Limits, Trend, first_of_last_days, trends
from mmcore_tools.history.unverified import unverified
from mmcore_tools.plots.files import PICTURES, picture, require_matplotlib, save


def _percent_type(text: str) -> float:
    """The number of "3" or "3%"."""
    percent: float = number_type(0, 1e6, float)(text.removesuffix("%"))
    return percent


@click.command("bench-history")
@click.argument("folder", metavar="[FOLDER]", default=".benchmarks", type=Path)
@click.option("--kernel", "kernels", multiple=True, metavar="K", help="Only these kernels: a name, or 'upc.*'.")
@click.option("--size", type=sizes_type, metavar="N", help="Only m = n = k = N, or MxNxK.")
@click.option("--card", "cards", multiple=True, metavar="C", help="Only these models of card: a name, or '*H200*'.")
@click.option(
    "--fail",
    type=_percent_type,
    default="3",
    show_default=True,
    metavar="PERCENT",
    help="What is no change, in percent.",
)
@click.option(
    "--window",
    type=size_type,
    default="5",
    show_default=True,
    metavar="RUNS",
    help="How many runs before it count, at most.",
)
@click.option("-o", "--output", type=Path, metavar="FILE", help="Draw it too; ends in .png or .svg.")
@click.option("--all", "every", is_flag=True, help="List the other series too.")
@json_option
def bench_history(
    folder: Path,
    kernels: tuple[str, ...],
    size: tuple[int, ...] | None,
    cards: tuple[str, ...],
    fail: float,
    window: int,
    output: Path | None,
    every: bool,
    as_json: bool,
) -> int:
    """Say which kernels became slower.

    FOLDER holds saved runs of pytest, of any hosts and dates; .benchmarks by default. Each host's newest run of each
    kernel, size, config and model of card is compared with the host's runs before it. The exit status is 1 if any is
    slower by more than --fail percent and than the noise, or if a newest result is not verified.
    """
    if output and output.suffix.lower() not in PICTURES:
        raise click.UsageError(f"{str(output)!r} does not end in .png or .svg")
    loaded_registry()
    if output:
        require_matplotlib()
    history, limits = read(folder), Limits(fail, window)
    for problem in history.problems:
        say(f"warning: {problem}")
    chosen = partial(_is_chosen, kernels=kernels, size=size, cards=cards)
    series = _series(folder, history, chosen)
    lately = first_of_last_days(history.series.values())
    found, standing_out = trends(series.items(), limits, lately), outliers(series, fail)
    wrong = unverified(series, {each: runs for each, runs in history.wrong.items() if chosen(each)}, lately)
    drawn = "" if output is None else _draw(output, found, limits)
    from mmcore_tools.history.report import report, to_json

    if as_json:
        document = to_json(history, found, standing_out, wrong, limits)
        write_json({"folder": str(folder), "figure": drawn or None, **document})
    else:
        render(*report(history, found, standing_out, wrong, limits, every=every))
        if drawn:
            write(f"{drawn}: drawn")
    return 1 if wrong or any(each.state == SLOWER for each in found) else 0


def _is_chosen(subject: Subject, *, kernels: Sequence[str], size: tuple[int, ...] | None, cards: Sequence[str]) -> bool:
    return (
        _matches(subject.kernel, kernels)
        and size in (None, (subject.m, subject.n, subject.k))
        and _matches(subject.card.name, cards)
    )


def _series(
    folder: Path, history: History, chosen: Callable[[Subject], bool]
) -> Mapping[Subject, Sequence[Measurement]]:
    """The series that were asked for; InvalidHistory where there are none."""
    if not history.series:
        there = f"; left out: {history.what_was_left_out}" if history.left_out else ""
        raise InvalidHistory(f"{str(folder)!r} holds no device times of verified products{there}")
    series = {subject: measurements for subject, measurements in history.series.items() if chosen(subject)}
    if not series:
        said = zip(*((each.kernel, each.size, each.card.name) for each in history.series), strict=True)
        there = "; ".join(", ".join(sorted(set(names))) for names in said)
        raise InvalidHistory(f"there are no results of these kernels, sizes and cards together; there are {there}")
    return series


def _matches(name: str, patterns: Sequence[str]) -> bool:
    return not patterns or any(fnmatchcase(name.casefold(), pattern.casefold()) for pattern in patterns)


def _draw(output: Path, found: Sequence[Trend], limits: Limits) -> str:
    """Draw the figure; its path."""
    from mmcore_tools.history.figure import figure

    save(picture(figure(found, limits), output), output)
    return str(output)

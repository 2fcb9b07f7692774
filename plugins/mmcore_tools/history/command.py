"""The command ``mmcore bench-history``: it finds kernels that became slower, in saved runs of many hosts and dates."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import click

from mmcore.cli.options import number_type, size_type, sizes_type
from mmcore.cli.output import json_option, loaded_registry, render, write, write_json
from mmcore.messages import say
from mmcore_tools.history.reading import History, Measurement, Subject, read
from mmcore_tools.history.trends import SLOWER, Limits, first_of_last_days, outliers, trends
from mmcore_tools.plots.files import picture_path, require_matplotlib, save
from mmcore_tools.saved import InvalidResults


def _percent_type(text: str) -> Any:
    return number_type(0, 1e6, float)(text.removesuffix("%"))


@click.command("bench-history")
@click.argument("folder", metavar="[FOLDER]", default=".benchmarks", type=Path)
@click.option("--kernel", "kernels", multiple=True, metavar="K", help="Only these kernels: a name, or 'upc.*'.")
@click.option("--size", type=sizes_type, metavar="N", help="Only m = n = k = N, or MxNxK.")
@click.option("--card", "cards", multiple=True, metavar="C", help="Only these models of card: a name, or '*H200*'.")
@click.option(
    "--fail", type=_percent_type, default="3", show_default=True, metavar="PERCENT", help="Largest share of no change."
)
@click.option(
    "--window", type=size_type, default="5", show_default=True, metavar="RUNS", help="Most earlier runs to use."
)
@click.option("-o", "--output", type=picture_path, metavar="FILE", help="Draw it too; ends in .png or .svg.")
@click.option("--all", "every", is_flag=True, help="List the other series too.")
@json_option
def bench_history(
    folder: Path, fail: float, window: int, output: Path | None, every: bool, as_json: bool, **wanted: Any
) -> int:
    """Find kernels that became slower.

    FOLDER holds saved runs of pytest, of any hosts and dates; .benchmarks by default. Each host's newest run of each
    kernel, size, config and model of card is compared with the host's runs before it. The exit status is 1 if any is
    slower by more than --fail percent and than the noise, or if a newest result is not verified.
    """
    loaded_registry()
    if output:
        require_matplotlib()
    history, limits = read(folder), Limits(fail, window)
    for problem in history.problems:
        say(f"warning: {problem}")

    def chosen(subject: Subject) -> bool:
        return _is_chosen(subject, **wanted)

    series = _series(folder, history, chosen)
    lately = first_of_last_days(history.series.values())
    wrong = [each for each in history.unverified(lately) if chosen(each.subject)]
    from mmcore_tools.history.report import Findings, report

    findings = Findings(history, trends(series.items(), limits, lately), outliers(series, fail), wrong, limits)
    if output:
        from mmcore_tools.history.figure import figure

        save(figure(findings.trends, limits), output)
    if as_json:
        write_json({"folder": str(folder), "figure": str(output) if output else None, **findings.to_json()})
    else:
        render(*report(findings, every=every))
        if output:
            write(f"{output}: drawn")
    return 1 if wrong or any(each.state == SLOWER for each in findings.trends) else 0


def _is_chosen(subject: Subject, *, kernels: Sequence[str], size: tuple[int, ...] | None, cards: Sequence[str]) -> bool:
    same_size = size in (None, (subject.m, subject.n, subject.k))
    return same_size and _matches(subject.kernel, kernels) and _matches(subject.card.name, cards)


def _series(
    folder: Path, history: History, chosen: Callable[[Subject], bool]
) -> Mapping[Subject, Sequence[Measurement]]:
    """Return the chosen series. Raises InvalidResults if there are none."""
    if not history.series:
        left_out = f"; left out: {history.left_out_text}" if history.left_out else ""
        raise InvalidResults(f"{str(folder)!r} holds no device times of verified products{left_out}")
    series = {subject: measurements for subject, measurements in history.series.items() if chosen(subject)}
    if not series:
        columns = zip(*((each.kernel, each.size, each.card.name) for each in history.series), strict=True)
        known = "; ".join(", ".join(sorted(set(names))) for names in columns)
        raise InvalidResults(f"there are no results of these kernels, sizes and cards together; there are {known}")
    return series


def _matches(name: str, patterns: Sequence[str]) -> bool:
    return not patterns or any(fnmatchcase(name.casefold(), pattern.casefold()) for pattern in patterns)

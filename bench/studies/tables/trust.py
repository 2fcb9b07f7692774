"""The outcomes of the fuzzing and of the zoo."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from bench.studies.tables import sources
from bench.studies.tables.markdown import markdown, words
from bench.studies.tables.sources import results


class Fuzzed(NamedTuple):
    """The outcomes of a run of bench/studies/fuzz.py on a device, by kernel."""

    date: str
    seeds: str
    seconds: int
    outcomes: dict[str, Counter[str]]

    @property
    def by_outcome(self) -> Counter[str]:
        return sum(self.outcomes.values(), Counter[str]())


def fuzzing() -> str:
    """Return the fuzzed cases by outcome and device."""
    runs = _fuzzed()
    found = [run.by_outcome for run in runs.values()]
    rows = [
        ["seeds", *(run.seeds for run in runs.values())],
        ["seconds", *(str(run.seconds) for run in runs.values())],
        ["cases", *(str(counts.total()) for counts in found)],
    ]
    for outcome in sorted(set().union(*found)):
        rows.append([outcome, *(str(counts[outcome]) for counts in found)])
    return markdown(" | ".join(("", *(f"{device}, {run.date}" for device, run in runs.items()))), rows)


def fuzzing_by_kernel() -> str:
    """Return the fuzzed cases by kernel and device."""
    runs = _fuzzed()
    titles = {"verified": "verified", "refused": "refused", "forced": "forced", "damaged": "damaged and rejected"}
    rows = []
    for kernel in sorted(set().union(*(run.outcomes for run in runs.values()))):
        cells = [kernel]
        for run in runs.values():
            counts = run.outcomes.get(kernel, Counter())
            for kind in titles:
                cells.append(str(sum(count for name, count in counts.items() if name.partition(":")[0] == kind)))
        rows.append(cells)
    return markdown(
        " | ".join(("kernel", *(f"{device}: {title}" for device in runs for title in titles.values()))), rows
    )


def _fuzzed() -> dict[str, Fuzzed]:
    """Return the fuzzing's results by device."""
    found = {}
    for path in sorted(sources.RESULTS.glob("*/fuzz.json")):
        with results(path) as document:
            seeds = ", ".join(map(str, document["seeds"]))
            outcomes = {kernel: Counter(counts) for kernel, counts in document["outcomes"].items()}
            found[path.parent.name] = Fuzzed(document["date"], seeds, int(document["seconds"]), outcomes)
    return found


def zoo() -> str:
    """Return the reports of each bad plugin on the emulator and on the H200."""
    plugins, on_h200 = (_plugins(folder) for folder in (sources.RESULTS / "emulator", sources.H200))
    reported = [{plugin["plugin"]: plugin["reported"] for plugin in each} for each in (plugins, on_h200)]
    rows = []
    for plugin in plugins:
        said = [_in_a_cell(each.get(plugin["plugin"], "not run")) for each in reported]
        command = f"`mmcore {plugin['command']}`" if plugin["command"] else ""
        rows.append([f"`{plugin['plugin']}`", plugin["does"], *said, command])
    return words("plugin | what it does | on the emulator | on an H200 | where a benchmark cannot show it", rows)


def _plugins(folder: Path) -> list[dict[str, str]]:
    """Return the reports of a folder's run with the zoo; none without a run."""
    path = folder / "zoo.json"
    if not path.exists():
        return []
    with results(path) as document:
        return list(document["plugins"])


def _in_a_cell(text: str) -> str:
    """Return text that Markdown shows unchanged inside a table."""
    return re.sub(r"([|*_<>`\\])", r"\\\1", text)

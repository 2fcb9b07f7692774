"""The outcomes of the fuzzing and of the zoo, and the verdicts about products of every type."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

from bench.studies.tables import sources
from bench.studies.tables.markdown import markdown, words
from bench.studies.tables.sources import results
from mmcore.kernel.problem import Problem
from mmcore.verify.tolerance import hides_a_term
from tests.fuzzing.arithmetics import ARITHMETICS


class Fuzzed(NamedTuple):
    """The outcomes of a run of bench/studies/fuzz.py on a device, by kernel."""

    date: str
    seeds: str
    seconds: int
    outcomes: dict[str, Counter[str]]

    @property
    def by_outcome(self) -> Counter[str]:
        return sum(self.outcomes.values(), Counter[str]())


def mutants() -> str:
    """Return the outcomes of the drawn mutants at two revisions, by room."""
    with results(sources.RESULTS / "mutants.json") as drawn:
        rows = drawn["mutants"]
    rooms = Counter(row["file"].replace("plugins/", "").partition("/")[0] for row in rows)
    first, last = rows[0]["outcomes"]
    lines = []
    for room, count in [*sorted(rooms.items()), ("all", len(rows))]:
        outcomes = [row["outcomes"] for row in rows if room == "all" or f"{room}/" in row["file"]]
        compared = [each for each in outcomes if each[last] != "gone"]
        killed = [str(sum(each[revision] == "killed" for each in compared)) for revision in (first, last)]
        lines.append([room, str(count), str(len(compared)), *killed])
    return markdown("package | drawn | compared | killed before | killed after", lines)


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


_TERMS = ("dropped term", "doubled term", "swapped terms")
_ENDLESS = 2**31


def types() -> str:
    """Return the verdicts by types: right products, products with a mistake, and those of a lower precision."""
    found = _document()
    rows = []
    for name, kinds in found["types"].items():
        counts = {kind: Counter(outcomes) for kind, outcomes in kinds.items()}
        mistakes = sum((counts.pop(kind) for kind in _TERMS), Counter[str]())
        right = counts.pop("right")
        lower = sum(counts.values(), Counter[str]())
        cells = (right["accepted"], mistakes["rejected"], mistakes["within the tolerance"], lower["rejected"])
        missed = [f"{kind} {each['accepted']}" for kind, each in counts.items() if each["accepted"]]
        rows.append([name, *map(str, cells), ", ".join(missed) or "0"])
    columns = ("right: accepted", "mistakes: rejected", "less than rounding", "lower precision: rejected", "accepted")
    return markdown(" | ".join(("types", *columns)), rows)


def terms_that_show() -> str:
    """Return the largest k at which a dropped term always shows among uniform numbers."""
    rows = []
    for each in ARITHMETICS:
        rows.append([str(each), _most(each.dtype, each.accumulator, each.output)])
    return markdown("types | the largest k", rows)


def _most(dtype: str, accumulator: str, output: str) -> str:
    least, most = 0, _ENDLESS
    while least < most - 1:
        middle = (least + most) // 2
        hides = hides_a_term(Problem(1, 1, middle, dtype, output), accumulator)
        least, most = (least, middle) if hides else (middle, most)
    return "any" if most == _ENDLESS else str(least)


def float22() -> str:
    """Return the share of the tolerance that sums of 8-bit floats take on tensor cores, by k."""
    rows = [[k, f"{each['error']:.3f}", f"{each['tolerance']:.2g}"] for k, each in _document()["float22"].items()]
    return markdown("k | largest error by the tolerance | tolerance by C's own size", rows)


def _document() -> Any:
    with results(sources.RESULTS / "numpy" / "types.json") as document:
        return document

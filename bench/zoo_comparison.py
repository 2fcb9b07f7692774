"""What a run says of bad plugins, and whether they change what it says of the others: tests/zoo beside the lectures.

``python -m bench.zoo_comparison RESULTS.json [DEVICE [OPTION…]]`` runs ``pytest bench/``, with further options of
pytest's and on a GPU unless another device is named: without the zoo, with it, and without it again. It writes what was
reported of each plugin and the medians of all other cells, and exits with 1 where such a cell is missing in
one of the runs, or its median beside the zoo is more than 3 % from the mean of the two without. A device that keeps no
time has no medians to compare. The table in docs/trust.md is made from the committed results by
``python -m bench.tables``.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from tests.zoo.installation import GOOD, install
from tests.zoo.table import MEASURED, ZOO

ROOT = Path(__file__).parent.parent
# Every kernel in each of its blocks, at the device's usual sizes; what does not end is not waited for longer.
CELLS = ("--mm-timeout=20", "--benchmark-max-time=0.3")
MOST = 0.03
"""By how much of its time a cell may be faster or slower beside the zoo."""

# What stands above the reasons in a failed cell's report.
_HEADLINE = re.compile(r" on \S+; (nothing was timed|no time is reported)$")


@dataclass(frozen=True)
class Benchmarks:
    """What came of one run of ``pytest bench/``.

    Attributes:
        output: what it printed.
        medians: seconds, by cell; None on a device that keeps no time.
        failures: what was said of the cells that failed, by cell.
        machine: what was measured on, as pytest-benchmark files it.
    """

    output: str
    medians: Mapping[str, float | None]
    failures: Mapping[str, str]
    machine: Mapping[str, Any]

    def said_of(self, kernel: str) -> str:
        """What is wrong with a kernel or its plugin, or that there is nothing wrong, as far as was seen."""
        lines = [line.strip() for line in self.output.splitlines()]
        about = [
            *(line.removeprefix("mmcore: warning: ") for line in lines if f" {kernel} of " in line),
            *(line for line in lines if line.startswith(f"refused: {kernel} ")),
            *(text for cell, text in self.failures.items() if cell.startswith(f"{kernel}-")),
            *(MEASURED for cell in self.medians if cell.startswith(f"{kernel}-")),
        ]
        return about[0] if about else "nothing"

    def of_others(self) -> dict[str, float | None]:
        """The medians of the cells that are no bad plugin's."""
        bad = tuple(f"zoo.{plugin.name}-" for plugin in ZOO)
        return {cell: median for cell, median in self.medians.items() if not cell.startswith(bad)}


def benchmarks(device: str, site: Path, *options: str) -> Benchmarks:
    """Run ``pytest bench/`` in a process of its own.

    Args:
        device: where.
        site: folder of the plugins that are installed besides.
        options: further options of pytest's.

    Raises:
        SystemExit: the run did not come to its end.
    """
    with tempfile.TemporaryDirectory() as temporary:
        results, report = Path(temporary) / "results.json", Path(temporary) / "report.xml"
        command = [
            *(sys.executable, "-m", "pytest", "bench/test_kernels.py", f"--mm-device={device}", "--mm-show-refused"),
            *("-p", "no:cacheprovider", f"--junitxml={report}", f"--benchmark-json={results}"),
            *(f"--benchmark-storage={temporary}", *options),
        ]
        ran = subprocess.run(command, cwd=ROOT, env=beside(site), capture_output=True, text=True, check=False)
        if not results.exists() or not report.exists():
            raise SystemExit(f"pytest ended with {ran.returncode}:\n{ran.stdout[-4000:]}\n{ran.stderr[-4000:]}")
        document, cases = json.loads(results.read_text()), ElementTree.parse(report)
    medians = {each["param"]: _median(each) for each in document["benchmarks"]}
    failures = {cell: _anywhere(reason, site) for cell, reason in _failures(cases).items()}
    return Benchmarks(_anywhere(ran.stdout + ran.stderr, site), medians, failures, document["machine_info"])


def _anywhere(text: str, site: Path) -> str:
    """The text without the folders that mmcore and the plugins happen to lie in."""
    for folder in (site, ROOT):
        text = text.replace(f"{folder}{os.sep}", "")
    return text


def beside(site: Path) -> dict[str, str]:
    """This process's environment with the plugins in ``site`` installed; in no worker of pytest-xdist's."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    paths = (str(site), environment.get("PYTHONPATH", ""))
    return {**environment, "PYTHONPATH": os.pathsep.join(path for path in paths if path)}


def _median(benchmark: Mapping[str, Any]) -> float | None:
    return None if benchmark["extra_info"]["gflops"] is None else float(benchmark["stats"]["median"])


def _failures(cases: ElementTree.ElementTree[Any]) -> dict[str, str]:
    failures = {}
    for case in cases.iter("testcase"):
        for complaint in (*case.iter("failure"), *case.iter("error")):
            cell = case.get("name", "").partition("[")[2].removesuffix("]")
            failures[cell] = cause(complaint.text or "")
    return failures


def cause(failure: str) -> str:
    """What a failed cell's report says is wrong: the line that does, and the next one where it leads there."""
    lines = [line.strip() for line in failure.splitlines() if line.strip() and not _HEADLINE.search(line)]
    first = next((index for index, line in enumerate(lines) if not line.endswith(":")), 0)
    return " ".join(lines[: first + 1]) or "no reason"


@dataclass(frozen=True)
class Comparison:
    """A run with the zoo between two without.

    Attributes:
        before, beside, after: the medians of the cells that are no bad plugin's.
    """

    before: Mapping[str, float | None]
    beside: Mapping[str, float | None]
    after: Mapping[str, float | None]

    @property
    def missing(self) -> list[str]:
        """The cells that one of the runs measured and another did not."""
        runs = (self.before, self.beside, self.after)
        cells = {cell: None for run in runs for cell in run}
        return [cell for cell in cells if not all(cell in run for run in runs)]

    @property
    def differences(self) -> dict[str, float]:
        """How much longer a cell took beside the zoo, as a share of the mean of its times without."""
        found = {}
        for cell, beside in self.beside.items():
            before, after = self.before.get(cell), self.after.get(cell)
            if before is not None and beside is not None and after is not None:
                found[cell] = 2 * beside / (before + after) - 1
        return found

    @property
    def complaints(self) -> list[str]:
        """One sentence for each cell to which the zoo made a difference."""
        return [
            *(f"{cell} was not measured in every run" for cell in self.missing),
            *(
                f"{cell} took {100 * share:+.1f} % beside the zoo"
                for cell, share in self.differences.items()
                if abs(share) > MOST
            ),
        ]

    @property
    def conclusion(self) -> str:
        """What the comparison comes to, in a sentence."""
        measured = f"{len(self.beside)} other cells are measured beside the zoo"
        if not self.differences:
            return measured
        return f"{measured}, {100 * max(map(abs, self.differences.values())):.1f} % at most from their times without it"


def written(zoo: Benchmarks, comparison: Comparison) -> str:
    """The results as JSON, a plugin or a cell on each line."""
    plugins = [
        {
            "plugin": f"zoo.{plugin.name}",
            "does": plugin.does,
            "reported": zoo.said_of(f"zoo.{plugin.name}"),
            "command": plugin.command,
        }
        for plugin in ZOO
    ]
    cells = [
        {"cell": cell, "seconds": [run.get(cell) for run in (comparison.before, comparison.beside, comparison.after)]}
        for cell in comparison.beside
    ]
    head = json.dumps({"machine_info": zoo.machine}, indent=1).removesuffix("\n}")
    return f'{head},\n "plugins": {_lines(plugins)},\n "before_beside_after": {_lines(cells)}\n}}\n'


def _lines(rows: Sequence[Mapping[str, Any]]) -> str:
    lines = ",\n".join(f"  {json.dumps(row, ensure_ascii=False)}" for row in rows)
    return f"[\n{lines}\n ]"


def main(path: Path, device: str = "cuda", *options: str) -> None:
    """Run, write the results, and exit with 1 if the zoo makes a difference to others."""
    with tempfile.TemporaryDirectory() as temporary:
        alone = install(Path(temporary) / "alone", (GOOD,))
        zoo = install(Path(temporary) / "zoo", (GOOD, *(plugin.name for plugin in ZOO)))
        before, between, after = (benchmarks(device, site, *CELLS, *options) for site in (alone, zoo, alone))
    comparison = Comparison(*(run.of_others() for run in (before, between, after)))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(written(between, comparison), encoding="utf-8")
    for plugin in ZOO:
        print(f"zoo.{plugin.name}: {between.said_of(f'zoo.{plugin.name}')}")
    print(comparison.conclusion)
    if comparison.complaints:
        raise SystemExit("\n".join(comparison.complaints))


if __name__ == "__main__":
    if len(sys.argv) < 2:
        raise SystemExit("usage: python -m bench.zoo_comparison RESULTS.json [DEVICE [OPTION…]]")
    main(Path(sys.argv[1]), *sys.argv[2:])

"""The plugins of tests/zoo, which misbehave, beside the lectures: reports of them, and their effect on other kernels.

``RESULTS.json [DEVICE [KERNEL…]]`` measures every kernel, or those of the names and patterns: without the zoo, with it,
and without it again. It writes the reports of each plugin and the medians of all other cells. Exit status: 1 = such a
cell is missing in a run, or its median beside the zoo is more than 3 % from the mean of the two without. A device
without timing has no medians to compare.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

from bench.studies.study import ROOT, facts_of, machine_info, write
from mmcore.cell import Cell, Timing
from mmcore.cli.output import keep_stdout_for_json
from mmcore.errors import MmcoreError
from mmcore.executor import end_workers, measure_cell
from mmcore.executor.choose_device import chosen
from mmcore.registry import registry
from mmcore_pytest.collection import EMULATED_SIZES, GPU_SIZES
from tests.command_line import installed
from tests.zoo.installation import GOOD, install
from tests.zoo.table import INSTALLED, MEASURED, ZOO

MOST = 0.03
"""The largest difference of a cell beside the zoo, as a share of its time."""
NOT_RUN = "not run"


@dataclass(frozen=True)
class Run:
    """The outcome of measuring every kernel beside some plugins.

    A cell's report is its kernel's fault or :data:`MEASURED`, and its median None on a device without timing.
    """

    warnings: Sequence[str]
    reports: Mapping[str, str]
    medians: Mapping[str, float | None]

    def said_of(self, kernel: str) -> str:
        """Return the fault of a kernel or its plugin that was reported, :data:`MEASURED` or :data:`NOT_RUN`."""
        about = [text for text in self.warnings if f" {kernel} of " in text]
        about += [text for cell, text in self.reports.items() if cell.startswith(f"{kernel}-")]
        return next((text for text in about if text != MEASURED), about[0] if about else NOT_RUN)

    def of_others(self) -> dict[str, float | None]:
        """Return the medians of the cells of other plugins."""
        bad = tuple(f"zoo.{plugin.name}-" for plugin in INSTALLED)
        return {cell: median for cell, median in self.medians.items() if not cell.startswith(bad)}


def measured(device: str, site: Path, kernels: Sequence[str] = (), seconds: float = 20) -> Run:
    """Measure kernels in all their usual configs beside the plugins in ``site``, each cell for ``seconds`` at most."""
    reports: dict[str, str] = {}
    medians: dict[str, float | None] = {}
    with keep_stdout_for_json(), installed(site):  # they print megabytes
        end_workers()
        for name, cell in cells(device, kernels):
            try:
                result = measure_cell(replace(cell, timeout=seconds))
            except MmcoreError as error:
                reports[name] = _anywhere(cause(str(error)), site)
                continue
            reports[name] = MEASURED if result.verified else _anywhere(result.failures()[0], site)
            if result.verified:
                medians[name] = result.kernel_seconds
        warnings = [_anywhere(warning, site) for warning in registry().warnings()]
    end_workers()
    return Run(warnings, reports, medians)


def cells(device: str, kernels: Sequence[str]) -> Iterator[tuple[str, Cell]]:
    """Yield the cells to measure, with their test ids."""
    sizes = GPU_SIZES if chosen(device)[0].supports_timing else EMULATED_SIZES
    timings = (Timing(max_seconds=0.3),)
    for kernel in registry().matching(kernels)[0]:
        for config in kernel.usual_configs:
            for n in dict.fromkeys(kernel.square_problem(size, config).n for size in sizes):
                cell = Cell(kernel.name, n, n, n, config=config.to_json(), device=device, seed=1, timings=timings)
                yield f"{kernel.name}-{n}x{n}x{n}-{config.id}", cell


def cause(error: str) -> str:
    """Return the first line of an error, with the next one if it ends with a colon."""
    lines = [line.strip() for line in error.splitlines() if line.strip()]
    first = next((index for index, line in enumerate(lines) if not line.endswith(":")), 0)
    return " ".join(lines[: first + 1]) or "no reason"


def _anywhere(text: str, site: Path) -> str:
    """Return the text without the folders of mmcore and the plugins."""
    return text.replace(f"{site}{os.sep}", "").replace(f"{ROOT}{os.sep}", "")


def main(results: Path, device: str = "cuda", kernels: Sequence[str] = ()) -> None:
    """Measure, write the results, and exit with 1 if the zoo affects other kernels."""
    with tempfile.TemporaryDirectory() as temporary:
        alone = install(Path(temporary) / "alone", (GOOD,))
        zoo = install(Path(temporary) / "zoo", (GOOD, *(plugin.name for plugin in INSTALLED)))
        before, beside, after = (measured(device, site, kernels) for site in (alone, zoo, alone))
    runs = [run.of_others() for run in (before, beside, after)]
    rows = [{"cell": cell, "seconds": [run.get(cell) for run in runs]} for cell in runs[1]]
    plugins = [
        {
            "plugin": f"zoo.{plugin.name}",
            "does": plugin.does,
            "reported": f"every command: {plugin.harm}" if plugin.harm else beside.said_of(f"zoo.{plugin.name}"),
            "command": plugin.command,
        }
        for plugin in ZOO
    ]
    write(results, machine_info(facts_of(device)), plugins=plugins, before_beside_after=rows)
    for plugin in INSTALLED:
        print(f"zoo.{plugin.name}: {beside.said_of(f'zoo.{plugin.name}')}")
    print(f"{len(rows)} other cells are measured beside the zoo")
    missing = [cell for cell in dict.fromkeys(chain(*runs)) if not all(cell in run for run in runs)]
    failures = [f"{cell} was not measured in every run" for cell in missing]
    for cell in runs[1]:
        without, with_zoo, again = (run.get(cell) for run in runs)
        if without is not None and with_zoo is not None and again is not None:
            share = 2 * with_zoo / (without + again) - 1
            print(f"{cell} took {100 * share:+.1f} % beside the zoo")
            failures += [f"{cell} took {100 * share:+.1f} % beside the zoo"] * (abs(share) > MOST)
    if failures:
        raise SystemExit("\n".join(failures))

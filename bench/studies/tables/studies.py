"""The table of all studies: commands, files of results, and the pages that are made from them."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from bench.studies.baseline import LIBRARIES, RUNS
from bench.studies.figures import FIGURES
from bench.studies.study import RESULTS, ROOT
from bench.studies.tables import sources
from bench.studies.tables.markdown import words

PAGE = "docs/studies.md"
Tables = Mapping[str, Mapping[str, Callable[[], str]]]


class Study(NamedTuple):
    """A way of making files of results.

    Attributes:
        command: the command line; a module of bench/studies has its arguments only.
        results: patterns of its files in bench/results, separated by spaces.
        pages: pages that quote it in words, separated by spaces.
        what: a title; by default the first line of the module's documentation.
    """

    command: str
    results: str = ""
    pages: str = ""
    what: str = ""


_BASELINE = " ".join(f"nvidia-h200/{name}.json" for name in (*RUNS, LIBRARIES))
MODULES: dict[str, Study] = {
    "baseline": Study("FOLDER [NAME…]", _BASELINE, "docs/measuring.md"),
    "cards": Study("RESULTS.json RUN…", "*/cards.json"),
    "cgma": Study("RESULTS.json", "emulator/cgma.json"),
    "clock_comparison": Study("RESULTS.json", "nvidia-h200/clock.json"),
    "counter_comparison": Study(
        "RESULTS.json [--tensor]", "nvidia-h200/counters.json nvidia-h200/tensor_counters.json"
    ),
    "emulated_bits": Study("CHECKOUTS RESULTS.json", "*/emulated_bits.json */ladder_bits.json", "docs/ladder.md"),
    "emulator_speed": Study("pytest bench/studies/emulator_speed.py", "", "docs/emulator.md"),
    "figures": Study(""),
    "fuzz": Study("DEVICE --save RESULTS.json", "*/fuzz.json numpy/types.json"),
    "im2col_and_b1": Study("RESULTS.json", "nvidia-h100/im2col_and_b1.json", "docs/emulator.md"),
    "ladder_counters": Study("COMMAND RESULTS.json", "emulator/ladder_counters.json nvidia-h200/ladder_ncu.json"),
    "launch_cost": Study("RESULTS.json", "nvidia-h200/launch.json"),
    "mmasim_comparison": Study("RESULTS.json", "emulator/mmasim.json"),
    "own_benchmarks": Study("RESULTS.json", "nvidia-h200/own_benchmarks.json"),
    "planted_faults": Study("RESULTS.json", "nvidia-h200/planted_faults.json"),
    "public_kernels": Study("CHECKOUTS RESULTS.json", "*/public_kernels.json"),
    "published_outputs": Study("DIRECTORY RESULTS.json", "emulator/published_outputs.json"),
    "scale": Study("RESULTS.json", "scale/head.json"),
    "scale.predictions": Study("RESULTS.json", "scale/simulation.json"),
    "similar_card": Study("RESULTS.json", "nvidia-h100/similar_card.json"),
    "tables": Study(""),
    "tensor_cores": Study("RESULTS.json", "*/tensor_core_comparison.json nvidia-h200/tensor_cores.json"),
    "tuning": Study("COMMAND RESULTS.json", "nvidia-h200/tuning.json"),
    "zoo_comparison": Study("RESULTS.json [DEVICE [KERNEL…]]", "*/zoo.json"),
}
"""The studies of bench/studies by the names of their modules."""

COMMANDS = (
    Study(
        "mmcore experiment NAME -o FOLDER", "*/experiments/*.json", what="The presets of the lectures and the ladder."
    ),
    Study("pytest bench/", "nvidia-h200/phases.json", what="The seconds of each phase of every benchmark."),
    Study(
        "mmcore run KERNEL --size N --json",
        "nvidia-h100/ladder_rows.json",
        what="The ladder's top rungs at sizes whose rows of C begin anywhere.",
    ),
)
"""The commands of mmcore itself whose results are committed."""


def studies(tables: Tables) -> str:
    """Return the table; ``tables`` has the functions that make every other table, by page and name."""
    readers = _readers(tables)
    rows = [
        [f"`{name}`", _title(name), _command(name, study), *_feeds(study, readers)] for name, study in MODULES.items()
    ]
    rows += [["", study.what, f"`{study.command}`", *_feeds(study, readers)] for study in COMMANDS]
    return words("study | command | results | pages", rows)


def files(study: Study) -> list[Path]:
    """Return the committed files of a study."""
    return [path for pattern in study.results.split() for path in sorted(RESULTS.glob(pattern))]


def _readers(tables: Tables) -> dict[Path, list[str]]:
    """Return the pages with a table or figure from each file of results."""
    readers: dict[Path, list[str]] = {}
    for page, makers in tables.items():
        for make in makers.values():
            sources.opened.clear()
            make()
            for path in sources.opened:
                readers.setdefault(path, []).append(page)
    texts = {page: (ROOT / page).read_text(encoding="utf-8") for page in tables if page != PAGE}
    for figure, source in FIGURES.items():
        pages = [page for page, text in texts.items() if Path(figure).name in text]
        for name in source.results:
            readers.setdefault(sources.H200 / name, []).extend(pages)
    return readers


def _title(name: str) -> str:
    """Return the first line of a study's documentation."""
    path = ROOT / "bench" / "studies" / name.replace(".", "/")
    source = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return (
        (ast.get_docstring(ast.parse(source.read_text(encoding="utf-8"))) or "").partition("\n")[0].replace("``", "`")
    )


def _command(name: str, study: Study) -> str:
    if study.command.startswith("pytest "):
        return f"`{study.command}`"
    return f"`{f'python -m bench.studies.{name} {study.command}'.strip()}`"


def _feeds(study: Study, readers: Mapping[Path, Iterable[str]]) -> list[str]:
    """Return the cells with the files of a study, and with the pages that are made from them."""
    paths = files(study)
    pages = dict.fromkeys([*(page for path in paths for page in readers.get(path, ())), *study.pages.split()])
    results = [f"[{name}](../bench/results/{name})" for name in (str(path.relative_to(RESULTS)) for path in paths)]
    return [", ".join(results), ", ".join(f"[{Path(page).name}]({_relative(page)})" for page in sorted(pages))]


def _relative(page: str) -> str:
    return Path(page).name if page.startswith("docs/") else f"../{page}"

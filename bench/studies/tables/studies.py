"""The table of all studies: commands, files of results, and the pages that are made from them."""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from bench.studies.figures import FIGURES
from bench.studies.study import RESULTS, ROOT
from bench.studies.tables import sources
from bench.studies.tables.markdown import words

PAGE = "docs/studies.md"
_FOLDER = ROOT / "bench" / "studies"
Tables = Mapping[str, Mapping[str, Callable[[], str]]]


@dataclass(frozen=True)
class Study:
    """A way of making files of results; studies.toml explains the attributes."""

    command: str
    results: tuple[str, ...] = ()
    pages: tuple[str, ...] = ()
    what: str = ""

    @property
    def files(self) -> list[Path]:
        """The committed files."""
        return [path for pattern in self.results for path in sorted(RESULTS.glob(pattern))]


STUDIES = {
    name: Study(**row) for name, row in tomllib.loads((_FOLDER / "studies.toml").read_text(encoding="utf-8")).items()
}


def studies(tables: Tables) -> str:
    """Return the table; ``tables`` has the functions that make every other table, by page and name."""
    readers, rows = _readers(tables), []
    for name, study in STUDIES.items():
        what, command = study.what or _title(name), study.command
        if not study.what and not command.startswith("pytest "):
            command = f"python -m bench.studies.{name} {command}".strip()
        rows.append(["" if study.what else f"`{name}`", what, f"`{command}`", *_results_and_pages(study, readers)])
    return words("study | measures | command | results | pages", rows)


def _readers(tables: Tables) -> dict[Path, list[str]]:
    """Return the pages with a table or figure from each file of results."""
    readers: dict[Path, list[str]] = {}
    for page, makers in tables.items():
        for make in makers.values():
            sources.opened.clear()
            make()
            for path in sources.opened:
                readers.setdefault(path, []).append(page)
    texts = {page: (ROOT / page).read_text(encoding="utf-8") for page in tables}
    for figure, source in FIGURES.items():
        pages = [page for page, text in texts.items() if Path(figure).name in text]
        for name in source.results:
            readers.setdefault(sources.H200 / name, []).extend(pages)
    return readers


def _title(name: str) -> str:
    """Return the first line of a study's documentation."""
    path = _FOLDER / name.replace(".", "/")
    source = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    text = ast.get_docstring(ast.parse(source.read_text(encoding="utf-8"))) or ""
    return text.partition("\n")[0].replace("``", "`")


def _results_and_pages(study: Study, readers: Mapping[Path, Iterable[str]]) -> list[str]:
    """Return the cells with the files of a study, and with the pages that are made from them."""
    pages = {*study.pages, *(page for path in study.files for page in readers.get(path, ()))}
    results = [
        f"[{name}](../bench/results/{name})" for name in (str(path.relative_to(RESULTS)) for path in study.files)
    ]
    links = [
        f"[{Path(page).name}]({page.removeprefix('docs/') if '/' in page else f'../{page}'})" for page in sorted(pages)
    ]
    return [", ".join(results), ", ".join(links)]

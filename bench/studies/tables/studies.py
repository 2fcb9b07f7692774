"""The table of all studies: commands, files of results, and the pages that are made from them."""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bench.studies.figures import FIGURES
from bench.studies.study import RESULTS, ROOT
from bench.studies.tables.main import TABLES

_FOLDER = ROOT / "bench" / "studies"


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


def studies() -> Iterator[list[str]]:
    """Yield each study, with its files and the pages that show them."""
    readers = list(_readers())
    for name, study in STUDIES.items():
        command = study.command
        if not study.what and not command.startswith("pytest "):
            command = f"python -m bench.studies {name} {command}".strip()
        pages = {*study.pages, *(page for page, path in readers if path in study.files)}
        files = [str(path.relative_to(RESULTS)) for path in study.files]
        results = [f"[{file}](../bench/results/{file})" for file in files]
        links = [
            f"[{Path(page).name}]({page.removeprefix('docs/') if '/' in page else f'../{page}'})"
            for page in sorted(pages)
        ]
        title = ["", study.what] if study.what else [f"`{name}`", _title(name)]
        yield [*title, f"`{command}`", ", ".join(results), ", ".join(links)]


def _readers() -> Iterator[tuple[str, Path]]:
    """Yield each page with each file of results that it has a table or figure of."""
    for page, named in TABLES.items():
        yield from ((page, path) for table in named.values() for path in table.paths)
        text = (ROOT / page).read_text(encoding="utf-8")
        shown = [source for figure, source in FIGURES.items() if Path(figure).name in text]
        yield from ((page, RESULTS / "nvidia-h200" / name) for source in shown for name in source.results)


def _title(name: str) -> str:
    """Return the first line of a study's documentation."""
    path = _FOLDER / name.replace(".", "/")
    source = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    text = ast.get_docstring(ast.parse(source.read_text(encoding="utf-8"))) or ""
    return text.partition("\n")[0].replace("``", "`")

"""The magics ``%mmcore`` and ``%%mmcore`` of a notebook: a command, and one whose kernel is the cell's text."""

from __future__ import annotations

import ast
import atexit
import contextlib
import io
import re
import shlex
import shutil
import tempfile
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from mmcore.cli.commandline import main
from mmcore.cli.earlier_cells import CELL_LINE, with_earlier_cells
from mmcore.cli.output import Views
from mmcore.view import View, escaped

_PYTHON = re.compile(r"^(?:import \w|from \w[\w.]* import|def \w+\()", re.MULTILINE)
_INCLUDED = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"\n]+)"', re.MULTILINE)
_INTERRUPTED = 130
_NO_COMMAND = "a command is missing, such as run in %%mmcore run"
_HERE = "--option=-I."  # headers beside the notebook


class DisplayHook(Protocol):
    """The part of IPython that shows a cell's value."""

    @property
    def prompt_count(self) -> int:
        """The number of the cell that runs: n of ``In [n]``."""


class Notebook(Protocol):
    """The part of an IPython shell that the magics use."""

    displayhook: DisplayHook
    user_ns: dict[str, Any]  # the names of the session, ``In`` among them: the texts of the cells

    def register_magic_function(self, function: Any, magic_kind: str, magic_name: str) -> None:
        """Add a magic."""


@dataclass(frozen=True)
class Answer:
    """A command's answer: its text as a terminal shows it, and its view if it has one.

    Attributes:
        status: the exit status.
        text: the output.
        views: the verdict on each kernel, or an error; none for a command without a verdict.
    """

    status: int
    text: str
    views: Sequence[View] = ()

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        text = f'<pre style="white-space:pre">{escaped(self.text)}</pre>'
        if not self.views:
            return text
        details = f'<details><summary style="opacity:.6">as text</summary>{text}</details>'
        return f"{''.join(view._repr_html_() for view in self.views)}{details}"


def add_magics(notebook: Notebook) -> None:
    """Add the magics to a notebook; the cells of this session become files of one folder."""
    folder = Path(tempfile.mkdtemp(prefix="mmcore-notebook-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)

    def mmcore(line: str, cell: str | None = None) -> Answer:
        """Run a command of mmcore; a cell's text is the file that it takes: ``%%mmcore run --size 65``."""
        number = notebook.displayhook.prompt_count
        if cell is not None:
            cell = f"\n{cell}"  # the magic is line 1, as the cell shows it
        if cell is not None and is_python(cell):
            cell = with_earlier_cells(cell, notebook.user_ns.get("In", [])[:number], notebook.user_ns)
        file = None if cell is None else _written(folder, number, cell)
        try:
            words = shlex.split(line)
        except ValueError as error:
            return Answer(2, text := f"Error: {error} in {line}", _refusal(text, ""))
        if file is not None and not words:
            return Answer(2, text := f"Error: {_NO_COMMAND}", _refusal(text, ""))
        return answer(words, file, f"%%mmcore {line}")

    notebook.register_magic_function(mmcore, "line_cell", "mmcore")


def answer(words: Sequence[str], file: Path | None = None, magic: str = "") -> Answer:
    """Return the answer of a command, which takes a file, if there is one, as its first argument.

    The file has an empty first line, at which the view of the source has the ``magic``.
    Raises KeyboardInterrupt if the command was interrupted.
    """
    if file is not None:
        headers = _INCLUDED.findall(file.read_text(encoding="utf-8"))
        here = [_HERE] if any(Path(header).is_file() for header in headers) else []
        words = [*words[:1], str(file), *words[1:], *here]
    output, errors, views = io.StringIO(), io.StringIO(), Views()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
        status = _status(words, views)
    if status == _INTERRUPTED:
        raise KeyboardInterrupt
    said, text = (_as_in_the_cell(stream.getvalue(), file) for stream in (errors, output))
    shown = views or _refusal(said, "" if file is None else file.name)
    if file is not None:
        source = magic + CELL_LINE.split(file.read_text(encoding="utf-8"))[-1]
        shown = [_of_cell(view, file, source) for view in shown]
    return Answer(status, "\n".join(filter(None, (said.strip(), text.strip()))), shown)


def _of_cell(view: View, file: Path, text: str) -> View:
    """Return a view of a cell's kernel that names the cell without its folder."""
    facts = [(name, _as_in_the_cell(value, file)) for name, value in view.facts]
    messages = [_as_in_the_cell(message, file) for message in view.messages]
    return replace(view, facts=facts, messages=messages, file=file.name, text=text)


def _as_in_the_cell(text: str, file: Path | None) -> str:
    """Return a text without the cell's folder, whose commands on the cell's file are magics of the cell."""
    if file is None:
        return text
    name = re.escape(file.name)
    command = rf"\bmmcore ([\w-]+) {name}(?![\w.:])(?: {re.escape(_HERE)})?"
    return re.sub(command, r"%%mmcore \1", text.replace(f"{file.parent}/", ""))


def _status(words: Sequence[str], views: Views) -> int:
    """Run a command, and return its exit status."""
    try:
        main(list(words), obj=views)
    except SystemExit as stopped:
        status = int(stopped.code or 0)
    return status


def _refusal(said: str, file: str) -> Sequence[View]:
    """Return the view of an error about a file, a message for each paragraph; none if there is no error."""
    _, error, sentence = f"\n{said}".partition("\nError: ")
    first, _, more = sentence.strip().partition("\n")
    # A first line that names a line of the file is shown there, too.
    messages = [first] if file and re.search(rf"{re.escape(file)}[:(]\d", first) else []
    return [View("ERROR", False, first, messages=[*messages, *_paragraphs(more)])] if error else []


def _paragraphs(text: str) -> list[str]:
    """Return a compiler's messages; each begins with a line that is not indented."""
    return [part.rstrip() for part in re.split(r"\n(?=\S)", text) if part.strip()]


def _written(folder: Path, number: int, cell: str) -> Path:
    """Write a cell to a file, a .py file if it is Python, and return its path."""
    path = folder / f"cell{number}{'.py' if is_python(cell) else '.cu'}"
    path.write_text(cell, encoding="utf-8")
    return path


def is_python(cell: str) -> bool:
    """Return whether a cell is Python, with an error perhaps, and not CUDA C++."""
    try:
        with warnings.catch_warnings(action="ignore"):
            ast.parse(cell)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return _PYTHON.search(cell) is not None
    return True

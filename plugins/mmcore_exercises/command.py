"""``mmcore exercise``: list, start and check exercises, and give them to a class."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from mmcore.cli.output import console, fields, json_option, loaded_registry, render, write, write_json
from mmcore.errors import MmcoreError
from mmcore.kernel.sizes import Sizes, size_text
from mmcore_exercises.exercise import EXERCISES, Exercise, source_line
from mmcore_grading.criteria import Outcome

_MORE = {"coalesced": "why", "overlapped": "why", "counts": "profile"}
"""The command that has more about a criterion; of others, run."""
_NAME = click.Choice([each.name for each in EXERCISES])


@click.group(invoke_without_command=True)
@click.pass_context
def exercise(context: click.Context) -> None:
    """Learn matrix products in twelve exercises, without a GPU."""
    if context.invoked_subcommand is None:
        write(context.get_help())


@exercise.command("list")
@json_option
def list_exercises(as_json: bool) -> None:
    """List the exercises in their order."""
    if as_json:
        write_json([{"name": each.name, "title": each.task.title} for each in EXERCISES])
    else:
        render(fields((each.name, each.task.title) for each in EXERCISES))


@exercise.command()
@click.argument("name", type=_NAME, metavar="NAME")
@click.option("-o", "--output", default=".", type=click.Path(path_type=Path), metavar="FOLDER", help="Its folder.")
@json_option
def start(name: str, output: Path, as_json: bool) -> None:
    """Write the file of an exercise, NAME.cu, and print its text.

    A file that exists already is not changed.
    """
    chosen, file = _named(name), output / f"{name}.cu"
    _write_new({file: chosen.start})
    if as_json:
        write_json({"name": name, "title": chosen.task.title, "text": chosen.task.text, "file": str(file)})
    else:
        then = shlex.join(["mmcore", "exercise", "check", name, *([str(file)] if output != Path() else [])])
        text = " ".join(chosen.task.text.split())
        render(f"{chosen.task.title}\n", f"{text}\n", f"Fill the gap in {file}, then:", f"  {then}")


@exercise.command()
@click.argument("name", type=_NAME, metavar="NAME")
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="FOLDER", help="Its folder; NAME by default.")
@json_option
def task(name: str, output: Path | None, as_json: bool) -> None:
    """Write the task of an exercise, for mmcore grade.

    FOLDER gets task.toml, the file with the gap, and the solution. Files that exist already are not changed.
    """
    chosen, folder = _named(name), output or Path(name)
    _write_new({folder / path.name: path.read_bytes() for path in chosen.files})
    if as_json:
        write_json({"name": name, "files": [str(folder / path.name) for path in chosen.files]})
    else:
        then = shlex.join(["mmcore", "grade", str(folder / chosen.files[0].name)])
        render(f"Give the class {folder / f'{chosen.files[1].name}'}, then:", f"  {then} SUBMISSIONS -o REPORT")


@exercise.command()
@click.argument("name", type=_NAME, metavar="NAME")
@click.argument("file", required=False, type=click.Path(path_type=Path))
@json_option
def check(name: str, file: Path | None, as_json: bool) -> int:
    """Check the FILE of an exercise by its rubric; NAME.cu by default.

    Exit status: 0 = right, 1 = wrong, 2 = could not run.
    """
    loaded_registry()
    checked, file = _named(name), file or Path(f"{name}.cu")
    with _progress(shown=not as_json):
        found = checked.check(file)
    document = _document(checked, file, found)
    if as_json:
        write_json(document)
    else:
        render(*_report(document))
    return 0 if document["right"] else 1


def _write_new(files: Mapping[Path, bytes]) -> None:
    """Write files and their folders. Raises MmcoreError if one exists already."""
    try:
        if there := next(filter(Path.exists, files), None):
            raise MmcoreError(f"{there} exists already, and is not changed")
        for file, content in files.items():
            file.parent.mkdir(parents=True, exist_ok=True)
            with file.open("xb") as new:
                new.write(content)
    except OSError as error:
        raise MmcoreError(f"{error.filename} cannot be written: {error.strerror}") from None


def _named(name: str) -> Exercise:
    return next(each for each in EXERCISES if each.name == name)


def _document(checked: Exercise, file: Path, found: Sequence[Outcome]) -> dict[str, Any]:
    """Return the outcomes, the first failure and the next exercise as JSON-ready values."""
    failed = next((each for each in found if each.points < each.most), None)
    unfilled = checked.is_unfilled(file)
    points = {each.criterion: 0.0 if unfilled else each.points for each in found}
    following = EXERCISES[EXERCISES.index(checked) + 1 :]
    failure = None
    if failed is not None:
        failure = {
            "criterion": failed.criterion,
            "faults": [{"message": each, "source": source_line(each, file)} for each in failed.faults],
            "command": shlex.join(_more(checked, file, failed)),
        }
    return {
        "name": checked.name,
        "title": checked.task.title,
        "file": str(file),
        "right": failed is None,
        "filled": not unfilled,
        "points": sum(points.values()),
        "most": checked.task.points,
        "criteria": [
            {"criterion": each.criterion, "points": points[each.criterion], "most": each.most} for each in found
        ],
        "first_failure": failure,
        "next": following[0].name if following and failed is None else None,
    }


def _more(checked: Exercise, file: Path, failed: Outcome) -> Sequence[str]:
    """Return the command that has more about a failure, at the size at which the check found it."""
    command, shown = _MORE.get(failed.criterion, "run"), checked.task.shown
    sizes = shown[:1] if failed.criterion == "counts" else [size for size in shown if _is_at(failed, size)]
    option = ["--size", "x".join(map(str, sizes[0]))] if sizes else []
    device = [] if failed.criterion in _MORE else ["--device", "emulator"]
    return ["mmcore", command, str(file), *option, *checked.task.options, *device]


def _is_at(failed: Outcome, size: Sizes) -> bool:
    """Return whether a failure is one at a size, such as "at 33×34×35: …"."""
    return failed.message.startswith(f"at {size_text(size._asdict())}: ")


def _report(document: dict[str, Any]) -> Iterator[Any]:
    """Yield the points of each criterion, then the first failure or the next exercise."""
    yield f"{document['title']}: {document['points']:g} of {document['most']:g} points\n"
    yield fields((each["criterion"], f"{each['points']:g} of {each['most']:g}") for each in document["criteria"])
    failure = document["first_failure"]
    if not document["filled"]:
        yield f"\nThe gap in {document['file']} is not filled, so that nothing counts."
    if failure:
        yield ""
        for fault in failure["faults"]:
            yield fault["message"]
            if fault["source"]:
                yield f"    {fault['source']}"
        yield f"more about it:\n  {failure['command']}"
    elif document["next"]:
        yield f"\nnext:\n  mmcore exercise start {document['next']}"
    else:
        yield "\nThat was the last exercise."


@contextmanager
def _progress(*, shown: bool) -> Iterator[None]:
    """Show on a terminal how long a check has taken."""
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    terminal = console()
    columns = [SpinnerColumn(), TextColumn("checking"), TimeElapsedColumn()]
    with Progress(*columns, console=terminal, transient=True, disable=not (shown and terminal.is_terminal)) as bar:
        bar.add_task("", total=None)
        yield

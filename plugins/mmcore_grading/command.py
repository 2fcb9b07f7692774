"""``mmcore grade``: grade the submissions of a class."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import click

from mmcore.cli.options import number_type
from mmcore.cli.output import console, json_option, loaded_registry, quiet_option, write, write_json
from mmcore.errors import InvalidProblem, MmcoreError
from mmcore.files import replace
from mmcore.messages import quoted, say
from mmcore_grading.grading import Grade, graded
from mmcore_grading.pages import class_page, student_page
from mmcore_grading.similarity import Pair, groups, similar
from mmcore_grading.submissions import KERNELS, Submission, Submissions, single_submission, submissions
from mmcore_grading.tables import csv_table, gradescope_results, json_table
from mmcore_grading.task import Task, read_task

_OF_STUDENTS = ("answers/*.json", "gradescope/*.json", "students/*.html")  # a file for each student


@click.command()
@click.argument("task", type=click.Path(path_type=Path))
@click.argument("folder", metavar="SUBMISSIONS", type=click.Path(path_type=Path))
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), metavar="REPORT", help="A folder.")
@click.option("--student", metavar="NAME", help="SUBMISSIONS is the submission of this student alone.")
@click.option("--jobs", type=number_type(1, 256), metavar="N", help="Submissions at once; a processor each by default.")
@quiet_option
@json_option
def grade(
    task: Path, folder: Path, output: Path, student: str | None, jobs: int | None, quiet: bool, as_json: bool
) -> int:
    """Grade a class's submissions by the rubric of a task.

    TASK is a TOML file. SUBMISSIONS is a folder with a file, or a folder with one, for each student. REPORT gets
    index.html, grades.csv, grades.json, a page for each student, and Gradescope's results. What was run on a
    submission runs again only if its files, the sizes, the options or the limits have changed. Exit status: 0 = all are
    graded, 2 = could not grade.
    """
    loaded_registry()
    read = read_task(task)
    if output.resolve() == folder.resolve():
        raise InvalidProblem(f"{output} has the submissions; give another folder for the report")
    if student is not None and (others := {path.stem for path in _of_others(output, {student})}):
        count = f"{len(others)} other student{'s' * (len(others) != 1)}"
        raise InvalidProblem(f"{output} has the report of {count}; give another folder for that of {student} alone")
    several, ignored = _submissions(folder, student, read)
    if ignored:
        say(f"ignored: {', '.join(ignored)} (files of kernels end in {', '.join(KERNELS)})")
    unknown = sorted(read.entry.keys() - {each.student for each in several})
    if unknown and student is None:
        say(f"entry names students without a submission: {', '.join(unknown)}")
    if read.hazards:
        say(f"hazards: {read.hazards}")
    with _progress(len(several), shown=not (quiet or as_json)) as report:
        grades, ran = graded(read, several, output / "answers", jobs or len(os.sched_getaffinity(0)), report)
    pairs = similar(several, read.given)
    try:
        _write(output, read, grades, several, pairs, ignored)
        if names := _remove_others(output, {each.student for each in several}):
            say(f"removed from {output}: {', '.join(names)} (no longer in {folder})")
    except OSError as error:
        raise MmcoreError(f"{error.filename or output} cannot be written: {error.strerror}") from None
    if as_json:
        write_json({**json_table(read, grades, pairs, ignored), "ran": ran})
    elif not quiet:
        count = f"{len(grades)} submission{'s' * (len(grades) != 1)}"
        kept = f" ({len(grades) - ran} from stored answers)" if ran < len(grades) else ""
        write(f"{output / 'index.html'}: {count}{kept}, {_words(read, grades, pairs)}")
    if ungraded := [each.student for each in grades if not each.is_graded]:
        say(f"not graded: {', '.join(ungraded)}; {output / 'index.html'} has the reasons")
    if fixed := [each.student for each in grades if not each.is_run]:
        say(f"not run at each size of the task, as their sources fix others: {', '.join(fixed)}")
    return 2 if ungraded else 0


def _submissions(folder: Path, student: str | None, task: Task) -> Submissions:
    """Return the submissions of a class, or that of one student."""
    if student is None:
        return submissions(folder, task.submission)
    if not student or Path(student).name != student or student.startswith((".", "_")):
        raise InvalidProblem(f"--student must be a file's name, not {quoted(student)}")
    return Submissions((single_submission(student, folder, task.submission),))


def _words(task: Task, grades: Sequence[Grade], pairs: Sequence[Pair] | None) -> str:
    full = sum(each.points >= task.points for each in grades)
    points = f"{full} with all {task.points:g} points"
    if pairs is None:
        return f"{points}, similar ones not looked for (pip install 'mmcore-cuda[grade]')"
    count = len(groups(pairs))
    return f"{points}, {count or 'no'} group{'s' * (count != 1)} of similar submissions"


def _write(
    output: Path,
    task: Task,
    grades: Sequence[Grade],
    several: Sequence[Submission],
    pairs: Sequence[Pair] | None,
    ignored: Sequence[str],
) -> None:
    """Write all tables and pages. Raises OSError."""
    for name in ("students", "gradescope"):
        (output / name).mkdir(parents=True, exist_ok=True)
    for each, submission in zip(grades, several, strict=True):
        replace(output / "students" / f"{each.student}.html", student_page(task, each, submission).encode())
        results = json.dumps(gradescope_results(each), indent=1)
        replace(output / "gradescope" / f"{each.student}.json", results.encode())
    replace(output / "grades.csv", csv_table(task, grades).encode())
    replace(output / "grades.json", json.dumps(json_table(task, grades, pairs, ignored), indent=1).encode())
    replace(output / "index.html", class_page(task, grades, pairs, ignored).encode())


def _remove_others(output: Path, students: Collection[str]) -> Sequence[str]:
    """Remove the files of students that have no submission; return their names. Raises OSError."""
    stale = _of_others(output, students)
    for path in stale:
        path.unlink()
    return sorted({path.stem for path in stale})


def _of_others(output: Path, students: Collection[str]) -> Sequence[Path]:
    """Return the files of further students in a report."""
    paths = [path for pattern in _OF_STUDENTS for path in output.glob(pattern)]
    return [path for path in paths if path.stem not in students and not path.stem.startswith(("_", "."))]


@contextmanager
def _progress(count: int, *, shown: bool) -> Iterator[Callable[[int], None]]:
    """Show the number of graded submissions on a terminal."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    terminal = console()
    columns = [TextColumn("grading"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()]
    with Progress(*columns, console=terminal, transient=True, disable=not (shown and terminal.is_terminal)) as bar:
        work = bar.add_task("", total=count)
        yield lambda done: bar.update(work, completed=done)

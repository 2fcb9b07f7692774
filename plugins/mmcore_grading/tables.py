"""The tables of a graded class: CSV, JSON, and the results of Gradescope."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import Any

from mmcore_grading.grading import Grade
from mmcore_grading.similarity import Pair
from mmcore_grading.task import Task

_FORMULA = ("=", "+", "-", "@", "\t", "\r")  # a spreadsheet runs a cell that begins so


def csv_table(task: Task, grades: Sequence[Grade]) -> str:
    """Return a row for each student: the points, their maximum, those of each criterion, and the failures.

    No cell has a line break, and none is a formula. A submission that was not graded has no points, instead of zeros.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    names = [each.name for each in task.rubric]
    writer.writerow(["student", "file", "points", "max", *names, "first failure", "hidden failure"])
    for grade in grades:
        points = [grade.points, *(each.points for each in grade.outcomes)]
        earned: list[float | str] = [*points] if grade.is_graded else [""] * len(points)
        row = [grade.student, grade.file, earned[0], task.points, *earned[1:]]
        row += [grade.first_failure, grade.hidden_failure]
        writer.writerow([_plain(cell) if isinstance(cell, str) else f"{cell:g}" for cell in row])
    return text.getvalue()


def _plain(cell: str) -> str:
    """Return a text as one line that a spreadsheet does not run."""
    plain = one_line(cell)
    return f"'{plain}" if plain.startswith(_FORMULA) else plain


def one_line(text: str) -> str:
    """Return a text as one line; the carets below a compiler's lines are left out."""
    lines = [line.strip() for line in text.splitlines() if line.strip(" ^")]
    return "; ".join(lines).replace(":; ", ": ")


def json_table(
    task: Task, grades: Sequence[Grade], pairs: Sequence[Pair] | None, ignored: Sequence[str] = ()
) -> dict[str, Any]:
    """Return everything as JSON-ready values; "similar" is null if similarity was not looked for."""
    similar = None if pairs is None else [each._asdict() for each in pairs]
    return {
        "task": task.title,
        "points": task.points,
        "grades": [grade.to_json() for grade in grades],
        "similar": similar,
        "ignored": [*ignored],
    }


def gradescope_results(grade: Grade) -> dict[str, Any]:
    """Return a student's ``results.json`` of Gradescope; hidden facts are for the staff alone.

    Gradescope needs a score or tests: that of a submission that was not graded is 0, with the reason.
    """
    if not grade.is_graded:
        return {"score": 0, "output": f"not graded: {grade.ungraded}", "stdout_visibility": "hidden"}
    tests: list[dict[str, Any]] = []
    for each in grade.outcomes:
        tests.append({"name": each.criterion, "score": each.points, "max_score": each.most, "output": each.message})
        if each.hidden:
            hidden = {"name": f"{each.criterion}, in full", "output": each.hidden, "visibility": "hidden"}
            tests.append({**hidden, "score": 0, "max_score": 0})
    output = "\n".join(filter(None, (grade.ended, *grade.hints)))
    return {"score": grade.points, "output": output, "stdout_visibility": "hidden", "tests": tests}

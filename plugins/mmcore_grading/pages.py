"""The pages of a graded class, one for each student and one for the teacher."""

from __future__ import annotations

import contextlib
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

from mmcore.errors import InvalidKernel
from mmcore.kernel.sizes import size_text
from mmcore.view import View, escaped
from mmcore_grading.criteria import Outcome
from mmcore_grading.grading import Grade
from mmcore_grading.similarity import Group, Pair, groups
from mmcore_grading.submissions import Submission
from mmcore_grading.tables import one_line
from mmcore_grading.task import Task
from mmcore_sources.python_file.notebook import read_notebook
from mmcore_tools.pages.html import document, facts, folded

_OF_TASK = re.compile(
    r"[;,] (?:limits\.\w+ of the task sets the limit|20 times limits\.seconds of the task(?: is the limit)?|"
    r"options = \[\.\.\.\] of the task takes it)"
)
_MOST_PAIRS = 10  # of a group
_SHORT = 240  # characters below a student's points
_MET = {
    "compiles": "the kernels compile",
    "shown-sizes": "the product is right at the shown sizes",
    "hidden-sizes": "the product is right at sizes that are not shown",
    "any-size": "the product is right at the sizes that the code asks for",
    "no-hazards": "no hazard is found",
    "proved": "the product is proved for all values at {proved_size}",
    "coalesced": "neighbouring threads access neighbouring elements",
    "overlapped": "copies are under way while tiles are multiplied",
    "counts": "the count is small enough",
    "time": "the time is short enough",
}
"""The reason for all points of each criterion."""


def student_page(task: Task, grade: Grade, submission: Submission) -> str:
    """Return a student's page: the points, the faults, and the source with the faults at their lines.

    It shows no hidden size.
    """
    title, sources = f"{task.title}: {grade.student}", _sources(submission)
    texts = (f"<pre>{escaped(text)}</pre>" for text in sources.values())
    head = [f"<h1>{escaped(title)}</h1>", f"<p>{escaped(task.text)}</p>"]
    body = _graded(task, grade, sources) if grade.is_graded else _ungraded(grade)
    return document(title, [*head, *body, folded("The submission", "".join(texts), is_open=False)])


def _ungraded(grade: Grade) -> Iterator[str]:
    """Yield the reason why a submission has no points yet."""
    yield '<p class="verdict warn">not graded</p>'
    yield facts([("file", grade.file), ("reason", grade.ungraded)])


def _graded(task: Task, grade: Grade, sources: Mapping[str, str]) -> Iterator[str]:
    """Yield the points, with the reason of each criterion, and the faults."""
    points = f"{_points(grade.points)} of {_points(task.points)} points"
    yield f'<p class="verdict {"good" if grade.points >= task.points else "bad"}">{points}</p>'
    # The limits are the teacher's.
    grade = replace(
        grade, outcomes=tuple(replace(each, message=_OF_TASK.sub("", each.message)) for each in grade.outcomes)
    )
    reasons = ((each.criterion, _reason(each, grade)) for each in grade.outcomes)
    yield facts([("file", grade.file), ("launch", grade.launch), *reasons])
    messages = [f"{each.criterion}: {fault}" for each in grade.outcomes for fault in each.faults]
    if len({each.message for each in grade.outcomes if each.message}) == 1:  # such as a compiler's message
        messages = [fault for each in grade.outcomes for fault in each.faults]
    messages += grade.hints
    if messages:
        yield f"<h2>{'What is missing' if grade.points < task.points else 'Warnings'}</h2>"
        yield from _placed(messages, sources)
    if grade.commands:
        commands = "\n".join(map(escaped, grade.commands))
        yield folded("Commands that repeat this", f"<pre>{commands}</pre>", is_open=True)


def _sources(submission: Submission) -> Mapping[str, str]:
    """Return the sources that messages name, with their texts: the file, or the code cells of a notebook."""
    name = submission.file
    if name.endswith(".ipynb"):
        with contextlib.suppress(InvalidKernel):
            return {
                f"{name}[cell {each.number}]": each.text for each in read_notebook(Path(name), submission.text).cells
            }
    return {name: submission.text}


def _placed(messages: Sequence[str], sources: Mapping[str, str]) -> Iterator[str]:
    """Yield the messages at the lines of the sources that they name, and then those that name no cell of several."""
    rest = messages
    for name, text in sources.items():
        own = [each for each in rest if name in each] if len(sources) > 1 else rest
        if own:
            yield View("", None, "", messages=own, file=name, text=text)._repr_html_()
        rest = [each for each in rest if each not in own]
    if rest:
        yield View("", None, "", messages=rest)._repr_html_()


def class_page(task: Task, grades: Sequence[Grade], pairs: Sequence[Pair] | None, ignored: Sequence[str] = ()) -> str:
    """Return the teacher's page: all points, each student's first failure and hidden ones, and similar submissions."""
    body = [f"<h1>{escaped(task.title)}</h1>", f"<p>{escaped(task.text)}</p>", *_summary(task, grades, pairs, ignored)]
    names = ["points", *(each.name for each in task.rubric)]
    header = '<th scope="col" class="word">student</th>'
    header += "".join(f'<th scope="col">{escaped(name)}</th>' for name in names)
    rows = "\n".join(_row(grade, task) for grade in grades)
    body.append(f'<div class="scroll"><table><thead><tr>{header}</tr></thead>\n<tbody>\n{rows}\n</tbody></table></div>')
    if pairs:
        items = "".join(f"<li>{escaped(_alike(group))}{_pairs_of(group, pairs)}</li>" for group in groups(pairs))
        words = "Each group, and the part of the shorter one that both of a pair have, for the most similar pairs:"
        body.append(f"<h2>Similar submissions</h2><p>{words}</p><ul>{items}</ul>")
    return document(task.title, body)


def _alike(group: Group) -> str:
    least, largest = (f"{100 * part:.0f} %" for part in (group.least, group.largest))
    return f"{', '.join(group.students)}: {least if least == largest else f'{least} to {largest}'}"


def _pairs_of(group: Group, pairs: Sequence[Pair]) -> str:
    """Return a list of the most similar pairs of a group, with links to their pages."""
    own = [pair for pair in pairs if pair.first in group.students]
    links = [f"{_link(pair.first)}, {_link(pair.second)}: {100 * pair.part:.0f} %" for pair in own[:_MOST_PAIRS]]
    links += [f"{len(own) - _MOST_PAIRS} more pairs in grades.json"] if len(own) > _MOST_PAIRS else []
    return f"<ul>{''.join(f'<li>{each}</li>' for each in links)}</ul>"


def _link(student: str) -> str:
    return f'<a href="students/{quote(student)}.html">{escaped(student)}</a>'


def _summary(
    task: Task, grades: Sequence[Grade], pairs: Sequence[Pair] | None, ignored: Sequence[str]
) -> Iterator[str]:
    full = sum(grade.points >= task.points for grade in grades)
    shown, hidden = (", ".join(size_text(size._asdict()) for size in sizes) for sizes in (task.shown, task.hidden))
    yield facts(
        [
            ("submissions", f"{len(grades)}; {full} with all {_points(task.points)} points"),
            ("not graded", ", ".join(grade.student for grade in grades if not grade.is_graded)),
            ("not run at each size", ", ".join(grade.student for grade in grades if not grade.is_run)),
            ("ignored files", ", ".join(ignored)),
            ("shown sizes", shown),
            ("hidden sizes", hidden),
            ("device", task.device),
            ("hazards", task.hazards),
            ("similarity", "" if pairs is not None else "not looked for: pip install 'mmcore-cuda[grade]'"),
        ]
    )
    if not all(grade.confined for grade in grades):
        words = "This system has no Landlock: submissions could read other files. See docs/trust.md."
        yield f'<p class="note">{words}</p>'


def _reason(outcome: Outcome, grade: Grade) -> str:
    """Return the points of a criterion with their reason in a sentence."""
    first, *further = outcome.message.splitlines() or [_MET[outcome.criterion].format(proved_size=grade.proved_size)]
    if first.endswith(":") and further:  # such as "a.cu does not compile:"
        first = f"{first} {further[0].strip()}"
    return f"{_points(outcome.points)} of {_points(outcome.most)}: {first}"


def _row(grade: Grade, task: Task) -> str:
    cells = [f'<td class="word">{_link(grade.student)}</td>']
    if grade.is_graded:
        cells.append(f"<td><b>{_points(grade.points)}</b></td>")
        cells += [
            f'<td class="{_colour(each.points, each.most)}">{_points(each.points)}</td>' for each in grade.outcomes
        ]
    else:
        cells += ["<td>–</td>"] * (1 + len(grade.outcomes))
    failures = [*filter(None, (grade.first_failure, grade.hidden_failure, *grade.hints))]
    if not failures:
        return f"<tr>{''.join(cells)}</tr>"
    below = f'<td class="word" colspan="{len(cells)}">{_shortened(failures)}</td>'
    return f'<tr class="above">{"".join(cells)}</tr>\n<tr>{below}</tr>'


def _shortened(texts: Sequence[str]) -> str:
    """Return texts, each on its own line; longer ones are folded below the beginning of the first."""
    every = "<br>".join(escaped(line) for text in texts for line in text.splitlines())
    if sum(map(len, texts)) <= _SHORT:
        return every
    first = textwrap.shorten(one_line(texts[0]), _SHORT, placeholder=" …")
    return f"<details><summary>{escaped(first)}</summary>{every}</details>"


def _colour(points: float, most: float) -> str:
    return "good" if points >= most else "warn" if points else "bad"


def _points(points: float) -> str:
    return f"{points:g}"

"""The explanation of a wrong submission: the hints of ``mmcore run``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from mmcore_grading.answers import COMMAND_LINES, GRIDS, NO_ANSWER, RUN, Answers, Commands, Document, commands
from mmcore_grading.submissions import Submission
from mmcore_grading.task import Task

EXPLAIN = "explain"
"""The name of the command that looks for hints."""

_JUDGED = ("run", "check")
_WRONG = 1  # the exit status of a kernel that is not right
_HINT = re.compile("hint: (?!this )|remainders are left out: ")  # "this" would be the command below


def explanation(task: Task, submission: Submission, answers: Answers) -> Commands:
    """Return the command that explains a wrong product or a hazard; none if there is none at a size that counts.

    It runs after the others, under limits of its own: what it does not find costs no points.
    """
    asked = commands(task, submission)
    judged = [name for name, words in asked.items() if words[0] in _JUDGED and (name != RUN or task.asks("any-size"))]
    wrong = any(answers[name].status == _WRONG for name in judged if name in answers)
    return {EXPLAIN: [*asked[RUN], "--hints"]} if wrong and task.hints else {}


def hints(task: Task, answers: Answers) -> Sequence[str]:
    """Return what makes a wrong product right, or leaves remainders out, and warnings of a run, such as on ``main()``.

    Faults of ``main()`` that cost no points are warnings: its grid costs those of any-size. They are a sentence each,
    without the commands that show them.
    """
    found = [each for each in _texts(answers, EXPLAIN, "hints") if _HINT.match(each)]
    faults = answers.get(RUN, NO_ANSWER).host_faults(*(() if task.asks("any-size") else GRIDS))
    warnings = [f"warning: {each}" for each in (*faults, *_texts(answers, RUN, "warnings"))]
    return [COMMAND_LINES.sub("", each) for each in (*found, *warnings)]


def without_hints(answers: Answers) -> Answers:
    """Return answers without what may mend their violations."""
    return {
        name: replace(each, document=_unexplained(each.document)) for name, each in answers.items() if name != EXPLAIN
    }


def _unexplained(document: Document | None) -> Document | None:
    if document is None or "violations" not in document:
        return document
    return {**document, "violations": [{**each, "hint": ""} for each in document["violations"]]}


def _texts(answers: Answers, command: str, key: str) -> Sequence[str]:
    answer = answers.get(command)
    return answer.document.get(key, ()) if answer is not None and answer.document is not None else ()

"""The launch that was run of a submission, and the commands that repeat its verdict, for a student's page."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from mmcore.kernel.sizes import size_text
from mmcore_grading.answers import (
    COMPILE,
    NO_ANSWER,
    OTHER_PRODUCTS,
    RUN,
    Answers,
    Commands,
    check_at,
    commands,
    run_at,
)
from mmcore_grading.element_types import options_of_types
from mmcore_grading.submissions import Submission
from mmcore_grading.task import Task

PROVE = "prove"
"""The name of the command that proves a product."""

_BY_ROWS = ("--column-major", "")
_ALONE = ("--json",)  # options that change the output, or only the time
_WITH_VALUE = ("--timeout", "--baseline")


def launch(answers: Answers) -> str:
    """Return the kernel, its arguments, its block and its grid; empty if no launch was run."""
    document = next((each.document for each in answers.values() if each.document and "cell" in each.document), None)
    kernel = document["cell"]["kernel"] if document else {}
    named = {"function": kernel["entry"]} if "entry" in kernel else {}
    return "; ".join(f"{name} {value}" for name, value in {**named, **kernel.get("inferred", {})}.items())


def proved_size(answers: Answers) -> str:
    """Return the size for which the product was proved or not; empty if that was not tried."""
    document = answers[PROVE].document if PROVE in answers else None
    return size_text(document["problem"]) if document else ""


def repeating_commands(task: Task, submission: Submission, answers: Answers, reference: Answers) -> Sequence[str]:
    """Return the commands that repeat the answers, without those at hidden sizes, and at one shown size alone.

    That size is the first at which the kernel is not right, if there is one. A submission of other types than the
    reference is read as having these. A product of the usual storage needs no option where it is right so.
    """
    asked, types = commands(task, submission), options_of_types(answers, reference)
    right = any((answers.get(run_at(size)) or NO_ANSWER).status == 0 for size in task.shown)
    lines = (shlex.join(["mmcore", *_shown(asked[name]), *types]) for name in _named(task, asked, answers))
    return [line.replace(f" {shlex.join(_BY_ROWS)}", "") if right else line for line in lines]


def _named(task: Task, asked: Commands, answers: Answers) -> Iterator[str]:
    of_sizes = {name(size) for size in task.tried for name in (run_at, check_at)}
    wrong = [size for size in task.shown if (each := answers.get(run_at(size))) is None or each.status]
    size = [*wrong, *task.shown][0]
    run = answers.get(RUN, NO_ANSWER)
    is_other = any(fault.startswith(OTHER_PRODUCTS) for fault in run.faults)
    at_any = task.asks("any-size") or (RUN in answers and run.status and (task.asks("hidden-sizes") or is_other))
    for name in asked:
        at_size = name in (run_at(size), check_at(size)) or name not in (*of_sizes, COMPILE)
        if at_size and (name != RUN or at_any):
            yield name


def _shown(words: Sequence[str]) -> Iterator[str]:
    before = ""
    for word in words:
        if word not in (*_ALONE, *_WITH_VALUE) and before not in _WITH_VALUE:
            yield word
        before = word

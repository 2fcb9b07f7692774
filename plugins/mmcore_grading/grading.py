"""The grading of a class: several submissions at once, resumed after an interruption."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from itertools import chain, repeat
from pathlib import Path
from typing import Any

from mmcore.errors import InvalidProblem
from mmcore.messages import say
from mmcore_grading.answers import NO_ANSWER, NOT_GRADED, RUN, Answers
from mmcore_grading.criteria import NOT_RUN, Outcome, outcomes
from mmcore_grading.explanation import hints, without_hints
from mmcore_grading.further_launches import further_launches
from mmcore_grading.repetition import launch, proved_size, repeating_commands
from mmcore_grading.runs import Run, Runs
from mmcore_grading.submissions import Submission, file_submission
from mmcore_grading.task import Task
from mmcore_grading.unchanged import is_unchanged
from mmcore_grading.ungraded_products import ungraded_products

_LAYOUT = "--column-major"
_MOST_LINES = 4  # of a first failure
_ENDED_BEFORE = "not reached: the submission was ended before this"
_REFERENCE = "_reference"  # no student's name: submissions whose name begins so are skipped


@dataclass(frozen=True)
class Grade:
    """A student's grade.

    Attributes:
        student, file: the student, and the name of the submission's file.
        outcomes: the outcome of each criterion of the rubric.
        ended: why the submission's processes were ended, or why it could not be graded; empty otherwise.
        confined: whether its processes could read only Python, the system and the submission.
        launch: the kernel, its arguments, its block and its grid; empty if none was run.
        proved_size: the size for which the product was proved or not; empty if that was not tried.
        commands: the commands that repeat the answers, without those at hidden sizes.
        hints: what makes a wrong product right, and warnings, a sentence each; they cost no points.
    """

    student: str
    file: str
    outcomes: tuple[Outcome, ...]
    ended: str = ""
    confined: bool = True
    hints: tuple[str, ...] = ()
    launch: str = ""
    proved_size: str = ""
    commands: tuple[str, ...] = ()

    @property
    def points(self) -> float:
        """The sum of the points."""
        return round(sum(outcome.points for outcome in self.outcomes), 2)

    @property
    def ungraded(self) -> str:
        """The reason why the submission has no grade yet; empty if it has one."""
        reasons = (each.message for each in self.outcomes if each.message.startswith(NOT_GRADED))
        return next(reasons, "").removeprefix(NOT_GRADED)

    @property
    def is_graded(self) -> bool:
        """True if the submission was graded."""
        return not self.ungraded

    @property
    def is_run(self) -> bool:
        """True unless the source fixes its sizes, and could not be compiled for one of the task's."""
        return not any(line.startswith(NOT_RUN) for each in self.outcomes for line in each.message.splitlines())

    @property
    def first_failure(self) -> str:
        """The first criterion that was not met, with why, or why it is not graded; empty if all were met."""
        failure = next((f"{each.criterion}: {each.message}" for each in self.outcomes if each.message), self.ended)
        failure = failure if self.is_graded else f"{NOT_GRADED}{self.ungraded}"
        return "\n".join(failure.splitlines()[:_MOST_LINES])

    @property
    def hidden_failure(self) -> str:
        """The part of the failures that the teacher alone may see, such as the hidden size; empty if there is none."""
        hidden = (f"{each.criterion}: {each.hidden}" for each in self.outcomes if each.hidden)
        return "\n".join(line for text in hidden for line in text.splitlines()[:_MOST_LINES])

    def to_json(self) -> dict[str, Any]:
        """Return the grade as JSON-ready values; the points are null if the submission was not graded."""
        return {**asdict(self), "points": self.points if self.is_graded else None}


def graded(
    task: Task, submissions: Sequence[Submission], folder: Path, jobs: int, report: Callable[[int], None]
) -> tuple[Sequence[Grade], int]:
    """Return the grades of a class, in the order of the submissions, and the number of submissions that ran.

    Args:
        task: the task.
        submissions: the submissions.
        folder: the folder of the runs. What it has is graded again, and does not run again.
        jobs: the number of submissions that run at once.
        report: is called with the number of submissions that have run.

    Raises:
        InvalidProblem: the reference does not meet its own rubric.
    """
    folder.mkdir(parents=True, exist_ok=True)
    runs = Runs(folder, task)
    with _counted_if_interrupted(runs, submissions):
        reference = _reference(task, runs)
    task = _read_like(reference, task)
    runs = Runs(folder, task)
    stored = {each.student: runs.stored(each) for each in submissions}
    missing = [each for each in submissions if stored[each.student] is None]
    with _counted_if_interrupted(runs, submissions), ThreadPoolExecutor(jobs) as pool:
        report(len(submissions) - len(missing))
        try:
            for count, (each, run) in enumerate(zip(missing, pool.map(runs.run, missing), strict=True), start=1):
                stored[each.student] = run
                report(len(submissions) - len(missing) + count)
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    grades = [
        grade_of(task, each, done, reference) for each in submissions if (done := stored[each.student]) is not None
    ]
    return grades, len(missing)


@contextmanager
def _counted_if_interrupted(runs: Runs, submissions: Sequence[Submission]) -> Iterator[None]:
    """Print how many submissions have stored answers if the body is interrupted."""
    try:
        yield
    except KeyboardInterrupt:
        count = sum(runs.stored(each) is not None for each in submissions)
        say(
            f"interrupted: {count} of {len(submissions)} submissions are graded; the same command continues, and writes"
            " the pages"
        )
        raise


def _reference(task: Task, runs: Runs) -> Answers:
    """Return the answers on the teacher's solution. Raises InvalidProblem if it does not meet its own rubric."""
    if task.reference is None:
        return {}
    submission = file_submission(_REFERENCE, task.reference)
    run = runs.stored(submission) or runs.run(submission)
    for outcome in outcomes(task, run.answers, run.answers):
        if outcome.message:
            reason = f"{outcome.criterion}: {run.ended or outcome.hidden or outcome.message}"
            meant = run.answers.get(RUN, NO_ANSWER).meant
            advice = [f"hint: {each}; options = [...] of the task takes it" for each in meant]
            advice += [each for each in hints(task, run.answers) if each.startswith("hint: ")]
            said = f"the reference {task.reference.name} does not meet its own rubric: {reason}"
            inferred = next(filter(None, (each.inferred for each in run.answers.values())), "")
            raise InvalidProblem("\n".join(filter(None, [said, inferred, *advice])))
    return run.answers


def _read_like(reference: Answers, task: Task) -> Task:
    """Return a task whose submissions must compute the product that the reference computes, such as A·Bᵀ."""
    answer = reference.get(RUN)
    if answer is None or answer.document is None or _LAYOUT in task.options:
        return task
    return replace(task, options=(*task.options, _LAYOUT, answer.document["column_major"]))


def _not_graded(task: Task, submission: Submission, answers: Answers) -> str:
    """Return why the answers on a submission say nothing of it, beginning with "not graded: "; empty if they do."""
    unknown = next(filter(None, (each.unknown for each in answers.values())), "")
    return f"{NOT_GRADED}{unknown}" if unknown else further_launches(task, submission, answers)


def _of_ended(outcomes: Sequence[Outcome], run: Run) -> Iterator[Outcome]:
    """Yield the outcomes of a submission that was ended.

    Those without points have the faults that were found before, else why it was ended.
    """
    answers = [each for each in run.answers.values() if each.document is not None]
    found = tuple(fault for each in answers for fault in each.faults if not fault.startswith("timeout"))
    reasons = chain([run.ended], repeat(_ENDED_BEFORE))
    for each in outcomes:
        if each.points or not each.message:
            yield each
        else:
            faults = [fault for fault in each.faults if fault.endswith(found)]
            yield replace(each, message="\n".join(faults) or next(reasons))


def grade_of(task: Task, submission: Submission, run: Run, reference: Answers) -> Grade:
    """Return the grade of a submission that ran; ``reference`` has the answers on the teacher's solution."""
    run = run if task.hints else replace(run, answers=without_hints(run.answers))
    found = outcomes(task, run.answers, reference)
    if run.ended:
        found = [*_of_ended(found, run)]
    elif reason := _not_graded(task, submission, run.answers):
        found = [replace(each, points=0, message=reason, hidden="") for each in found]
    elif task.given is not None and is_unchanged(task, submission):
        same = f"the submission is {task.given.name}, as it was given"
        found = [replace(each, points=0, message=each.message or same) for each in found]
    return Grade(
        submission.student,
        submission.file,
        tuple(found),
        run.ended,
        run.confined,
        (*hints(task, run.answers), *ungraded_products(submission, run.answers)),
        launch(run.answers),
        proved_size(run.answers),
        () if submission.refused else tuple(repeating_commands(task, submission, run.answers, reference)),
    )
